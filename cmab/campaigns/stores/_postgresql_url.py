"""URLs of campaigns in PostgreSQL, and messages without their passwords."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

from cmab.campaigns.stores._database import USUAL_NAME

_DRIVER = "postgresql+psycopg"
#: Parameters of a URL that messages must not show.
_HIDDEN = ("password", "sslpassword")
_STARS = "***"
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE#CAMPAIGN"


def parsed(url: str) -> tuple[Any, list[str], str, str]:
    """Return the URL for SQLAlchemy, its secrets, its form for messages and the name of the campaign.

    No message contains a part of a URL that cannot be parsed, because it could be a part of the password.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    address, _, name = url.partition("#")
    name = unquote(name)
    if "@" in name and "@" not in address:
        raise ValueError(
            f"where must be {_FORM}, got a URL with # before @; write # as %23 and @ as %40 in the password"
        )
    if "\0" in name:
        raise ValueError(f"where must be {_FORM}, got a name of the campaign with a null character (%00)")
    try:
        found = make_url(address)
    except (ArgumentError, ValueError):
        raise ValueError(
            f"where must be {_FORM}, got a URL that cannot be parsed; write special characters of the"
            " password in the form %40"
        ) from None
    secrets = [str(value) for key in _HIDDEN for value in _parts(found.query.get(key))]
    shown = found.set(drivername="postgresql")
    if found.password is not None:
        secrets.append(str(found.password))
    for key in _HIDDEN:
        if key in shown.query:
            shown = shown.update_query_dict({key: _STARS})
    where = shown.render_as_string(hide_password=True)
    if name:
        where = f"{where}#{quote(name, safe='')}"
    return found.set(drivername=_DRIVER), [one for one in secrets if one], where, name or USUAL_NAME


def scrubbed(text: str, secrets: list[str]) -> str:
    """Return a message without the secrets, also in their quoted form."""
    for secret in secrets:
        for form in (secret, quote(secret, safe=""), quote(secret)):
            text = text.replace(form, _STARS)
    return text


def _parts(value: Any) -> tuple[Any, ...]:
    return () if value is None else value if isinstance(value, tuple) else (value,)
