"""Settings from the environment: declared once in `declared`, and checked together.

django-environ stops at the first wrong value and quotes it. Here an operator sees every fault at once, and no log shows
a secret.
"""

from config.environment.start import load, load_or_exit, print_and_exit
from config.environment.wrong import SettingsError

__all__ = ["SettingsError", "load", "load_or_exit", "print_and_exit"]
