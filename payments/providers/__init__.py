"""Routing providers: whoever takes what the customer has and delivers what the merchant asked for (spec 1).

`base` is the interface, one file each speaks for a provider, `acceptance` judges what they offer, `asking` turns to
them in order. Nothing here changes state.
"""
