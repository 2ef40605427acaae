from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from merchants.services import MerchantNotFound, find_merchant
from merchants.staff.roles import MEMBER_ROLES
from merchants.team.invitations import NotInvitable, invite


class Command(BaseCommand):
    help = (
        "Invite a person to a merchant's team and print only the link. It works once, within 7 days; the person "
        "chooses the password there. No e-mail is sent."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "merchant", metavar="MERCHANT", help="the merchant's id, or its exact name if the name is unique"
        )
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--role", required=True, choices=[role.name.lower() for role in MEMBER_ROLES])

    def handle(self, *args: Any, **options: Any) -> None:
        roles = {role.name.lower(): role for role in MEMBER_ROLES}
        try:
            validate_email(options["email"])
            merchant = find_merchant(options["merchant"])
            invited = invite(options["email"], roles[options["role"]], merchant, request=None)
        except ValidationError as error:
            raise CommandError(f"{options['email']!r}: {' '.join(error.messages)}") from error
        except (MerchantNotFound, NotInvitable) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(invited.link)
