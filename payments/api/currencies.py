"""Prices, rates and values in currencies, and the list of currencies."""

from typing import Annotated

from django.utils.cache import patch_cache_control
from drf_spectacular.utils import OpenApiResponse
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.answers import Answer, Time, doc
from config.api.errors import ErrorCode
from config.api.schema.operations import ArrayOf, described, operation
from payments.api import examples
from payments.prices.currencies import FRESH_SECONDS, Currency, currencies


@described("Price", "A price in a currency.", {"currency": "EUR", "amount": "25.00"})
class PriceObject(Answer, kw_only=True):
    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    amount: Annotated[str, doc("The amount as a decimal string, with the currency's fraction digits.")]


@described("Rate", "The exchange rate at which a price was converted.", examples.RATE)
class RateObject(Answer, kw_only=True):
    value: Annotated[
        str,
        doc(
            "The price of one token in `currency`, as a decimal string rounded down to 12 significant "
            "digits. It is for display only, because `amount` is computed from the exact rate."
        ),
    ]
    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    token: Annotated[str, doc("The coin whose exchange rate is the token's price, such as USDC.")]
    sources: Annotated[
        list[str],
        doc(
            "The sources that agree on the rate. `feeds:ID` means the price feeds on the chain with that id."
        ),
    ]
    observed_at: Annotated[Time, doc("The time of the rate's oldest observation. Daily sources don't count.")]


@described("Value", "A payment's value in a currency.", examples.VALUE)
class ValueObject(Answer, kw_only=True):
    """A payment's value in the merchant's reporting currency."""

    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    amount: Annotated[str, doc("The amount as a decimal string, rounded to the currency's fraction digits.")]
    rate: Annotated[
        str,
        doc(
            "The price of one token in the currency, as a decimal string rounded down to 12 significant "
            "digits."
        ),
    ]
    observed_at: Annotated[Time, doc("The time of the rate.")]
    estimated: Annotated[bool, doc("Whether the rate is from more than two minutes after completion.")]


@described(
    "Currency",
    "A currency that a price can be in.",
    {
        "code": "EUR",
        "sources": ["coinbase", "coinbase_rates", "coingecko", "ecb", "kraken"],
        "is_available": True,
    },
)
class CurrencyObject(Answer, kw_only=True):
    """A currency in which merchants can set prices on this deployment."""

    code: Annotated[str, doc("The ISO 4217 code, used as `price.currency`.", pattern="^[A-Z]{3}$")]
    sources: Annotated[
        list[str],
        doc(
            "The sources that list the currency. `feeds:ID` means the price feeds on the chain with that id."
        ),
    ]
    is_available: Annotated[
        bool, doc("Whether two independent sources agree on the currency's rate. Updated every minute.")
    ]

    @classmethod
    def of(cls, currency: Currency) -> "CurrencyObject":
        return cls(code=currency.code, sources=list(currency.sources), is_available=currency.is_available)


class CurrencyViewSet(viewsets.ViewSet):
    """The list of currencies. Needs no credentials."""

    authentication_classes = ()
    permission_classes = ()

    @operation(
        "currencies.list",
        tag="Catalogue",
        summary="List currencies",
        description=(
            "Lists the currencies that a price can be in, as a plain array. If no token has a price on this "
            "deployment, the array is empty. Caches can keep the response for a minute."
        ),
        errors=[ErrorCode.RATE_UNAVAILABLE],
        answers={200: OpenApiResponse(ArrayOf(CurrencyObject), "The currencies, by code.")},
    )
    def list(self, request: Request) -> Response:  # noqa: ARG002 - the viewset interface
        response = Response([CurrencyObject.of(each) for each in currencies()])
        patch_cache_control(response, public=True, max_age=FRESH_SECONDS)
        return response
