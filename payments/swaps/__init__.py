"""Swaps in progress: poll the providers for their status, and verify the reported deliveries."""
