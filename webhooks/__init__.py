"""Webhooks: sealed event envelopes, each merchant's endpoint, and their delivery (spec 6, contract 9)."""
