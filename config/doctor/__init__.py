"""`manage.py doctor`: checks of a deployment, each in the app that owns the matter (`settings.DOCTOR_CHECKS`).

Each check finds a fault that no process reports by itself: `test_doctor_names_each_thing_that_breaks` and
`test_doctor_names_servers_that_are_gone_and_goes_on` break a deployment, `tests/unit/config/doctor` breaks the rest.
"""
