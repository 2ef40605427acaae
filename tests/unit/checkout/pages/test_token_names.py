"""How pages name a token."""

from django.utils.html import strip_tags

from checkout.templatetags.languages import named


def test_coin_named_by_its_symbol_is_not_named_twice() -> None:
    assert strip_tags(named({"name": "USD Coin", "symbol": "USDC"})) == "USD Coin (USDC)"
    assert strip_tags(named({"name": "SOL", "symbol": "SOL"})) == "SOL"
