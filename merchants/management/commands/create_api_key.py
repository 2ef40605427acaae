import re
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from merchants.models import Permission
from merchants.services import MerchantNotFound, find_merchant, issue_key
from merchants.staff import audit

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class Command(BaseCommand):
    help = "Create an API key and print only the key. It is not stored and can't be shown again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "merchant", metavar="MERCHANT", help="the merchant's id, or its exact name if the name is unique"
        )
        parser.add_argument(
            "--permissions",
            default="",
            help=f"separated by commas, of {', '.join(Permission.values)}; read only if left out",
        )
        parser.add_argument("--name", default="", help="purpose of the key")
        parser.add_argument(
            "--expires-in",
            default="",
            help="lifetime of the key, such as 90d, 12h or 30m (default: the key doesn't expire)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        lifetime = _lifetime(options["expires_in"])
        permissions = [name.strip() for name in options["permissions"].split(",") if name.strip()]
        try:
            with transaction.atomic():
                row, key = issue_key(
                    merchant=find_merchant(options["merchant"]),
                    permissions=permissions,
                    name=options["name"],
                    expires_at=timezone.now() + lifetime if lifetime else None,
                )
                detail = f"{row.merchant}: {row.rights}"
                audit.note(None, audit.What.KEY_ISSUED, subject=row, detail=detail)
        except (MerchantNotFound, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(key)


def _lifetime(text: str) -> timedelta | None:
    if not text:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,4})([mhd])", text)
    if match is None:
        raise CommandError("--expires-in should be a number and m, h or d, such as 90d")
    return int(match[1]) * _UNITS[match[2]]
