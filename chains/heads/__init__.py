"""Notifications of new blocks. Notifications are only hints: the code that they wake queries the nodes itself."""
