from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from merchants.services import MerchantNotFound, find_merchant
from merchants.web_addresses import parse_origin


class Command(BaseCommand):
    help = "Change a merchant's settings: binding references, and who may frame its checkout."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("merchant", metavar="MERCHANT", help="an id or an exact, unique name")
        parser.add_argument("--references", choices=("on", "off"))
        parser.add_argument(
            "--embed-origin", action="append", metavar="URL", help="may be given more than once"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            merchant = find_merchant(options["merchant"])
        except MerchantNotFound as error:
            raise CommandError(str(error)) from error
        changed = []
        if options["references"]:
            merchant.references = options["references"] == "on"
            changed.append("references")
        if options["embed_origin"]:
            merchant.embed_origins = [_origin(url) for url in options["embed_origin"]]
            changed.append("embed_origins")
        merchant.save(update_fields=changed)


def _origin(url: str) -> str:
    try:
        return parse_origin(url, allow_http=settings.ALLOW_HTTP_URLS)
    except ValueError as error:
        raise CommandError(str(error)) from error
