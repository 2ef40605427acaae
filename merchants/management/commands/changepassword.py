"""`manage.py changepassword`: Django's own, with an entry in the security log."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from merchants.staff import audit


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        """Change the password, and write to the security log whose it was."""
        with audit.of_saved_users(audit.What.PASSWORD_CHANGED):
            return super().handle(*args, **options)
