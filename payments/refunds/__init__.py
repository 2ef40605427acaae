"""Refunds: the refundable amounts, the status of each, and its changes."""
