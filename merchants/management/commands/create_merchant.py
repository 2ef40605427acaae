from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from merchants.services import create_merchant


class Command(BaseCommand):
    help = "Make a merchant and print its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            merchant = create_merchant(name=options["name"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(merchant.id))
