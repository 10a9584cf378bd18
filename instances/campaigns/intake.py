"""Reports of several rounds, which are stored together or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from instances.campaigns.folder import CampaignFolder
from instances.campaigns.reports import Refused, Report, reports_in, round_of
from instances.campaigns.rounds import Round
from instances.campaigns.sheets import decoded


def read_reports(
    folder: CampaignFolder, data: bytes, *, number: int | None = None
) -> tuple[list[Report], list[Refused]]:
    """Return the reports of a table that can be stored, and the lines that were refused.

    Raises
    ------
    ValueError
        If the file is not a table.
    """
    rounds = folder.rounds()
    reports, refused = reports_in(
        decoded(data),
        rounds,
        folder.problem.names,
        is_network=folder.is_network,
        number=number,
        largest=folder.options.largest,
    )
    good = []
    for report in reports:
        try:
            folder.check(report, rounds)
            good.append(report)
        except ValueError as error:
            lines = [Refused(line, "", str(error)) for line in report.lines]
            refused += lines
    return good, sorted(refused)


def take_all(
    folder: CampaignFolder,
    reports: Sequence[Report],
    *,
    is_correction: bool | None,
    author: str | None = None,
) -> list[Round]:
    """Store reports and return their rounds; all are checked before the first is stored.

    If `is_correction` is None, rounds with and without a report are accepted.

    Raises
    ------
    ValueError
        If a report is of a round that was reported before and `is_correction` is false, or the reverse; or if
        a report cannot be true.
    """
    if not reports:
        raise ValueError("the table must have at least one line that can be stored, got none")
    rounds = folder.rounds()
    for report in reports:
        of = round_of(rounds, report.number)
        if of.state == "reported" and is_correction is False:
            raise ValueError(f"round {of.number} was reported before; correct its report instead")
        if of.state == "waiting" and is_correction:
            raise ValueError(f"round {of.number} has no report yet; report it instead")
        folder.check(report, rounds)
    return folder.tell_all(reports, author=author)
