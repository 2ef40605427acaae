"""Parse the command line."""

import argparse
import re
from typing import Any, NoReturn, TypeAlias

_SECRET = re.compile(r"(quitt_|whsec_)[0-9A-Za-z]+")
_HIDDEN = r"\1…"


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviations, and without secrets in its error messages."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with code 2."""
        super().error(without_secrets(message))


def without_secrets(message: str) -> str:
    """Return the message with secrets removed."""
    if not _SECRET.search(message):
        return message
    advice = "Arguments are seen by other users and kept in the shell's history: rotate that secret."
    return f"{_SECRET.sub(_HIDDEN, message)}\n{advice}"


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""The subparsers to which each command is added."""
