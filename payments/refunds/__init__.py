"""Refunds: what can be refunded, the status of each refund, and its changes."""
