"""The client of LI.FI (https://docs.li.fi): quotes for an exact output, the status of swaps, and tokens with
prices.

`quotes`, `status` and `lists` parse its responses. The API key is sent only in a header and only to `LIFI_API_URL`.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from payments.providers import reading
from payments.providers.base import (
    ListedToken,
    NoOffer,
    NoOfferCode,
    Offer,
    Order,
    ProviderDown,
    SwapState,
    SwapStatus,
    Wanted,
)
from payments.providers.budget import spend_quote
from payments.providers.http import Answer, JsonApi
from payments.providers.lifi.lists import chains_from, tokens_from
from payments.providers.lifi.quotes import PROVIDER, no_offer_from, offer_from
from payments.providers.lifi.status import is_invalid, status_from

logger = logging.getLogger(__name__)

QUOTE_SECONDS = 10.0
LIST_SECONDS = 20.0
MAX_LIST_BYTES = 32 * 1024 * 1024
CHAINS_KNOWN_SECONDS = 3600.0
_CHAIN_TYPES = "EVM,SVM"
_ORDERS = {Order.CHEAPEST: "CHEAPEST", Order.FASTEST: "FASTEST"}

# The meanings of LI.FI's error codes. For any other code, the HTTP status decides.
_NO_ROUTE = frozenset({1002, 1003, 1004, 1011})
_PRICE_MOVED = 1007
_DOWN = frozenset({1000, 1001, 1005, 1006, 1008, 1009, 1010, 1012, 1013})
_NO_ROUTE_STATUSES = frozenset({400, 404, 422})
_PRICE_MOVED_STATUS = 409
_QUOTE = "/quote/toAmount"


class LifiProvider:
    """`integrator` is our name at LI.FI. Thread-safe."""

    key = PROVIDER

    def __init__(self, api_url: str, api_key: str, integrator: str) -> None:
        headers = {"x-lifi-api-key": api_key} if api_key else {}
        self._api = JsonApi(PROVIDER, api_url, headers=headers, request_id_header="x-lifi-requestid")
        self._integrator = integrator
        self._served: tuple[frozenset[int], float] | None = None

    def quote(self, wanted: Wanted) -> Offer:
        """Return an offer for which LI.FI guarantees at least `wanted.amount`.

        Makes one call of at most 10 seconds, or no call if the quota is used up. Raises NoOffer and ProviderDown.
        """
        if not self._may_serve(wanted.source.chain_id, wanted.target.chain_id):
            raise NoOffer(NoOfferCode.NO_ROUTE)
        self._api.require_available(_QUOTE)  # a call that isn't made must not use the quota
        spend_quote(PROVIDER, wanted.shares)
        response = self._api.get(_QUOTE, self._quote_request(wanted), seconds=QUOTE_SECONDS)
        if response.status < 300:
            return offer_from(response.body)
        raise _refusal(response)

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        """Return UNKNOWN if LI.FI doesn't find the swap."""
        query = {
            "txHash": source_hash,
            "fromChain": str(tracking["from_chain"]),
            "toChain": str(tracking["to_chain"]),
        }
        response = self._api.get("/status", query | _bridge(tracking))
        if _bridge(tracking) and (response.status == 400 or is_invalid(response.body)):
            response = self._api.get("/status", query)
        if response.status in (400, 404):
            return SwapStatus(SwapState.UNKNOWN, "NOT_FOUND")
        if response.status >= 300:
            raise ProviderDown(f"/status returned HTTP {response.status}")
        return status_from(response.body, tracking, source_hash)

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        served = self._served_among(chain_ids)
        if not served:
            return []
        query = {"chains": ",".join(map(str, sorted(served))), "chainTypes": _CHAIN_TYPES}
        response = self._api.get("/tokens", query, seconds=LIST_SECONDS, most_bytes=MAX_LIST_BYTES)
        if response.status >= 300:
            raise ProviderDown(f"/tokens returned HTTP {response.status}")
        return tokens_from(response.body, served)

    def _quote_request(self, wanted: Wanted) -> dict[str, str]:
        source, target = wanted.source, wanted.target
        return {
            "fromChain": str(source.chain_id),
            "fromToken": source.token or reading.native_coin(source.account),
            "fromAddress": source.account,
            "toChain": str(target.chain_id),
            "toToken": target.token or reading.native_coin(target.account),
            # Without `toAddress`, LI.FI delivers to the payer.
            "toAddress": target.account,
            "toAmount": str(wanted.amount),
            "order": _ORDERS[wanted.order],
            "slippage": f"{wanted.slippage:f}",
            "integrator": self._integrator,
        }

    def _may_serve(self, *chain_ids: int) -> bool:
        """Return True for every chain if LI.FI's list of chains is unknown or old."""
        if self._served is None:
            return True
        served, until = self._served
        return time.monotonic() >= until or served.issuperset(chain_ids)

    def _served_among(self, chain_ids: Sequence[int]) -> frozenset[int]:
        """Return which of these chains LI.FI serves. If LI.FI's list is unavailable, return all of them."""
        now = time.monotonic()
        if self._served is None or now >= self._served[1]:
            try:
                self._served = (self._asked_chains(), now + CHAINS_KNOWN_SECONDS)
            except ProviderDown as error:
                logger.warning("the chains of LI.FI could not be fetched: %s", error)
        return frozenset(chain_ids) & self._served[0] if self._served else frozenset(chain_ids)

    def _asked_chains(self) -> frozenset[int]:
        response = self._api.get("/chains", {"chainTypes": _CHAIN_TYPES})
        if response.status >= 300:
            raise ProviderDown(f"/chains returned HTTP {response.status}")
        return chains_from(response.body)


def _bridge(tracking: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameter `bridge` of a status query. Only cross-chain swaps have one."""
    is_across = tracking["from_chain"] != tracking["to_chain"]
    return {"bridge": str(tracking["tool"])} if is_across else {}


def _code(response: Answer) -> int | None:
    code = response.body.get("code") if isinstance(response.body, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _is_moved(response: Answer) -> bool:
    """Whether the price moved too much while LI.FI was quoting."""
    return _code(response) == _PRICE_MOVED or response.status == _PRICE_MOVED_STATUS


def _refusal(response: Answer) -> NoOffer | ProviderDown:
    """Decide whether a 4xx response means "no route" or "no usable response"."""
    code = _code(response)
    if code == 1010 or response.status in (401, 403):
        logger.error("LI.FI does not accept this deployment's key")
        return ProviderDown("/quote/toAmount rejected the API key")
    if _is_moved(response):
        return ProviderDown("the price moved during /quote/toAmount")
    is_no_route = code in _NO_ROUTE or (code not in _DOWN and response.status in _NO_ROUTE_STATUSES)
    if is_no_route and isinstance(response.body, dict):
        return no_offer_from(response.body)
    return ProviderDown(f"/quote/toAmount returned HTTP {response.status}, code {code}")
