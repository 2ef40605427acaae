#!/usr/bin/env python
"""Django's command line. `./manage.py help` lists Django's commands and those of the service."""

import os
import sys


def main() -> None:
    """Run one management command."""
    if sys.argv[1:2] == ["setup"]:  # this command writes the settings that all others need
        from config.setup.command import main as set_up

        sys.exit(set_up(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    from config.environment import SettingsError, print_and_exit

    try:
        execute_from_command_line(sys.argv)
    except SettingsError as error:
        if sys.argv[1:2] == ["doctor"] and "--json" in sys.argv:
            from config.doctor.running import of_settings

            print(of_settings(error).as_json())
        print_and_exit(error)


if __name__ == "__main__":
    main()
