"""The documentation site, built once for all test processes."""

import fcntl
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import gettempdir

from demo.services import node
from tests.support.docs.pages import REPOSITORY

WEBSITE = REPOSITORY / "website"


def build(folder: Path, docs: Path = REPOSITORY / "docs") -> "subprocess.CompletedProcess[str]":
    """Build the site from these pages into `folder`, as `make docs` does."""
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
        timeout=900,
        check=False,
    )


@cache
def built() -> Path:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(gettempdir()) / f"quittance-site-{run}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            done = build(made := folder.with_suffix(".new"))
            assert done.returncode == 0, done.stdout + done.stderr
            made.rename(folder)
    return folder


def addresses(site: Path) -> list[str]:
    """Return the paths of all pages, each with a slash at the end."""
    return sorted(
        "/" + "".join(f"{part}/" for part in page.parent.relative_to(site).parts)
        for page in site.rglob("index.html")
    )
