"""The documentation site, built once for all tests of a process."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from demo.services import node
from tests.support.docs.pages import REPOSITORY

WEBSITE = REPOSITORY / "website"


def build(folder: Path, docs: Path = REPOSITORY / "docs") -> "subprocess.CompletedProcess[str]":
    """Build the site of these pages into `folder`, as `make docs` does."""
    if not (WEBSITE / "node_modules" / "mermaid").exists():
        node.npm_ci(WEBSITE)
    program = (
        "import sys; from pathlib import Path; from website.__main__ import build, prepare;"
        " prepare(); build(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    return subprocess.run(
        [sys.executable, "-c", program, str(folder), str(docs)],
        cwd=REPOSITORY,
        env={name: value for name, value in os.environ.items() if name != "DOCS_SOURCE_URL"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@cache
def built() -> Path:
    """Return the folder with the built site."""
    folder = Path(mkdtemp(prefix="quittance-site-"))
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def addresses(site: Path) -> list[str]:
    """Return the paths of all pages, each with a slash at its end."""
    return sorted(
        "/" + "".join(f"{part}/" for part in page.parent.relative_to(site).parts)
        for page in site.rglob("index.html")
    )
