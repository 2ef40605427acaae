"""Measure the memory of the web, worker and beat processes. The processes run as in the Procfile. They handle some work
before the measurement.

`python -m demo.services python -m bench.memory`. Memory is PSS: if n processes share a page of memory, each process
counts 1/n of the page.
"""

import http.client
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench.api_calls import SETTINGS
from demo.services.process import free_port

GOAL_MB = 400


def main() -> None:
    """Start the three processes, use them, and print their memory."""
    port = free_port()
    environment = {**os.environ, **SETTINGS, "PORT": str(port), "LOG_LEVEL": "ERROR"}
    python = [sys.executable, "-m"]
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=environment, check=True)
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "web": [*python, "config.server", "--config", "config/gunicorn.py"],
            "worker": [*python, "celery", "-A", "config", "worker", "--loglevel", "ERROR"],
            "beat": [
                *python,
                "celery",
                "-A",
                "config.beat",
                "beat",
                "--schedule",
                f"{folder}/beat",
                "--pidfile",
                "",
            ],
        }
        running = {
            name: subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for name, command in commands.items()
        }
        try:
            _use(port)
            sizes = {name: sum(map(_pss_mb, _family(child.pid))) for name, child in running.items()}
        finally:
            for child in running.values():
                child.terminate()
            for child in running.values():
                with suppress(subprocess.TimeoutExpired):
                    child.wait(20)
                child.kill()
    for name, size in sizes.items():
        print(f"{name:8}{size:7.0f} MB")
    print(f"{'all':8}{sum(sizes.values()):7.0f} MB   (goal {GOAL_MB})")


def _use(port: int) -> None:
    """Call the API until a worker has finished a task."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(OSError):
            for path in ("/api/public/chains", "/admin/login/"):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", path)
                connection.getresponse().read()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == http.HTTPStatus.OK:
                time.sleep(5)  # time for each periodic task to run a few times
                return
        time.sleep(0.2)
    raise TimeoutError("web and worker did not become ready")


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _family(int(child)))]


def _pss_mb(pid: int) -> float:
    line = next(
        line for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:")
    )
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
