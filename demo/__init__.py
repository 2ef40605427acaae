"""The demonstration: a local world, a shop that takes payments and a wallet that makes them.

Nothing in the product imports it; a deployment does not need it.
"""
