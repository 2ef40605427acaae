"""Searches for transactions on an EVM chain."""
