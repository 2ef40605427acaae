"""The `quittance` command in its own process."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[4] / "clients" / "python" / "src"
_END = ""


class Command:
    """A running command. The test waits for its output lines."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "quittance", *arguments],
            env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines = {"out": queue.Queue[str](), "err": queue.Queue[str]()}
        for name, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
            threading.Thread(target=self._read, args=(stream, self._lines[name]), daemon=True).start()

    def line(self, stream: str = "out", seconds: float = 20) -> str:
        line = self._lines[stream].get(timeout=seconds)
        assert line, "the command ended"
        return line.rstrip("\n")

    def line_with(self, words: str, stream: str = "out") -> str:
        """Return the next line that contains `words`."""
        while words not in (line := self.line(stream)):
            pass
        return line

    def rest(self, stream: str = "out") -> list[str]:
        """Wait until the command ends; return the remaining lines."""
        self.process.wait(timeout=20)
        return [line.rstrip("\n") for line in iter(self._lines[stream].get, _END)]

    def interrupt(self, number: int = signal.SIGINT) -> int:
        """Press Ctrl-C; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=20)

    @staticmethod
    def _read(stream: Iterator[str], lines: "queue.Queue[str]") -> None:
        for line in stream:
            lines.put(line)
        lines.put(_END)


@contextmanager
def running(*arguments: str, **environment: str) -> Iterator[Command]:
    command = Command(*arguments, **environment)
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()
