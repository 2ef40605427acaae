"""Check how deeply a JSON text is nested before it is parsed.

The standard library's parser is recursive and relies on Python's recursion limit. Libraries in the same process may
raise that limit (py_ecc, a dependency of eth-account, sets it to 100,000). A few kilobytes of brackets would then
overflow the stack and kill the process instead of raising RecursionError.
"""

import re

# The closing quote is optional, so that an unterminated string is matched once, without backtracking.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_A_BRACKET = re.compile(r"[^][{}]+")


def is_deeper_than(levels: int, text: str) -> bool:
    """Return whether `text`, if it is JSON, nests arrays and objects deeper than `levels`."""
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for bracket in _NOT_A_BRACKET.sub("", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > levels:
            return True
    return False
