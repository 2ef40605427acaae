"""`manage.py changepassword`: Django's command, which also writes to the security log."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from merchants.staff import audit


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        """Change the password. Write an entry with the user's name to the security log."""
        with audit.of_saved_users(audit.What.PASSWORD_CHANGED):
            return super().handle(*args, **options)
