from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from merchants.services import create_merchant
from merchants.staff import audit


class Command(BaseCommand):
    help = "Create a merchant and print its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with transaction.atomic():
                merchant = create_merchant(name=options["name"])
                audit.note(None, audit.What.MERCHANT_CREATED, subject=merchant, detail=str(merchant.id))
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(merchant.id))
