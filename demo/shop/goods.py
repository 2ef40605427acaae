"""The goods of Harbour Coffee.

Prices are decimal strings, in the shop's token or in a currency. Money is never a float.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Good:
    slug: str
    name: str
    unit: str
    price: str
    blurb: str
    currency: str = ""
    """The currency of the price, or empty for the shop's token. A currency is converted when the order is paid."""
    at_kiosk: bool = False
    """Sold by the kiosk across the harbour. Customers pay the kiosk on another chain."""


GOODS = {
    good.slug: good
    for good in (
        Good(
            slug="night-ferry",
            name="Night Ferry beans",
            unit="250 g, whole bean",
            price="12.50",
            blurb="Our house espresso. Dark cocoa, toasted hazelnut and a little orange peel.",
        ),
        Good(
            slug="filter-papers",
            name="Filter papers, size 02",
            unit="100 unbleached cones",
            price="4.20",
            blurb="Oxygen-cleaned paper that tastes of nothing at all. Rinse it anyway.",
        ),
        Good(
            slug="deckhand-mug",
            name="Deckhand mug",
            unit="350 ml, enamelled steel",
            price="18.00",
            blurb="Dropped off the pier twice and still going. A bit lighter than it looks.",
            at_kiosk=True,
        ),
        Good(
            slug="tide-table",
            name="Tide table for the wall",
            unit="50 × 70 cm, letterpress",
            price="25.00",
            blurb="A year of high water at Pier 4. Printed on the continent, so it is priced in euros.",
            currency="EUR",
        ),
    )
}
