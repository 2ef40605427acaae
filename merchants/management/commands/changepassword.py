"""`manage.py changepassword`: Django's own, with an entry in the security log."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from merchants.staff import audit


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        """Change the password, and record the user. The entry contains no password."""
        with audit.of_saved_users(audit.What.PASSWORD_CHANGED):
            return super().handle(*args, **options)
