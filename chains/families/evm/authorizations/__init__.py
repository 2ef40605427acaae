"""Transfers that a payer only signs (EIP-3009)."""
