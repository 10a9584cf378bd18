"""``python -m cmab`` is the command ``cmab``."""

from cmab.cli import command

if __name__ == "__main__":
    command()
