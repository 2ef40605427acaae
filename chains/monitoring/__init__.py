"""Monitoring of chains and nodes: the checks of `manage.py doctor`, and metrics."""
