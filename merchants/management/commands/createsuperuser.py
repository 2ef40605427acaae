"""`manage.py createsuperuser`: Django's command, which also writes to the security log."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from merchants.staff import audit


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        with audit.of_saved_users(audit.What.USER_MADE, detail="operator"):
            return super().handle(*args, **options)
