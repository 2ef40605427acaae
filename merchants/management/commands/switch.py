from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.formats import date_format

from chains.models import Switch
from chains.switches import Feature, UnknownSwitch
from merchants.switching import switch_off, switch_on


class Command(BaseCommand):
    help = (
        "Stop new offers of a feature, chain or token in all processes within a second, or offer "
        "them again. Payments in progress are still verified and completed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("turn", choices=("on", "off", "list"))
        parser.add_argument(
            "name", nargs="?", metavar="NAME", help=f"{', '.join(Feature)}, chain:ID or token:ID"
        )
        parser.add_argument("--reason", default="", help="reason for the security log")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        if options["turn"] == "list":
            self._list()
            return
        if not name:
            raise CommandError("Name a feature, chain or token; see manage.py switch --help.")
        try:
            self.stdout.write(
                self._off(name, options["reason"]) if options["turn"] == "off" else self._on(name)
            )
        except UnknownSwitch as error:
            raise CommandError(str(error)) from error

    def _off(self, name: str, reason: str) -> str:
        target, was_on = switch_off(name, reason=reason, request=None)
        return f"{target.name} is off ({target.label})." if was_on else f"{target.name} was off already."

    def _on(self, name: str) -> str:
        target, was_off = switch_on(name, request=None)
        return f"{target} is on." if was_off else f"{target} was on already."

    def _list(self) -> None:
        rows = Switch.objects.all()
        for row in rows:
            since = date_format(row.off_at, "Y-m-d H:i:s")
            self.stdout.write(f"{row.name}  off since {since} UTC by {row.actor}  {row.reason}".rstrip())
        if not rows:
            self.stdout.write("Everything is on.")
