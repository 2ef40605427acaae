"""Relay: quotes by output, status by request id. It takes its own currencies on each chain and delivers any token.

Source: Relay's API reference. The settlement protocol's orders are asked for with each quote, since an offer is judged
by them; swaps before the deposit are switched off, since they go through contracts whose calls can't be read.
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
_REQUEST_ID = re.compile(r"0x[0-9a-f]{64}")
_TESTNETS = "https://api.testnets."


class RelayProvider:
    """Relay, asked with this deployment's key or without one. Threads may share it."""

    key = PROVIDER
    # The same question has the same answer here, whatever is wanted most.
    has_orders = False

    def __init__(self, api_url: str, api_key: str, *, clock: Callable[[], float] = time.time) -> None:
        self._api = JsonApi(self.key, api_url, headers={"x-api-key": api_key} if api_key else {})
        self._may_list_requests = bool(api_key)
        self._clock = clock
        is_testnet = api_url.startswith(_TESTNETS)
        self._explorer = f"https://{'testnets.' if is_testnet else ''}relay.link/transaction/"

    def quote(self, wanted: Wanted) -> Offer:
        """Return Relay's offer, as `RoutingProvider` promises.

        Ways that stay on one chain are not asked for: their calls can't be read either.
        """
        question = _question(wanted)
        spend_quote(self.key, wanted.asked_by)
        answer = self._api.post("/quote/v2", question)
        if answer.status >= 400:
            raise no_offer_from(answer.status, answer.body)
        return offer_from(answer.body, now=self._clock())

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        """Return what became of a swap, as `RoutingProvider` promises. What was delivered is told with a key alone."""
        request_id = str(tracking["request_id"])
        if not _REQUEST_ID.fullmatch(request_id):
            raise ValueError("this is no request of Relay's")
        answer = self._api.get("/intents/status/v3", {"requestId": request_id})
        if answer.status == _NOT_FOUND:
            return SwapStatus(SwapState.UNKNOWN, "not found")
        if answer.status >= 400:
            raise ProviderDown(f"Relay refused to tell a status with HTTP {answer.status}")
        status = status_from(answer.body, tracking, source_hash, explorer_url=self._explorer + request_id)
        if status.state == SwapState.DELIVERED and self._may_list_requests:
            return self._with_delivery(status, tracking, request_id)
        return status

    def _with_delivery(self, status: SwapStatus, tracking: Mapping[str, Any], request_id: str) -> SwapStatus:
        """Return the status with what was delivered; without, where Relay does not tell: our own node does."""
        try:
            answer = self._api.get("/requests/v3", {"id": request_id})
            delivered = delivered_from(answer.body, request_id) if answer.status < 400 else None
        except ProviderDown:
            return status
        if delivered is None:
            return status
        token, amount = delivered
        is_wanted = token == tracking["to_token"]
        state = SwapState.DELIVERED if is_wanted else SwapState.DELIVERED_OTHER_TOKEN
        return replace(status, state=state, destination_token=token, destination_amount=amount)

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        """Return the tokens that Relay takes on these chains, without prices."""
        answer = self._api.get("/chains", {})
        if answer.status >= 400:
            raise ProviderDown(f"Relay refused to list its chains with HTTP {answer.status}")
        return tokens_from(answer.body, chain_ids)


def _question(wanted: Wanted) -> dict[str, Any]:
    """Return the body of a request for a quote. Raises NoOffer where Relay is not asked."""
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
        # Delivers no less than `amount`, or refunds; what is over goes to the recipient.
        "tradeType": "EXACT_OUTPUT",
        "enableTrueExactOutput": False,
        "slippageTolerance": str(int(wanted.slippage * 10_000)),
        "includeProtocolData": True,
        "explicitDeposit": True,
        "disableOriginSwaps": True,
        "usePermit": False,
    }
