"""`manage.py doctor`: checks of a deployment, each in the app that owns the matter (`settings.DOCTOR_CHECKS`).

Each check finds a fault that no process reports by itself: `test_doctor_names_each_broken_part` and
`test_doctor_names_stopped_servers_and_continues` break a deployment, `tests/unit/config/doctor` breaks the rest.
"""
