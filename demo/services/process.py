"""Child processes, which log to a file, and stop with their parent."""

import atexit
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
LOCAL = REPOSITORY / ".local"

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_running: list["Child"] = []
_claims: list[socket.socket] = []


class ServiceError(RuntimeError):
    """A service failed to start, or has ended. The message ends with the last lines of its log."""


@dataclass(eq=False)
class Child:
    """A running child process: its name, its log file, and its shutdown signal."""

    name: str
    log: Path
    stop_signal: signal.Signals
    popen: "subprocess.Popen[bytes]" = field(repr=False)

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def exit_code(self) -> int | None:
        """The exit status, or None while the process runs.

        A negative status means that the signal with this number killed the process.
        """
        return self.popen.poll()

    def stop(self, patience: float = 15.0) -> None:
        """Terminate the process. If it still runs after `patience` seconds, send SIGKILL."""
        if self.popen.poll() is None:
            self.popen.send_signal(self.stop_signal)
            try:
                self.popen.wait(patience)
            except subprocess.TimeoutExpired:
                os.killpg(self.pid, signal.SIGKILL)  # its children are in the same session, and end too
                self.popen.wait()
        if self in _running:
            _running.remove(self)

    def tail(self, lines: int = 15) -> str:
        """The last lines of the log."""
        return tail(self.log, lines)

    def await_ready(self, ready: Callable[[], bool], patience: float, advice: str) -> None:
        """Wait until `ready()` is true. Stops the child and raises ServiceError if it exits or times out."""
        deadline = time.monotonic() + patience
        while not ready():
            if self.exit_code is not None:
                problem = f"{self.name} ended at its start (exit status {self.exit_code})"
            elif time.monotonic() > deadline:
                problem = f"{self.name} did not answer within {patience:g} s"
            else:
                time.sleep(0.02)
                continue
            self.stop()
            raise ServiceError(f"{problem}. {advice}\nThe end of {self.log}:\n{self.tail()}")


def spawn(
    name: str,
    command: Sequence[str | Path],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: int | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
) -> Child:
    """Start `command` with its output in `log`. The child has its own session, so Ctrl-C reaches only the parent.

    The child is stopped when this process exits. On Linux, the child is also stopped when this process is killed, and
    when the thread that called this function ends. So call it in a thread that lives long enough. Raises ServiceError
    if the program is missing.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    try:
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
                preexec_fn=_die_with_parent(os.getpid(), stop_signal),
                **identity,  # type: ignore[call-overload]
            )
    except OSError as error:
        raise ServiceError(f"{name} cannot be started: {error}") from error
    child = Child(name, log, stop_signal, popen)
    _running.append(child)
    return child


def _die_with_parent(parent: int, stop_signal: signal.Signals) -> Callable[[], None] | None:
    libc = _libc
    if libc is None:
        return None

    def arm() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(stop_signal))
        if os.getppid() != parent:  # the parent died before this call
            os._exit(1)

    return arm


@atexit.register
def stop_all() -> None:
    """Stop all children of this process, the latest first."""
    for child in reversed(_running.copy()):
        child.stop()


def tail(log: Path, lines: int = 15) -> str:
    """Return the last `lines` lines of a log file, indented. If the file is empty or missing, return a placeholder."""
    text = log.read_text(errors="replace") if log.is_file() else ""
    return "\n".join(f"  {line}" for line in text.splitlines()[-lines:]) or "  (the log is empty)"


def require_free(port: int) -> None:
    """Raise ServiceError if `port` of the loopback interface is in use."""
    if not is_free(port):
        raise ServiceError(f"Port {port} is taken by another program: stop that one, or choose another port.")


def is_free(port: int) -> bool:
    """Whether a server could now listen on `port` of the loopback interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # servers set it, too
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def claim(port: int) -> bool:
    """Reserve the port for a server that this process will start. Return False if another process has reserved it.

    To reserve it, bind the UDP port with the same number, because no server uses that. The reservation ends with the
    process.
    """
    sign = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sign.bind(("127.0.0.1", port))
    except OSError:
        sign.close()
        return False
    _claims.append(sign)
    return True


def free_port() -> int:
    """Return a free TCP port on 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
