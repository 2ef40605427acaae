"""Parse Relay's status of a swap, and its list of tokens. Source: Relay's API reference."""

from collections.abc import Collection, Mapping
from typing import Any

from payments.providers import reading
from payments.providers.base import ListedToken, ProviderDown, SwapState, SwapStatus
from payments.providers.relay.chains import chain_numbered, number_of

# `unknown` means that Relay has not seen the deposit yet. Any status that is not listed here counts as BRIDGING.
_STATES = {
    "unknown": SwapState.UNKNOWN,
    "waiting": SwapState.AWAITING_SOURCE,
    "success": SwapState.DELIVERED,
    "refund": SwapState.REFUNDED,
    "failure": SwapState.FAILED,
}
# If a refund failed for one of these reasons, the customer must claim the money.
_TO_CLAIM = ("MANUAL_REFUND_REQUIRED", "REFUND_RECIPIENT_IS_VASP")
_MAX_HASHES = 50
_MAX_CHAINS = 500
_MAX_TOKENS = 500

Json = Mapping[str, Any]


def status_from(body: Any, tracking: Json, source_hash: str, *, explorer_url: str) -> SwapStatus:
    """Parse Relay's status of the swap that `source_hash` started.

    The swap is UNKNOWN if the response lists deposits, but not the deposit `source_hash`. Raises ProviderDown for a
    delivery without its transaction.
    """
    fields = reading.members(body, "status")
    status = reading.word(fields.get("status"), "status")
    reason = _reason(fields)
    raw = f"{status}/{reason}"[: reading.LONGEST_WORD] if reason else status
    deposits = [
        reading.transaction_hash(hash_, "source hash")
        for hash_ in reading.items(fields.get("inTxHashes"), "source hashes", limit=_MAX_HASHES)
    ]
    if deposits and source_hash not in deposits:
        return SwapStatus(SwapState.UNKNOWN, raw)
    state = _STATES.get(status, SwapState.BRIDGING)
    if state == SwapState.FAILED and fields.get("refundFailReason") in _TO_CLAIM:
        state = SwapState.NEEDS_CLAIM
    if state != SwapState.DELIVERED:
        return SwapStatus(state, raw, explorer_url=explorer_url)
    deliveries = reading.items(fields.get("txHashes"), "delivery's hashes", limit=_MAX_HASHES)
    if not deliveries:
        raise reading.malformed("delivery's hashes")
    reported_chain = fields.get("destinationChainId")
    return SwapStatus(
        state,
        raw,
        destination_chain_id=tracking["to_chain"]
        if reported_chain is None
        else chain_numbered(reported_chain, "delivery's chain"),
        destination_hash=reading.transaction_hash(deliveries[-1], "delivery's hash"),
        explorer_url=explorer_url,
    )


def _reason(fields: Json) -> str:
    """Return Relay's own reason for a failure, or "". Relay writes N/A if there is none."""
    reason = fields.get("failReason")
    return "" if reason in (None, "", "N/A") else reading.word(reason, "reason")


def delivered_from(body: Any, request_id: str) -> tuple[str, int] | None:
    """Return the delivered token and amount from Relay's list of requests, or None. Relay's status has neither.

    Raises ProviderDown if the list is malformed.
    """
    for one in reading.items(
        reading.members(body, "requests").get("requests"), "requests", limit=_MAX_HASHES
    ):
        fields = reading.members(one, "request")
        if str(fields.get("id")).lower() == request_id:
            break
    else:
        return None
    for step in ("data", "route", "actual", "destination", "outputCurrency"):
        value = fields.get(step)
        if value is None:
            return None
        fields = reading.members(value, step)
    token = reading.members(fields.get("currency"), "delivered token")
    return reading.token(token.get("address"), "delivered token"), reading.amount(
        fields.get("amount"), "delivered amount"
    )


def tokens_from(body: Any, chain_ids: Collection[int]) -> list[ListedToken]:
    """Return the tokens that Relay accepts on these chains, without prices.

    `body` is Relay's list of chains; each chain lists its tokens.

    Disabled chains and malformed entries are skipped.
    """
    numbers = {number_of(chain_id): chain_id for chain_id in chain_ids}
    tokens = []
    for chain in reading.items(reading.members(body, "chains").get("chains"), "chains", limit=_MAX_CHAINS):
        fields = chain if isinstance(chain, dict) else {}
        number = fields.get("id")
        chain_id = numbers.get(number) if type(number) is int else None
        if chain_id is None or fields.get("disabled") is True or fields.get("depositEnabled") is False:
            continue
        listed = fields.get("solverCurrencies")
        for token in listed[:_MAX_TOKENS] if isinstance(listed, list) else ():
            made = _listed(token, chain_id)
            if made:
                tokens.append(made)
    return tokens


def _listed(token: Any, chain_id: int) -> ListedToken | None:
    try:
        fields = reading.members(token, "token")
        return ListedToken(
            chain_id=chain_id,
            token=reading.token(fields.get("address"), "address"),
            symbol=reading.shown(fields.get("symbol"), limit=32),
            name=reading.shown(fields.get("name"), limit=100),
            decimals=reading.whole(fields.get("decimals"), "decimals", limit=reading.MAX_DECIMALS),
            usd=None,
        )
    except ProviderDown:
        return None
