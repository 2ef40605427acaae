"""The local world's rate sources: APIs like those of Coinbase and Kraken, and price feeds on the first chain.

`python -m demo.rates` runs them. Switches change prices, and freeze or break a source.
"""
