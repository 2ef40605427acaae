"""The image's files, according to the COPY lines of its definition."""

import re
import shlex
import shutil
from pathlib import Path

from demo.services.process import REPOSITORY

CONTAINERFILE = REPOSITORY / "deploy/Containerfile"
_LEFT_OUT = shutil.ignore_patterns("frontend")


def copy_to(folder: Path) -> None:
    """Copy the files that the definition copies into /app to `folder`."""
    build = CONTAINERFILE.read_text().split("\nFROM ")[1]
    for line in re.findall(r"^COPY (?!--)(.+)$", build, re.MULTILINE):
        *sources, target = shlex.split(line)
        for source in sources:
            if source.startswith("requirements"):  # packages are installed outside /app
                continue
            place = folder / (source if target == "./" else target)
            place.parent.mkdir(parents=True, exist_ok=True)
            if (REPOSITORY / source).is_dir():
                shutil.copytree(REPOSITORY / source, place, ignore=_LEFT_OUT)
            else:
                shutil.copy(REPOSITORY / source, place)
