"""The local world's rate sources: last trades as Coinbase and Kraken report them, and price feeds on the first chain.

`python -m demo.rates` runs them. Switches move prices, and freeze and break each source.
"""
