"""Doctor reports backups that are missing, empty or not readable."""

from pathlib import Path

import pytest
from pytest_django import Settings

from config.doctor import backups
from config.doctor.finding import Level


def test_missing_backup_folder_is_reported_without_failure(settings: Settings) -> None:
    settings.BACKUP_FOLDER = ""
    finding = backups.check_folder()
    assert (finding.level, finding.summary) == (Level.OK, "not checked, because BACKUP_FOLDER is not set")


def test_a_folder_that_is_not_there_is_named(settings: Settings, tmp_path: Path) -> None:
    settings.BACKUP_FOLDER = str(tmp_path / "not-mounted")
    finding = backups.check_folder()
    assert finding.level is Level.FAILED
    assert finding.summary.endswith("not-mounted can't be read (FileNotFoundError)")


@pytest.mark.parametrize(
    "name", ["quittance-1.dump.age.part", "base-1.tar.age.part", "0000000100000001.age", "notes.txt"]
)
def test_what_is_no_complete_backup_does_not_count(settings: Settings, tmp_path: Path, name: str) -> None:
    settings.BACKUP_FOLDER = str(tmp_path)
    (tmp_path / name).write_bytes(b"age-encryption.org/v1")
    assert backups.check_folder().summary == f"{tmp_path} has no backup"


@pytest.mark.parametrize("name", ["quittance-1.dump.age", "base-1.tar.age"])
def test_dumps_and_base_backups_count_unless_they_are_empty(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    settings.BACKUP_FOLDER = str(tmp_path)
    (tmp_path / name).touch()
    assert backups.check_folder().summary == f"{tmp_path} has no backup"
    (tmp_path / name).write_bytes(b"age-encryption.org/v1")
    assert backups.check_folder().level is Level.OK
