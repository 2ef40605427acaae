"""Check the age of the newest backup in `BACKUP_FOLDER`, and PostgreSQL's WAL archive."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from config.doctor.finding import Finding, by_limits, failed, fine

# deploy/backup/backup.sh and the recipe in docs/running.md give these names to complete backups.
_COMPLETE = ("quittance-*.dump.age", "base-*.tar.age")
_HOUR = 3600
_MAKE_ONE = (
    "Run deploy/backup/backup.sh by hand and read its output, then check that its timer or container runs."
)


def check() -> Iterator[Finding]:
    yield check_folder()
    yield from check_archive()


def check_folder(now: Callable[[], float] = time.time) -> Finding:
    folder = settings.BACKUP_FOLDER
    if not folder:
        return fine("backups", "not checked, because BACKUP_FOLDER is not set")
    try:
        newest = _newest(Path(folder))
    except OSError as error:
        advice = "Mount the folder of the backups here, readable for this user, or correct BACKUP_FOLDER."
        return failed("backups", f"{folder} can't be read ({type(error).__name__})", advice)
    if newest is None:
        return failed("backups", f"{folder} has no backup", _MAKE_ONE)
    hours = (now() - newest) / _HOUR
    limit = settings.BACKUP_MAX_AGE_HOURS
    return by_limits("backups", hours, (limit, 2 * limit), f"the newest is {hours:.1f} h old", _MAKE_ONE)


def check_archive() -> Iterator[Finding]:
    """If WAL archiving is on, yield whether its last attempt succeeded."""
    sql = """
        SELECT failed_count, last_failed_wal, last_failed_time > coalesce(last_archived_time, '-infinity')
        FROM pg_stat_archiver WHERE current_setting('archive_mode') <> 'off'"""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            row = cursor.fetchone()
    except DatabaseError:
        return  # `config.doctor.database` reports this error
    if row is None:
        return
    failures, segment, is_failing = row
    if is_failing:
        summary = f"{segment} could not be archived ({failures} failures in total)"
        advice = (
            "Read archive_command's output in PostgreSQL's log. Segments fill the disk until archiving works."
        )
        yield failed("WAL archive", summary, advice)
    else:
        yield fine("WAL archive", "no segment waits for archiving")


def _newest(folder: Path) -> float | None:
    """Return the time of the newest complete file in Unix seconds, or None."""
    list(folder.iterdir())  # unlike `glob`, it raises OSError if the folder is missing or unreadable
    files = [file.stat() for pattern in _COMPLETE for file in folder.glob(pattern)]
    return max((each.st_mtime for each in files if each.st_size), default=None)
