"""The demonstration: a local world, a shop, and a wallet to pay with.

The product doesn't import it, and deployments don't need it.
"""
