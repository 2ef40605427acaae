"""The pinned npm packages that hold the local chains' programs, installed together at the first use."""

import fcntl
import hashlib
import shutil
import sys
from pathlib import Path

from demo.services import node
from demo.services.process import LOCAL

PACKAGES = LOCAL / "npm"
_MANIFEST = Path(__file__).parent


def install() -> Path:
    """The folder whose node_modules holds exactly what the lock file names and fits this machine.

    Installed once for each lock file; two processes that find it missing do not do it twice.
    """
    stamp, wanted = PACKAGES / "installed", _digest()
    if _read(stamp) == wanted:
        return PACKAGES
    PACKAGES.mkdir(parents=True, exist_ok=True)
    with (PACKAGES / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _read(stamp) != wanted:
            print("Installing the local chains (once, some seconds)…", file=sys.stderr, flush=True)
            for file in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(_MANIFEST / file, PACKAGES / file)
            node.npm_ci(PACKAGES)
            stamp.write_text(wanted)
    return PACKAGES


def _read(stamp: Path) -> str:
    return stamp.read_text() if stamp.exists() else ""


def _digest() -> str:
    return hashlib.sha256((_MANIFEST / "package-lock.json").read_bytes()).hexdigest()
