"""Refunds: what can be refunded, the status of each, and its changes."""
