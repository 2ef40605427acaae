"""A PostgreSQL cluster with all migrations applied. It is kept in `.local` and copied for each test process.

Migrating an empty database takes as long as hundreds of tests. Django copies the test database from the
cluster's database `migrated` (`TEST.TEMPLATE`), so no migration is left to run.
"""

import datetime
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from demo.services import postgres
from demo.services.postgres import DATABASE, Postgres
from demo.services.process import LOCAL, REPOSITORY

TEMPLATE = "migrated"
_KEPT = LOCAL / "migrated"
_SOURCES = ("requirements*.txt", "*/migrations/*.py", "*/models.py", "*/models/*.py", "*/fields.py")


def start(folder: Path) -> Postgres:
    """Start PostgreSQL on a copy in `folder`, with an empty database `quittance` and the database `migrated`."""
    with _locked():
        kept = _cluster()
        folder.mkdir(parents=True)
        # Keep the owner: the server runs as that user.
        subprocess.run(["cp", "-a", kept, folder / "cluster"], check=True)
    return postgres.start(folder, durable=False)


@contextmanager
def _locked() -> Iterator[None]:
    _KEPT.mkdir(parents=True, exist_ok=True)
    with (_KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _cluster() -> Path:
    """Return the stopped cluster for the current sources. The first process that needs it creates it."""
    kept = _KEPT / _fingerprint()
    if not kept.exists():
        for stale in _KEPT.iterdir():
            if stale.is_dir():
                shutil.rmtree(stale)
        _make(kept)
    return kept / "cluster"


def _fingerprint() -> str:
    """Return a hash of everything that the tables depend on: the sources, and today's date, when partitions start."""
    digest = hashlib.sha256(datetime.datetime.now(tz=datetime.UTC).date().isoformat().encode())
    for pattern in _SOURCES:
        for source in sorted(REPOSITORY.glob(pattern)):
            digest.update(f"{source.relative_to(REPOSITORY)}\n".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _make(kept: Path) -> None:
    half_made = kept.with_suffix(".new")
    server = postgres.start(half_made, durable=False)
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE}")
        environment = {
            "REDIS_URL": "redis://127.0.0.1:9/0",  # required, but not used
            **os.environ,
            "DATABASE_URL": server.url.replace(f"/{DATABASE}?", f"/{TEMPLATE}?"),
        }
        command = [sys.executable, str(REPOSITORY / "manage.py"), "migrate", "--verbosity", "0"]
        subprocess.run(command, env=environment, cwd=REPOSITORY, check=True)
    finally:
        server.stop()
    half_made.rename(kept)
