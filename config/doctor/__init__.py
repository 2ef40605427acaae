"""`manage.py doctor`: checks of a deployment, each in the app that owns the matter (`settings.DOCTOR_CHECKS`)."""
