"""`manage.py doctor` checks a deployment for faults that no process reports.

`settings.DOCTOR_CHECKS` lists the checks.
"""
