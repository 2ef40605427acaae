"""A routing provider for the local world and the tests: LI.FI's interface, over tokens that really move.

Contracts take the customer's money on one local chain, an executor delivers on another, and switches make it fail in
every way that a provider can. It stands outside the product, which knows it by its address alone.
"""
