"""A routing provider for the local world and the tests: LI.FI's interface, over tokens that really move.

Contracts take the customer's money on one local chain, an executor delivers on another, and switches make it fail in
every way that a provider can. It is not part of the product, which only knows its URL.
"""
