"""The output of `make run`: the progress and a summary. On a terminal, it has colours."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def say(text: str = "") -> None:
    """Print a line immediately, also into a pipe."""
    print(text, flush=True)


def bold(text: str) -> str:
    """Return `text`, in bold on a terminal."""
    return f"\033[1m{text}\033[0m" if _COLOUR else text


def dim(text: str) -> str:
    """Return `text`, dimmed on a terminal."""
    return f"\033[2m{text}\033[0m" if _COLOUR else text


def red(text: str) -> str:
    """Return `text`, in red on a terminal."""
    return f"\033[31m{text}\033[0m" if _COLOUR else text


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print the step's name. If the step took at least a second, print its duration at the end."""
    began = time.monotonic()
    say(f"  {what}…")
    yield
    seconds = time.monotonic() - began
    if seconds >= 1:
        say(dim(f"    {seconds:.1f} s"))


def summary(title: str, rows: Sequence[tuple[str, str]], closing: str) -> None:
    """Print a heading, aligned rows of names and values, and a last line."""
    width = max(len(name) for name, _ in rows)
    say()
    say(bold(title))
    for name, value in rows:
        say(f"  {name.ljust(width)}  {value}")
    say()
    say(closing)
