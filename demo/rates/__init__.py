"""The local world's rate sources: tickers in the form of Coinbase's and Kraken's, and price feeds on the first chain.

`python -m demo.rates` runs them. Switches move prices, and freeze and break each source.
"""
