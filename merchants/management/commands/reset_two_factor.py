"""`manage.py reset_two_factor USER`: remove a user's second factor.

Use this command if the only operator has lost both the phone and the recovery codes. For other users, an operator can
reset the second factor in the portal.
"""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from merchants.sign_in import two_factor
from merchants.staff import audit


class Command(BaseCommand):
    help = "Reset a portal user's second factor. The user sets up a new one at the next sign-in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user name for signing in")

    def handle(self, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user called {options['user']!r}.")
        with transaction.atomic():
            two_factor.remove(user)
            audit.note(None, audit.What.TWO_FACTOR_RESET, subject=user)
        self.stdout.write(f"{user} can now sign in with the password and set up a new phone.")
