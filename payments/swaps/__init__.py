"""Paying with another token: what is offered, how it binds, what became of it. Providers are spoken to in `routing`."""
