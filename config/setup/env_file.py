"""Write a new `.env` that only its owner can read. The service must read back exactly the same values."""

import io
import os
from collections.abc import Mapping
from pathlib import Path

import environ

MODE = 0o600
_HEADER = """\
# Written by manage.py setup. .env.example explains each setting.
# SECRET_KEY and ENCRYPTION_KEYS exist only here: keep a copy in your vault, apart from the database's backups.
"""


class Unwritable(Exception):
    """The file can't be written. The message has the reason."""


def text_of(values: Mapping[str, str]) -> str:
    """Return the file's text. Raises Unwritable if the service would read different values from it."""
    text = _HEADER + "".join(f"{name}={value}\n" for name, value in values.items())
    read_back = read(text)
    for name, value in values.items():
        if read_back.get(name) != value:
            raise Unwritable(
                f"{name} has characters that are invalid in a .env file: set it in the environment instead"
            )
    return text


def read(text: str) -> dict[str, str]:
    """Return the values as the service reads them."""
    own: dict[str, str] = {}

    class _Apart(environ.Env):  # type: ignore[misc]  # the library has no types
        ENVIRON = own

    _Apart.read_env(io.StringIO(text))
    return own


def write(path: Path, text: str) -> None:
    """Create the file with mode 600. Raises Unwritable if the file exists."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, MODE)
    except FileExistsError:
        raise Unwritable(f"{path} exists, and setup never overwrites it: edit it, or move it away") from None
    except OSError as error:
        raise Unwritable(f"{path} can't be created ({error.strerror})") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, MODE)  # the process's umask may have removed bits
        file.write(text)
        file.flush()
        os.fsync(descriptor)
