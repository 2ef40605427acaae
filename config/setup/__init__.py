"""`manage.py setup`: write the settings of a new deployment. Runs without settings and without Django."""
