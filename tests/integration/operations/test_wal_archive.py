"""The printed commands for WAL archives in docs/running.md restore a database to a point in time."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest

from demo.services import postgres
from tests.processes import eventually
from tests.support.docs.pages import REPOSITORY, samples

pytestmark = pytest.mark.skipif(shutil.which("age-keygen") is None, reason="age is not on this machine")

SECRET = "a-secret-that-no-archive-shows"  # noqa: S105


class Recipe:
    """The printed commands, with the test's folders, key and time in place of the page's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        key = folder / "key.txt"
        subprocess.run(["age-keygen", "--output", str(key)], check=True, capture_output=True)
        made = subprocess.run(["age-keygen", "-y", str(key)], check=True, capture_output=True, text=True)
        self.archive = folder / "archive"
        self.archive.mkdir()
        self.restored = folder / "restored"
        self.restored.mkdir()
        self.replaced = {
            "age1…": made.stdout.strip(),
            "/var/lib/postgresql/backup-key.txt": str(key),
            "identity backup-key.txt": f"identity {key}",
            "/archive": str(self.archive),
            "/var/lib/postgresql/restored": str(self.restored / "cluster"),
        }
        for path in (key, self.archive):
            _give_to_postgres(path)
        page = REPOSITORY / "docs/running.md"
        self.archiving, self._recovery = samples(page, "ini")
        self._base, self._restore = samples(page, "bash")

    def filled(self, text: str) -> str:
        for printed, own in self.replaced.items():
            text = text.replace(printed, own)
        return text

    def configure(self, cluster: Path, lines: str) -> None:
        with (cluster / "postgresql.conf").open("a") as file:
            file.write(f"\n{self.filled(lines)}")

    def back_up(self, url: str) -> None:
        self._run(self._base, REPLICATION_URL=url)
        (file,) = self.archive.glob("base-*.tar.age")
        self.replaced["base-20260301T010000Z.tar.age"] = file.name

    def restore(self, moment: str) -> None:
        self.replaced["2026-03-01 12:00:00+00"] = moment
        self._run(self._restore)
        self.configure(self.restored / "cluster", self._recovery)
        for path in (self.restored / "cluster").rglob("*"):
            _give_to_postgres(path)
        _give_to_postgres(self.restored / "cluster")

    def _run(self, script: str, **more: str) -> None:
        path = f"{postgres.program('pg_basebackup').parent}{os.pathsep}{os.environ['PATH']}"
        command = ["bash", "-e", "-c", self.filled(script)]
        done = subprocess.run(
            command, env={**os.environ, "PATH": path, **more}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def _give_to_postgres(path: Path) -> None:
    """Give the file to the server's user, which is another one if the tests run as root."""
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(path, user.pw_uid, user.pw_gid)


def value(database: psycopg.Connection[Any], query: str) -> Any:
    row = database.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def orders(url: str) -> list[str]:
    with psycopg.connect(url) as database:
        return [name for (name,) in database.execute("SELECT name FROM orders ORDER BY name").fetchall()]


def test_archive_restores_a_moment_between_two_commits(tmp_path: Path) -> None:
    recipe = Recipe(tmp_path)
    postgres.start(tmp_path / "pg").stop()
    recipe.configure(tmp_path / "pg/cluster", recipe.archiving)
    running = postgres.start(tmp_path / "pg")
    try:
        with psycopg.connect(running.url, autocommit=True) as database:
            database.execute("CREATE TABLE orders (name text)")
            database.execute("INSERT INTO orders VALUES (%s)", [f"1 {SECRET}"])
            recipe.back_up(running.url)
            database.execute("INSERT INTO orders VALUES ('2 after the backup')")
            moment = value(database, "SELECT clock_timestamp()::text")
            database.execute("DELETE FROM orders")
            segment = value(database, "SELECT pg_walfile_name(pg_current_wal_lsn())")
            database.execute("SELECT pg_switch_wal()")
            eventually((recipe.archive / f"{segment}.age").exists, "the last segment is archived")
    finally:
        running.stop()
    shutil.rmtree(tmp_path / "pg")
    for file in recipe.archive.iterdir():
        content = file.read_bytes()
        assert content.startswith(b"age-encryption.org/v1")
        assert SECRET.encode() not in content
    recipe.restore(moment)
    restored = postgres.start(recipe.restored)
    try:
        with psycopg.connect(restored.url, autocommit=True) as database:
            eventually(lambda: not value(database, "SELECT pg_is_in_recovery()"), "the recovery has ended")
        assert orders(restored.url) == [f"1 {SECRET}", "2 after the backup"]
    finally:
        restored.stop()
