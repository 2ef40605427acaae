"""Subresource Integrity: the digests by which browsers check our own built files.

They are taken from the bytes that are served, fingerprinted or not, so they can't fall behind a build.
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
# Loaded by a tag with a digest of its own, or by shops.
_NOT_IMPORTED = ("checkout.js", "proof.js", "quittance.js", "sheet.js")


def integrity(name: str) -> str:
    """Return the digest of the static file `name` as an `integrity` attribute takes it."""
    return _digest(*_version(_served_path(name)))


def served_bytes(name: str) -> bytes:
    """Return what is served as the static file `name`."""
    return _served_path(name).read_bytes()


def import_map() -> dict[str, dict[str, str]]:
    """Return an import map with the digest of each part that the page's script may load later."""
    left_out = _NOT_IMPORTED if settings.WALLETCONNECT_PROJECT_ID else (*_NOT_IMPORTED, "walletconnect.js")
    names = sorted(path.name for path in _BUILT.glob("*.js") if path.name not in left_out)
    return {"integrity": {static(f"checkout/{name}"): integrity(f"checkout/{name}") for name in names}}


def _served_path(name: str) -> Path:
    if settings.COLLECTED:
        return Path(staticfiles_storage.path(staticfiles_storage.stored_name(name)))  # type: ignore[attr-defined]
    found = finders.find(name)
    if found is None:
        raise FileNotFoundError(f"There is no static file {name}.")
    return Path(found)


def _version(path: Path) -> tuple[Path, int, int]:
    """Return what changes whenever the file does, so that a digest is worked out once."""
    known = path.stat()
    return path, known.st_mtime_ns, known.st_size


@lru_cache(maxsize=256)
def _digest(path: Path, _changed_ns: int, _size: int) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(path.read_bytes()).digest()).decode()
