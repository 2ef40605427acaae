"""Settings from the environment: declared once in `declared`, checked together, and refused together by name."""

from config.environment.start import load, load_or_exit, print_and_exit
from config.environment.wrong import SettingsError

__all__ = ["SettingsError", "load", "load_or_exit", "print_and_exit"]
