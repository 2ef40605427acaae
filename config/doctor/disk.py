"""Check the free space of the disks with the code and temporary files."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.conf import settings

from config.doctor.finding import Finding, failed, fine, warning

_MB = 1024 * 1024
LOW_BYTES = 2048 * _MB
FULL_BYTES = 200 * _MB
_ADVICE = (
    "Free space or enlarge the disk. Monitor PostgreSQL's disk too if it is on another machine: without space, the "
    "service stops accepting payments."
)


def check(*, low: int = LOW_BYTES, full: int = FULL_BYTES) -> Iterator[Finding]:
    for name, place in _places().items():
        free = shutil.disk_usage(place).free
        summary = f"{free // _MB:,} MB free on the disk of {place}"
        if free < full:
            yield failed(name, summary, _ADVICE)
        elif free < low:
            yield warning(name, summary, _ADVICE)
        else:
            yield fine(name, summary)


def _places() -> Mapping[str, Path]:
    folders = {"temporary files": Path(tempfile.gettempdir()), "service": Path(settings.BASE_DIR)}
    by_disk = {folder.stat().st_dev: name for name, folder in folders.items()}
    return {name: folders[name] for name in by_disk.values()}
