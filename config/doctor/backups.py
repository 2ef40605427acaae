"""Checks of the backups: the age of the newest one in `BACKUP_FOLDER`, and whether PostgreSQL can archive its WAL."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from config.doctor.finding import Finding, by_limits, failed, fine

# What deploy/backup/backup.sh and the recipe of base backups in docs/running.md leave when they are complete.
_COMPLETE = ("quittance-*.dump.age", "base-*.tar.age")
_HOUR = 3600
_MAKE_ONE = (
    "Run deploy/backup/backup.sh by hand and read what it prints, then see that its timer or container runs."
)


def check() -> Iterator[Finding]:
    """Yield how old the newest backup is, and whether WAL segments are archived where that is on."""
    yield check_folder()
    yield from check_archive()


def check_folder(now: Callable[[], float] = time.time) -> Finding:
    """Return how old the newest complete file is. Without BACKUP_FOLDER, that it isn't known."""
    folder = settings.BACKUP_FOLDER
    if not folder:
        return fine("backups", "not checked, since BACKUP_FOLDER is not set")
    try:
        newest = _newest(Path(folder))
    except OSError as error:
        advice = "Mount the folder of the backups here, readable for this user, or correct BACKUP_FOLDER."
        return failed("backups", f"{folder} can't be read ({type(error).__name__})", advice)
    if newest is None:
        return failed("backups", f"{folder} holds none", _MAKE_ONE)
    hours = (now() - newest) / _HOUR
    most = settings.BACKUP_MAX_AGE_HOURS
    return by_limits("backups", hours, (most, 2 * most), f"the newest is {hours:.1f} h old", _MAKE_ONE)


def check_archive() -> Iterator[Finding]:
    """Yield whether the newest attempt to archive a WAL segment worked, where PostgreSQL archives."""
    sql = """
        SELECT failed_count, last_failed_wal, last_failed_time > coalesce(last_archived_time, '-infinity')
        FROM pg_stat_archiver WHERE current_setting('archive_mode') <> 'off'"""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            row = cursor.fetchone()
    except DatabaseError:
        return  # the check of the database names it
    if row is None:
        return
    failures, segment, is_failing = row
    if is_failing:
        summary = f"{segment} could not be archived, after {failures} failures in all"
        advice = (
            "Read PostgreSQL's log for what archive_command prints. Segments fill its disk until this works."
        )
        yield failed("WAL archive", summary, advice)
    else:
        yield fine("WAL archive", "the newest segment was archived, or none was due yet")


def _newest(folder: Path) -> float | None:
    """Return when the newest complete file was written, in seconds since 1970; None if there is none."""
    list(folder.iterdir())  # `glob` is silent about a folder that is missing or can't be read
    files = [file.stat() for pattern in _COMPLETE for file in folder.glob(pattern)]
    return max((each.st_mtime for each in files if each.st_size), default=None)
