"""The product's processes, run as in production, on the test's database."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from django.db import connection

REPOSITORY = Path(__file__).resolve().parent.parent


def environment(**more: str) -> dict[str, str]:
    """Return the environment variables, with the test's database in DATABASE_URL."""
    url = urlsplit(os.environ["DATABASE_URL"])
    name = connection.settings_dict["NAME"]
    return {**os.environ, "DATABASE_URL": url._replace(path=f"/{name}").geturl(), **more}


class Process:
    """A child process in its own process group, so that a kill includes its children."""

    def __init__(self, log: Path, *command: str, **more: str) -> None:
        self._log = log.open("ab")
        self._child = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=REPOSITORY,
            env=environment(**more),
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    @property
    def children(self) -> int:
        """The number of its child processes that are running."""
        shown = subprocess.run(["ps", "-A", "-o", "ppid="], capture_output=True, text=True, check=True)
        return shown.stdout.split().count(str(self._child.pid))

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the process, as platforms do before a new release starts."""
        self._child.terminate()

    def pause(self) -> None:
        """Freeze the process group, as if the machine stalled."""
        os.killpg(self._child.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Resume a paused group."""
        os.killpg(self._child.pid, signal.SIGCONT)

    def wait(self, seconds: float) -> int:
        """Return the exit status of a process that ends by itself within `seconds`."""
        return self._child.wait(timeout=seconds)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Kill the process group. If it has already ended, that is no error."""
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)
        self._child.wait(timeout=20)
        self._log.close()


def worker(log: Path, **more: str) -> Process:
    """Start a Celery worker with two processes."""
    command = ("celery", "-A", "config", "worker", "--concurrency", "2", "--loglevel", "WARNING")
    return Process(log, *command, **more)


def beat(log: Path, **more: str) -> Process:
    """Start Celery's beat, with a schedule file next to its log."""
    schedule = str(log.with_suffix(".schedule"))
    return Process(
        log, "celery", "-A", "config.beat", "beat", "--schedule", schedule, "--pidfile", "", **more
    )


def eventually(condition: Callable[[], bool], what: str, seconds: float = 180) -> None:
    """Wait until `condition` holds, or fail saying `what` did not happen."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"within {seconds} s it did not happen that {what}")
        time.sleep(0.02)
