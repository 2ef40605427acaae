"""Read the environment when a process starts, and exit if it is invalid."""

import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import environ

from config.environment.checking import check
from config.environment.declared import Environment, declared
from config.environment.providers import provider_faults
from config.environment.wrong import Fault, SettingsError

REPOSITORY = Path(__file__).resolve().parents[2]
EXIT_CODE = 2
_CATALOGUES = "chains/catalogues/*.json"
_NODE = re.compile(r'"env:([A-Z][A-Z0-9_]*)"')
_ASSIGNMENT = re.compile(r"(?:export )?[A-Za-z_0-9]+=.*")


def load(directory: Path = REPOSITORY) -> Environment:
    """Return the settings of the environment and of `.env` in `directory`. The environment takes precedence.

    Also add the values of `.env` to the environment: child processes need them, and node addresses are read from there.
    Raises SettingsError with all faults.
    """
    faults = [*provider_faults(), *_read_file(directory / ".env")]
    texts: dict[str, str] = {}
    for name in declared():
        text = _text(name)
        if text is None:
            problem = "begins with $ and the name of a variable that is not set"
            faults.append(Fault(name, problem, "a value without $ in front, or $ and the name of a variable"))
        texts[name] = text or ""
    nodes = _node_names(directory)
    texts |= {name: os.environ[name] for name in nodes if name in os.environ}
    return check(texts, nodes=nodes, earlier_faults=faults)


def load_or_exit() -> Environment:
    try:
        return load()
    except SettingsError as error:
        print_and_exit(error)


def print_and_exit(error: SettingsError, code: int = EXIT_CODE) -> NoReturn:
    """Print one line per fault to the standard error, and exit without a traceback."""
    print(error, file=sys.stderr, flush=True)
    sys.exit(code)


def _text(name: str) -> str | None:
    """Return the variable's value, or "" if it is not set. A value `$OTHER` is replaced by the value of OTHER.

    If OTHER is not set, return None.
    """
    try:
        text = str(environ.Env().str(name, default=""))
    except RecursionError:
        return None
    return None if not text and os.environ.get(name, "").strip() else text


def _read_file(path: Path) -> Iterator[Fault]:
    """Read `.env`. Yield a fault for each invalid line, with the line's number but without its content."""
    should_be = "UTF-8 text with lines of NAME=value and of # comments"
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        return
    except UnicodeDecodeError:
        yield Fault(str(path), "is not UTF-8", should_be)
        return
    except OSError as error:
        yield Fault(str(path), f"can't be read ({error.strerror})", should_be)
        return
    lines = content.splitlines()
    for number, line in enumerate(lines, 1):
        is_comment = line.lstrip().startswith("#")
        if line.strip() and not is_comment and ("\0" in line or not _ASSIGNMENT.fullmatch(line)):
            yield Fault(str(path), f"line {number} can't be read", should_be)
    # Only valid lines are passed to django-environ, because it logs an invalid line with its secret.
    readable = (line for line in lines if "\0" not in line and _ASSIGNMENT.fullmatch(line))
    environ.Env.read_env(io.StringIO("\n".join(readable)))


def _node_names(directory: Path) -> list[str]:
    """Return the names of variables with node URLs in the shipped catalogues."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(directory.glob(_CATALOGUES)))
    return list(dict.fromkeys(name for text in texts for name in _NODE.findall(text)))
