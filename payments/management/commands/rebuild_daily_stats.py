"""`manage.py rebuild_daily_stats [--days N]`: recount the daily statistics of the admin's dashboard."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from payments.stats.daily import first_day, rebuild


class Command(BaseCommand):
    """Only needed after rows were changed by hand."""

    help = "Recount the daily statistics of the admin's dashboard. Safe to interrupt, and while the service runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days", type=int, help="recount only the last DAYS days, including today (default: all days)"
        )

    def handle(self, *, days: int | None, **_: Any) -> None:
        """Recount from today backwards. Prints the progress."""
        today = timezone.now().date()
        oldest = first_day() or today
        if days is not None:
            oldest = max(oldest, today - timedelta(days=days - 1))
        number = (today - oldest).days + 1
        for done, day in enumerate(rebuild(oldest, today), start=1):
            self.stdout.write(f"{day}  {done} of {number}")
