"""Routing providers take the token that the customer has and deliver the one that the merchant asked for.

Each is a folder here: `provider.toml` has its name and settings, and `make` in its package returns its client. `base`
is the interface, `offer_checks` checks what they offer, `asking` asks them in order. Nothing here changes state.
"""
