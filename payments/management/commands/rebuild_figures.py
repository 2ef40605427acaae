"""`manage.py rebuild_figures [--days N]`: count the daily figures of the admin's dashboard anew."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from payments.stats.daily import first_day, rebuild


class Command(BaseCommand):
    """Needed only after rows were changed by hand: the figures otherwise keep up by themselves."""

    help = "Counts the daily figures of the admin's dashboard anew. Safe while the service runs, and to break off."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take how far back to go."""
        parser.add_argument("--days", type=int, help="how many days back from today (default: all there are)")

    def handle(self, *, days: int | None, **_: Any) -> None:
        """Go from today backwards, and say how far it is."""
        today = timezone.now().date()
        oldest = first_day() or today
        if days is not None:
            oldest = max(oldest, today - timedelta(days=days - 1))
        number = (today - oldest).days + 1
        for done, day in enumerate(rebuild(oldest, today), start=1):
            self.stdout.write(f"{day}  {done} of {number}")
