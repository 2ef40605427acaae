import logging
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.doctor.running import run


class Command(BaseCommand):
    help = (
        "Check this deployment: settings, database, Redis, processes, queues, nodes, providers, e-mail, traces, TLS, "
        "disk and backups. Exits with 0 if nothing failed, 1 if something did, and 2 if the settings are invalid."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
        parser.add_argument(
            "--strict", action="store_true", help="exit with 1 also if there are only warnings"
        )
        parser.add_argument(
            "--only", metavar="NAME", action="append", choices=[*settings.DOCTOR_CHECKS], help="repeatable"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        only = options["only"] or settings.DOCTOR_CHECKS
        logging.disable(logging.ERROR)  # the report describes these errors better
        try:
            report = run({name: path for name, path in settings.DOCTOR_CHECKS.items() if name in only})
        finally:
            logging.disable(logging.NOTSET)
        self.stdout.write(report.as_json() if options["json"] else "\n".join(report.lines()))
        if not report.is_good(strict=options["strict"]):
            raise CommandError("the deployment needs attention", returncode=1)
