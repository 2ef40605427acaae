"""Notifications of new blocks. They are only hints: the code that they wake queries the nodes itself."""
