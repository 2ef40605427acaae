"""What Relay says has become of a swap, and which tokens it takes. Source: Relay's API reference."""

from collections.abc import Collection, Mapping
from typing import Any

from payments.providers import reading
from payments.providers.base import ListedToken, ProviderDown, SwapState, SwapStatus
from payments.providers.relay.chains import chain_numbered, number_of

# `unknown` is what it says before it has seen anything; a word that is not known here means that it is on its way.
_STATES = {
    "unknown": SwapState.UNKNOWN,
    "waiting": SwapState.AWAITING_SOURCE,
    "success": SwapState.DELIVERED,
    "refund": SwapState.REFUNDED,
    "failure": SwapState.FAILED,
}
# Why it could not refund, where somebody has to ask for the money.
_TO_CLAIM = ("MANUAL_REFUND_REQUIRED", "REFUND_RECIPIENT_IS_VASP")
_MOST_HASHES = 50
_MOST_CHAINS = 500
_MOST_TOKENS = 500

Json = Mapping[str, Any]


def status_from(body: Any, tracking: Json, source_hash: str, *, explorer_url: str) -> SwapStatus:
    """Return what Relay's status says of the swap that `source_hash` began.

    A request whose deposits are told, and this one is not among them, is UNKNOWN. Raises ProviderDown for a delivery of
    which it does not tell where.
    """
    said = reading.members(body, "status")
    status = reading.word(said.get("status"), "status")
    reason = _reason(said)
    raw = f"{status}/{reason}"[: reading.LONGEST_WORD] if reason else status
    deposits = [
        reading.transaction_hash(told, "source hash")
        for told in reading.items(said.get("inTxHashes"), "source hashes", most=_MOST_HASHES)
    ]
    if deposits and source_hash not in deposits:
        return SwapStatus(SwapState.UNKNOWN, raw)
    state = _STATES.get(status, SwapState.BRIDGING)
    if state == SwapState.FAILED and said.get("refundFailReason") in _TO_CLAIM:
        state = SwapState.NEEDS_CLAIM
    if state != SwapState.DELIVERED:
        return SwapStatus(state, raw, explorer_url=explorer_url)
    deliveries = reading.items(said.get("txHashes"), "delivery's hashes", most=_MOST_HASHES)
    if not deliveries:
        raise reading.malformed("delivery's hashes")
    told_chain = said.get("destinationChainId")
    return SwapStatus(
        state,
        raw,
        destination_chain_id=tracking["to_chain"]
        if told_chain is None
        else chain_numbered(told_chain, "delivery's chain"),
        destination_hash=reading.transaction_hash(deliveries[-1], "delivery's hash"),
        explorer_url=explorer_url,
    )


def _reason(said: Json) -> str:
    """Return why it failed, as Relay's own word; it writes N/A for none."""
    told = said.get("failReason")
    return "" if told in (None, "", "N/A") else reading.word(told, "reason")


def delivered_from(body: Any, request_id: str) -> tuple[str, int] | None:
    """Return the token and the amount that the list of requests says were delivered, None where it does not say.

    The request's list is asked for them since the status does not tell. Raises ProviderDown where it makes no sense.
    """
    for one in reading.items(
        reading.members(body, "requests").get("requests"), "requests", most=_MOST_HASHES
    ):
        said = reading.members(one, "request")
        if str(said.get("id")).lower() == request_id:
            break
    else:
        return None
    for step in ("data", "route", "actual", "destination", "outputCurrency"):
        found = said.get(step)
        if found is None:
            return None
        said = reading.members(found, step)
    token = reading.members(said.get("currency"), "delivered token")
    return reading.token(token.get("address"), "delivered token"), reading.amount(
        said.get("amount"), "delivered amount"
    )


def tokens_from(body: Any, chain_ids: Collection[int]) -> list[ListedToken]:
    """Return the tokens that Relay takes itself on these chains, from its list of chains; it tells no prices there.

    Chains that it has switched off, and what makes no sense, are left out.
    """
    numbers = {number_of(chain_id): chain_id for chain_id in chain_ids}
    found = []
    for chain in reading.items(reading.members(body, "chains").get("chains"), "chains", most=_MOST_CHAINS):
        said = chain if isinstance(chain, dict) else {}
        number = said.get("id")
        chain_id = numbers.get(number) if type(number) is int else None
        if chain_id is None or said.get("disabled") is True or said.get("depositEnabled") is False:
            continue
        listed = said.get("solverCurrencies")
        for token in listed[:_MOST_TOKENS] if isinstance(listed, list) else ():
            made = _listed(token, chain_id)
            if made:
                found.append(made)
    return found


def _listed(token: Any, chain_id: int) -> ListedToken | None:
    try:
        said = reading.members(token, "token")
        return ListedToken(
            chain_id=chain_id,
            token=reading.token(said.get("address"), "address"),
            symbol=reading.shown(said.get("symbol"), most=32),
            name=reading.shown(said.get("name"), most=100),
            decimals=reading.whole(said.get("decimals"), "decimals", most=reading.MOST_DECIMALS),
            usd=None,
        )
    except ProviderDown:
        return None
