"""Read a demo program's settings from the environment. Report all invalid ones together."""

import os
import sys

_EXIT_CODE = 2
_MAX_NUMBER = 2**53  # settings have no larger numbers than chain ids


class Reader:
    """Reads settings and collects errors, until `exit_if_wrong`.

    For an invalid setting, its methods return 0 or an empty text.
    """

    def __init__(self) -> None:
        self._faults: list[str] = []

    def text(self, name: str, should_be: str) -> str:
        value = os.environ.get(name, "").strip()
        if not value:
            self._faults.append(f"{name}: is missing; it should be {should_be}")
        return value

    def url(self, name: str, should_be: str) -> str:
        """Return a setting that must begin with http:// or https://."""
        value = self.text(name, should_be)
        if value and not value.startswith(("http://", "https://")):
            self._faults.append(f"{name}: has no scheme http or https; it should be {should_be}")
        return value

    def number(self, name: str, should_be: str, most: int = _MAX_NUMBER) -> int:
        """Return a setting that must be a whole number from 1 to `most`."""
        value = self.text(name, should_be)
        if value and not (value.isascii() and value.isdecimal() and 1 <= int(value[:20]) <= most):
            self._faults.append(f"{name}: {value[:60]!a} is no such number; it should be {should_be}")
            return 0
        return int(value or 0)

    def exit_if_wrong(self) -> None:
        """If there are errors, end the process with one line for each error."""
        if self._faults:
            print("\n".join(self._faults), file=sys.stderr, flush=True)
            sys.exit(_EXIT_CODE)
