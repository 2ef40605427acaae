"""Subresource Integrity: the digests with which browsers verify our built files.

They are computed from the bytes that are served, so they always match the current build.
"""

import base64
import hashlib
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.templatetags.static import static

_BUILT = Path(__file__).parent / "static" / "checkout"
# Loaded by a tag that has its own digest, or by shops.
_NOT_IMPORTED = ("checkout.js", "proof.js", "quittance.js", "sheet.js")


def integrity(name: str) -> str:
    """Return the digest of the static file `name` for an `integrity` attribute."""
    return _digest(*_version(_served_path(name)))


def served_bytes(name: str) -> bytes:
    """Return the bytes that are served as the static file `name`."""
    return _served_path(name).read_bytes()


def import_map() -> dict[str, dict[str, str]]:
    """Return an import map with the digest of each script that the page's script may import."""
    excluded = _NOT_IMPORTED if settings.WALLETCONNECT_PROJECT_ID else (*_NOT_IMPORTED, "walletconnect.js")
    names = sorted(path.name for path in _BUILT.glob("*.js") if path.name not in excluded)
    return {"integrity": {static(f"checkout/{name}"): integrity(f"checkout/{name}") for name in names}}


def _served_path(name: str) -> Path:
    if settings.COLLECTED:
        return Path(staticfiles_storage.path(staticfiles_storage.stored_name(name)))  # type: ignore[attr-defined]
    path = finders.find(name)
    if path is None:
        raise FileNotFoundError(f"There is no static file {name}.")
    return Path(path)


def _version(path: Path) -> tuple[Path, int, int]:
    """Return the cache key of the file's digest, which changes with the file."""
    status = path.stat()
    return path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=256)
def _digest(path: Path, _changed_ns: int, _size: int) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(path.read_bytes()).digest()).decode()
