"""The client of Relay (see its API reference): quotes for an exact output, and status by request id.

Relay accepts only tokens that it lists on each chain, but delivers any token. Each quote contains an order of
Relay's settlement protocol, and the offer is checked against it. Swaps before the deposit are disabled, because
their calls can't be decoded.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from payments.providers import reading
from payments.providers.base import (
    ListedToken,
    NoOffer,
    NoOfferCode,
    Offer,
    ProviderDown,
    SwapState,
    SwapStatus,
    Wanted,
)
from payments.providers.budget import spend_quote
from payments.providers.http import JsonApi
from payments.providers.relay.chains import number_of
from payments.providers.relay.quotes import PROVIDER, no_offer_from, offer_from
from payments.providers.relay.status import delivered_from, status_from, tokens_from

_NOT_FOUND = 404
_QUOTE = "/quote/v2"
_REQUEST_ID = re.compile(r"0x[0-9a-f]{64}")
_TESTNETS = "https://api.testnets."


class RelayProvider:
    """Works without an API key. Thread-safe."""

    key = PROVIDER
    # Relay offers no choice between cheap and fast routes.
    has_orders = False

    def __init__(self, api_url: str, api_key: str, *, clock: Callable[[], float] = time.time) -> None:
        self._api = JsonApi(self.key, api_url, headers={"x-api-key": api_key} if api_key else {})
        self._may_list_requests = bool(api_key)
        self._clock = clock
        is_testnet = api_url.startswith(_TESTNETS)
        self._explorer = f"https://{'testnets.' if is_testnet else ''}relay.link/transaction/"

    def quote(self, wanted: Wanted) -> Offer:
        """Request an offer. Single-chain routes are not requested, because their calls can't be decoded."""
        body = _quote_request(wanted)
        self._api.require_available(_QUOTE)  # a call that isn't made must not use the quota
        spend_quote(self.key, wanted.shares)
        response = self._api.post(_QUOTE, body)
        if response.status >= 400:
            raise no_offer_from(response.status, response.body)
        return offer_from(response.body, now=self._clock())

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        """Return the swap's status. It has the delivered amount only if there is an API key."""
        request_id = str(tracking["request_id"])
        if not _REQUEST_ID.fullmatch(request_id):
            raise ValueError("not a request id of Relay")
        response = self._api.get("/intents/status/v3", {"requestId": request_id})
        if response.status == _NOT_FOUND:
            return SwapStatus(SwapState.UNKNOWN, "not found")
        if response.status >= 400:
            raise ProviderDown(f"Relay rejected a status request with HTTP {response.status}")
        status = status_from(response.body, tracking, source_hash, explorer_url=self._explorer + request_id)
        if status.state == SwapState.DELIVERED and self._may_list_requests:
            return self._with_delivery(status, tracking, request_id)
        return status

    def _with_delivery(self, status: SwapStatus, tracking: Mapping[str, Any], request_id: str) -> SwapStatus:
        """Add the delivered token and amount, if Relay returns them. Our own node verifies the delivery anyway."""
        try:
            response = self._api.get("/requests/v3", {"id": request_id})
            delivered = delivered_from(response.body, request_id) if response.status < 400 else None
        except ProviderDown:
            return status
        if delivered is None:
            return status
        token, amount = delivered
        is_wanted = token == tracking["to_token"]
        state = SwapState.DELIVERED if is_wanted else SwapState.DELIVERED_OTHER_TOKEN
        return replace(status, state=state, destination_token=token, destination_amount=amount)

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        """Return the tokens that Relay accepts on these chains, without prices."""
        response = self._api.get("/chains", {})
        if response.status >= 400:
            raise ProviderDown(f"Relay rejected the request for its chains with HTTP {response.status}")
        return tokens_from(response.body, chain_ids)


def _quote_request(wanted: Wanted) -> dict[str, Any]:
    """Return the body of a quote request. Raises NoOffer if a chain is not supported."""
    origin, destination = number_of(wanted.source.chain_id), number_of(wanted.target.chain_id)
    if origin is None or destination is None or origin == destination:
        raise NoOffer(NoOfferCode.NO_ROUTE)
    return {
        "user": wanted.source.account,
        "recipient": wanted.target.account,
        "refundTo": wanted.source.account,
        "originChainId": origin,
        "destinationChainId": destination,
        "originCurrency": wanted.source.token or reading.native_coin(wanted.source.account),
        "destinationCurrency": wanted.target.token or reading.native_coin(wanted.target.account),
        "amount": str(wanted.amount),
        # Relay delivers at least `amount`, or refunds. A surplus goes to the recipient.
        "tradeType": "EXACT_OUTPUT",
        "enableTrueExactOutput": False,
        "slippageTolerance": str(int(wanted.slippage * 10_000)),
        "includeProtocolData": True,
        "explicitDeposit": True,
        "disableOriginSwaps": True,
        "usePermit": False,
    }
