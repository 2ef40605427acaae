"""The WSGI entry point that the web process serves."""

import os

from django.core.wsgi import get_wsgi_application

from config.environment import SettingsError, print_and_exit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# If a worker exits with this code, gunicorn stops instead of starting another worker.
_WORKER_BOOT_ERROR = 3

try:
    application = get_wsgi_application()
except SettingsError as error:
    print_and_exit(error, code=_WORKER_BOOT_ERROR)
