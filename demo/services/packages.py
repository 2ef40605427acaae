"""Pinned npm packages, such as the programs of the local chains, installed at their first use."""

import fcntl
import hashlib
import shutil
import sys
from pathlib import Path

from demo.services import node
from demo.services.process import LOCAL

PACKAGES = LOCAL / "npm"
_MANIFEST = Path(__file__).parent


def install(manifest: Path = _MANIFEST, into: Path = PACKAGES, what: str = "the local chains") -> Path:
    """Return the folder with the npm packages of the lock file in `manifest`.

    The packages are installed once for each lock file, even if two processes need them at the same time.
    """
    stamp, wanted = into / "installed", _digest(manifest)
    if _read(stamp) == wanted:
        return into
    into.mkdir(parents=True, exist_ok=True)
    with (into / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _read(stamp) != wanted:
            print(f"Installing {what} (once, some seconds)…", file=sys.stderr, flush=True)
            for file in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(manifest / file, into / file)
            node.npm_ci(into)
            stamp.write_text(wanted)
    return into


def _read(stamp: Path) -> str:
    return stamp.read_text() if stamp.exists() else ""


def _digest(manifest: Path) -> str:
    return hashlib.sha256((manifest / "package-lock.json").read_bytes()).hexdigest()
