from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chains.client import ChainError
from payments.deposits.looks import look_now
from payments.models import PaymentRequest
from payments.requests.reading import find_any, find_by_shortcode


class Command(BaseCommand):
    help = (
        "Search for all that arrived at a payment request's deposit address, at once, and print how many payments were "
        "found that were not known before."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("request", metavar="REQUEST", help="id or shortcode of the payment request")

    def handle(self, *args: Any, **options: Any) -> None:
        request = _find(options["request"])
        if request is None:
            raise CommandError(f"There is no payment request {options['request']!r}.")
        try:
            look = look_now(request)
        except (LookupError, ChainError) as error:
            raise CommandError(f"{request.pk}: {error}") from error
        self.stdout.write(str(look.found))


def _find(text: str) -> PaymentRequest | None:
    try:
        return find_any(UUID(text))
    except ValueError:
        return find_by_shortcode(text)
