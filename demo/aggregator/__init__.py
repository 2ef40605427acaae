"""A routing provider for the local world and the tests, which has LI.FI's API, and really moves tokens.

Contracts take the customer's money on one local chain, and an executor delivers on another chain. Switches make the
aggregator fail in every way in which a provider can fail. The product only knows the aggregator's URL.
"""
