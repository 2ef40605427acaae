"""Prices in a currency: exchange rates, and the amounts of tokens that follow from them."""
