from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from merchants.services import create_merchant


class Command(BaseCommand):
    help = "Make a merchant and print its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(str(create_merchant(name=options["name"]).id))
