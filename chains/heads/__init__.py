"""Notifications of new blocks. They are hints: the code that they wake queries the nodes itself."""
