"""Swaps in progress: poll the providers for their status, and verify the deliveries that they report."""
