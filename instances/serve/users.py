"""Users with hashed passwords and roles, in a file that people can read."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from cmab.validation import meant

Role = Literal["read", "report", "decide"]
#: The roles from the least to the most powerful.
ROLES: tuple[Role, ...] = get_args(Role)
_NAME = re.compile(r"[\w.@-]{1,64}")
#: The fewest characters of a password.
SHORTEST = 10
_LONGEST = 1_000


def may(role: Role, needed: Role) -> bool:
    """Return whether a role includes another.

    Examples
    --------
    >>> from instances.serve.users import may
    >>> may("decide", "report"), may("read", "report")
    (True, False)
    """
    return ROLES.index(role) >= ROLES.index(needed)


@dataclass(frozen=True)
class User:
    """A user of the page: a name, the hash of the password and a role."""

    name: str
    password: str
    role: Role


class Users:
    """The users of a file in TOML: a table ``[users.NAME]`` with `password` (an argon2 hash) and `role`.

    The file is read again if it changes, so that users can be added and removed while the page runs.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ValueError
        If the file is not valid.
    OSError
        If the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_at: tuple[int, int] | None = None
        self._users: dict[str, User] = {}
        self.reread()

    def reread(self) -> None:
        """Read the file if it changed."""
        found = self.path.stat()
        at = (found.st_mtime_ns, found.st_size)
        if at != self._read_at:
            self._users, self._read_at = read_users(self.path), at

    def get(self, name: str) -> User | None:
        """Return a user, or None."""
        return self._users.get(name)

    def check(self, name: str, password: str) -> User | None:
        """Return the user if the password is right, else None; both take the same time."""
        from argon2.exceptions import InvalidHashError, VerificationError

        self.reread()
        user = self._users.get(name)
        try:
            given = password[:_LONGEST].encode("utf-8", "replace")
            self._hasher.verify(self._decoy if user is None else user.password, given)
        except (VerificationError, InvalidHashError):
            return None
        return user

    @cached_property
    def _hasher(self) -> Any:
        return _hasher()

    @cached_property
    def _decoy(self) -> str:
        """The hash of an unknown password, for unknown names."""
        return str(self._hasher.hash(os.urandom(32)))


def _hasher() -> Any:
    try:
        from argon2 import PasswordHasher
    except ImportError:
        raise ImportError('users need argon2-cffi: pip install "cmab[serve]"') from None
    return PasswordHasher()


def read_users(path: Path) -> dict[str, User]:
    """Return the users of a file by name.

    Raises
    ------
    ValueError
        If the file is not valid; the message never contains a hash.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a TOML file: {error}") from None
    listed = table.get("users", {})
    if set(table) - {"users"} or not isinstance(listed, dict):
        raise ValueError(f"{path} must have only tables [users.NAME], got {', '.join(table)}")
    users = {}
    for name, row in listed.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{path}: a user must have a name of letters, digits and . _ - @, got {name!r}")
        if not isinstance(row, dict) or set(row) != {"password", "role"}:
            raise ValueError(f"{path}: the user {name} must have a password and a role, and nothing else")
        if row["role"] not in ROLES:
            hint = meant(str(row["role"]), ROLES)
            raise ValueError(f"{path}: the role of {name} must be one of {', '.join(ROLES)}{hint}")
        if not isinstance(row["password"], str) or not row["password"].startswith("$argon2id$"):
            raise ValueError(
                f"{path}: the password of {name} must be an argon2id hash; add users with --add-user"
            )
        users[name] = User(name, row["password"], row["role"])
    return users


def add_user(path: Path, name: str, password: str, role: Role) -> None:
    """Add a user to a file, or replace the password and the role of a user.

    Raises
    ------
    ValueError
        If the name or the password is not allowed.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a user must have a name of letters, digits and . _ - @, got {name!r}")
    if not SHORTEST <= len(password) <= _LONGEST:
        raise ValueError(f"a password must have at least {SHORTEST} characters, got {len(password)}")
    users = read_users(path) if path.exists() else {}
    users[name] = User(name, str(_hasher().hash(password)), role)
    lines = ["# Users of the page. Passwords are argon2 hashes. Roles: read, report, decide.\n"]
    for user in users.values():
        lines += [
            f"\n[users.{json.dumps(user.name)}]\n",
            f"password = {json.dumps(user.password)}\n",
            f"role = {json.dumps(user.role)}\n",
        ]
    # The file is private from its first byte, and replaced at once.
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write("".join(lines))
    Path(file.name).replace(path)
