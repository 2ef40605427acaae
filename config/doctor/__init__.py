"""`manage.py doctor`: checks of a deployment (`settings.DOCTOR_CHECKS`), each for a fault that no process reports."""
