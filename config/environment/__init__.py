"""Settings from the environment: declared once in `declared`, checked together, and rejected together by name.

django-environ stops at the first wrong value and quotes it. Here an operator sees every fault at once
(`test_all_faults_are_reported_at_once_each_in_a_line_of_its_own`), and no log shows a secret
(`test_it_ends_with_one_line_per_fault_and_no_secret`).
"""

from config.environment.start import load, load_or_exit, print_and_exit
from config.environment.wrong import SettingsError

__all__ = ["SettingsError", "load", "load_or_exit", "print_and_exit"]
