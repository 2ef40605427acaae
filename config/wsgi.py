"""The WSGI entry point that the web process serves."""

import os

from django.core.wsgi import get_wsgi_application

from config.environment import SettingsError, print_and_exit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# By this code of a worker gunicorn knows that none can start, and ends instead of starting another.
_WORKER_BOOT_ERROR = 3

try:
    application = get_wsgi_application()
except SettingsError as error:
    print_and_exit(error, code=_WORKER_BOOT_ERROR)
