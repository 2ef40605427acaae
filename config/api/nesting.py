"""Check how deeply a JSON text is nested before it is parsed.

Python's JSON parser is recursive. Deep nesting normally ends in RecursionError. But a library in this process, py_ecc,
raises the recursion limit to 100,000. A few kilobytes of brackets would then overflow the stack and kill the process.
"""

import re

# The closing quote is optional. Otherwise an unterminated string would cause slow backtracking.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_A_BRACKET = re.compile(r"[^][{}]+")


def is_deeper_than(levels: int, text: str) -> bool:
    """Return whether the JSON `text` nests arrays and objects deeper than `levels`."""
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for bracket in _NOT_A_BRACKET.sub("", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > levels:
            return True
    return False
