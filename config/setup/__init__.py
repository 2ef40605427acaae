"""`manage.py setup`: write the settings of a new deployment. It needs no settings and no Django."""
