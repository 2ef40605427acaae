"""The backup script makes an encrypted dump that can be restored, or none if it fails. It removes old dumps."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from pytest_django import Settings

from config.doctor import backups
from config.doctor.finding import Level
from demo.services import postgres
from tests.processes import REPOSITORY, environment

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(shutil.which("age-keygen") is None, reason="age is not on this machine"),
]

SCRIPT = REPOSITORY / "deploy/backup/backup.sh"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    key = tmp_path / "key.txt"
    subprocess.run(["age-keygen", "--output", str(key)], check=True, capture_output=True)
    return key


def settings(folder: Path, key: Path, **more: str) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    recipient = subprocess.run(["age-keygen", "-y", str(key)], check=True, capture_output=True, text=True)
    shared = environment(BACKUP_FOLDER=str(folder), BACKUP_RECIPIENT=recipient.stdout.strip())
    path = f"{postgres.program('pg_dump').parent}{os.pathsep}{os.environ['PATH']}"
    return {**shared, "PATH": path, **more}


def back_up(folder: Path, key: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(SCRIPT)], env=settings(folder, key, **more), capture_output=True, text=True)


def test_dump_is_encrypted_and_has_every_table(tmp_path: Path, key: Path) -> None:
    folder = tmp_path / "backups"
    assert back_up(folder, key).returncode == 0
    (file,) = folder.iterdir()
    assert file.name.endswith(".dump.age")
    assert file.stat().st_mode & 0o077 == 0
    assert file.read_bytes().startswith(b"age-encryption.org/v1")
    assert b"payments_payment" not in file.read_bytes()
    plain = tmp_path / "plain.dump"
    subprocess.run(
        ["age", "--decrypt", "--identity", str(key), "--output", str(plain), str(file)], check=True
    )
    listed = subprocess.run(
        [postgres.program("pg_restore"), "--list", plain], check=True, capture_output=True, text=True
    ).stdout
    for table in ("payments_payment", "payments_consumedtransfer", "webhooks_delivery", "merchants_apikey"):
        assert f"TABLE DATA public {table} " in listed


def test_failed_repeated_dump_leaves_no_complete_file(tmp_path: Path, key: Path) -> None:
    folder = tmp_path / "backups"
    nowhere = settings(folder, key, DATABASE_URL="postgresql://127.0.0.1:1/nowhere")
    repeating = subprocess.Popen(
        [str(SCRIPT), "--every", "3600"],
        env=nowhere,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert repeating.stdout is not None
        ended = next(line for line in repeating.stdout if "bytes" in line or "the next try follows" in line)
    finally:
        os.killpg(repeating.pid, signal.SIGKILL)
        repeating.communicate()
    assert ended.startswith("the dump failed")
    assert [file.name for file in folder.iterdir() if not file.name.endswith(".part")] == []


def test_only_dumps_older_than_the_limit_are_removed(tmp_path: Path, key: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for days in (1, 40):
        file = folder / f"quittance-{days}-days-old.dump.age"
        file.write_bytes(b"age-encryption.org/v1")
        then = time.time() - days * 86_400
        os.utime(file, (then, then))
    assert back_up(folder, key, BACKUP_DAYS="14").returncode == 0
    names = {file.name for file in folder.iterdir()}
    assert len(names) == 2
    assert "quittance-40-days-old.dump.age" not in names


def test_password_is_no_argument_of_pg_dump(tmp_path: Path, key: Path) -> None:
    seen, programs = tmp_path / "seen", tmp_path / "bin"
    programs.mkdir()
    (programs / "pg_dump").write_text(f'#!/bin/sh\necho "$PGPASSWORD|$*" >{seen}\n')
    (programs / "pg_dump").chmod(0o755)
    done = back_up(
        tmp_path / "backups",
        key,
        DATABASE_URL="postgresql://quittance:p%40ss%3Aword@db.example:5432/quittance?sslmode=require",
        PATH=f"{programs}{os.pathsep}{os.environ['PATH']}",
    )
    assert done.returncode == 0, done.stderr
    password, _, arguments = seen.read_text().strip().partition("|")
    assert password == "p@ss:word"
    assert arguments.endswith("--dbname=postgresql://quittance@db.example:5432/quittance?sslmode=require")
    assert "word" not in arguments


def test_doctor_reports_the_age_of_the_newest_dump(tmp_path: Path, key: Path, settings: Settings) -> None:
    folder = tmp_path / "backups"
    settings.BACKUP_FOLDER = str(folder)
    assert back_up(folder, key).returncode == 0
    assert backups.check_folder().level is Level.OK
    (file,) = folder.iterdir()
    for hours, level in ((12.9, Level.OK), (13.1, Level.WARNING), (26.1, Level.FAILED)):
        then = time.time() - hours * 3600
        os.utime(file, (then, then))
        finding = backups.check_folder()
        assert (finding.level, finding.summary) == (level, f"the newest is {hours} h old")


def test_doctor_ignores_a_failed_dump(tmp_path: Path, key: Path, settings: Settings) -> None:
    folder = tmp_path / "backups"
    settings.BACKUP_FOLDER = str(folder)
    assert back_up(folder, key, DATABASE_URL="postgresql://127.0.0.1:1/nowhere").returncode != 0
    finding = backups.check_folder()
    assert (finding.level, finding.summary) == (Level.FAILED, f"{folder} has no backup")
