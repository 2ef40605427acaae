"""Transactions that the operator's account signs as the fee payer."""
