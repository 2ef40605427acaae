"""`manage.py setup`: write the settings of a new deployment. The command needs no settings and no Django."""
