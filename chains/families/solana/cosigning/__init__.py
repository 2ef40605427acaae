"""Transactions whose fee payer is the operator's account: what it signs, and the queries about them."""
