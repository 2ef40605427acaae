"""Settings from the environment. `declared` lists them all.

The service reports all faults at once, and never prints a secret. (django-environ stops at the first wrong value and
prints it.)
"""

from config.environment.start import load, load_or_exit, print_and_exit
from config.environment.wrong import SettingsError

__all__ = ["SettingsError", "load", "load_or_exit", "print_and_exit"]
