"""What operators are shown of chains and their nodes: the checks of `manage.py doctor`, and metrics."""
