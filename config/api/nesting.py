"""Find how deep a JSON text nests before it is parsed.

The standard library's parser recurses, and leans on Python's recursion limit to stop. A library in the same process may
have raised that limit (py_ecc, which eth-account brings along, sets 100,000), and then a few kilobytes of brackets
overflow the stack and kill the process instead of raising RecursionError.
"""

import re

# The closing mark is optional, so that a string without an end is passed over once and not tried again from within.
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_A_BRACKET = re.compile(r"[^][{}]+")


def is_deeper_than(levels: int, text: str) -> bool:
    """Whether `text`, should it be JSON, nests arrays and objects beyond `levels`."""
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for bracket in _NOT_A_BRACKET.sub("", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > levels:
            return True
    return False
