"""Clients of routing providers. A provider takes the customer's token and delivers the requested one.

Each provider is a folder: `provider.toml` has its name and settings, and `make` in its package returns its client.
`base` is the interface, `offer_checks` checks offers, and `quoting` requests quotes. The package
`payments.providers` changes no payments.
"""
