"""Writes the table of the page on the arena, and its scores as CSV, from the recorded results.

Run it after ``cmab arena --record instances/arena/recorded.json.gz``. A test compares the page with the results.
"""

import re
from pathlib import Path

from cmab.run.arena import Standings, read_matches
from cmab.run.tables import write_csv
from instances.arena import ENTRIES, PROBLEMS, RECORDED

PAGE = Path(__file__).with_name("explanation") / "arena.md"
_TABLE = re.compile(r"(<!-- scores -->\n).*(<!-- end -->)", re.DOTALL)


def write() -> None:
    """Write the table and the CSV file."""
    standings = Standings(tuple(PROBLEMS.values()), ENTRIES, read_matches(RECORDED))
    table = standings.table(form="github")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", text), encoding="utf-8")
    write_csv(PAGE.with_name("arena-scores.csv"), standings.scores())


if __name__ == "__main__":
    write()
