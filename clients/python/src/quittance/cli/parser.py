"""Parse the command line."""

import argparse
import re
from typing import Any, NoReturn, TypeAlias

_SECRET = re.compile(r"(quitt_|whsec_)[0-9A-Za-z]+")
_HIDDEN = r"\1…"


class Parser(argparse.ArgumentParser):
    """An argument parser that takes no abbreviations, and repeats no secret that was typed by mistake."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and exit with 2."""
        super().error(without_secrets(message))


def without_secrets(message: str) -> str:
    """Return a message that may repeat what was typed, without the secrets in it."""
    if not _SECRET.search(message):
        return message
    advice = "Arguments are seen by other users and kept in the shell's history: rotate that secret."
    return f"{_SECRET.sub(_HIDDEN, message)}\n{advice}"


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""What a command adds itself to."""
