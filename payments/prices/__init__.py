"""Prices in the merchant's currency: exchange rates, and the token amounts that follow from them."""
