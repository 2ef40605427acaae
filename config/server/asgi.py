"""The ASGI entry point of the `events` process, which serves only streams of status changes."""

import os

import django
from django.utils.module_loading import import_string

from config.environment import SettingsError, print_and_exit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

try:
    django.setup(set_prefix=False)
except SettingsError as error:
    print_and_exit(error)

application = import_string("checkout.streams.application.EventStreams")()
