"""Monitoring of chains and nodes: the checks of `manage.py doctor` and of catalogues, and metrics."""
