"""Reading the command line."""

import argparse
import re
from typing import Any, NoReturn, TypeAlias

_SECRET = re.compile(r"(quitt_|whsec_)[0-9A-Za-z]+")


class Parser(argparse.ArgumentParser):
    """An argument parser that takes no abbreviations, and repeats no secret that was typed by mistake."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and exit with 2."""
        if _SECRET.search(message):
            message = _SECRET.sub(r"\1…", message)
            message += (
                "\nArguments are seen by other users and kept in the shell's history: rotate that secret."
            )
        super().error(message)


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""What a command adds itself to."""
