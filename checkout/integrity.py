"""Subresource Integrity: browsers verify our built files with these digests.

The digests are computed from the served bytes, so they always match the current build.
"""

import base64
import hashlib
import time
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.templatetags.static import static

_BUILT = Path(__file__).parent / "static" / "checkout"
# Scripts that the import map doesn't need: a tag with its own digest loads them, or shops' pages load them.
_NOT_IMPORTED = ("checkout.js", "proof.js", "quittance.js", "sheet.js", "sweep.js")


def integrity(name: str) -> str:
    """Return the digest of the static file `name`, for an `integrity` attribute."""
    return _digest(_served(name, _second()))


def served_bytes(name: str) -> bytes:
    return _read(_served(name, _second()))


def import_map(*, has_deposits: bool = False, has_sponsoring: bool = False) -> dict[str, dict[str, str]]:
    """Return an import map with the digest of each part that the page's script may load later."""
    is_loaded = {
        "walletconnect.js": bool(settings.WALLETCONNECT_PROJECT_ID),
        "deposit.js": has_deposits,
        "sponsored.js": has_sponsoring,
        **dict.fromkeys(_NOT_IMPORTED, False),
    }
    names = [name for name in _parts(_second()) if is_loaded.get(name, True)]
    return {"integrity": {static(f"checkout/{name}"): integrity(f"checkout/{name}") for name in names}}


def _second() -> int:
    """Return a number that changes every second.

    Cached functions get it as an argument, so they notice a new build within a second.
    """
    return int(time.monotonic())


@lru_cache(maxsize=1)
def _parts(_at: int) -> list[str]:
    return sorted(path.name for path in _BUILT.glob("*.js"))


# A file's path, modification time and size: they change if the file changes.
_Version = tuple[Path, int, int]


@lru_cache(maxsize=64)
def _served(name: str, _at: int) -> _Version:
    if settings.COLLECTED:
        path = Path(staticfiles_storage.path(staticfiles_storage.stored_name(name)))  # type: ignore[attr-defined]
    else:
        found = finders.find(name)
        if found is None:
            raise FileNotFoundError(f"There is no static file {name}.")
        path = Path(found)
    known = path.stat()
    return path, known.st_mtime_ns, known.st_size


@lru_cache(maxsize=256)
def _digest(version: _Version) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(_read(version)).digest()).decode()


@lru_cache(maxsize=16)
def _read(version: _Version) -> bytes:
    return version[0].read_bytes()
