"""Build a swap and its approvals for one atomic batch, which the wallet sends (EIP-5792)."""

from dataclasses import replace
from typing import Any

from chains.client import ChainClient, ChainError, EvmCall, Refusal, Spending, TransferRefused
from config.api.errors import ApiError, ErrorCode
from payments.models import Quote, Route
from payments.models.route import PaymentType
from payments.routes.approvals import missing_approvals

# Wallets choose the gas of a batch themselves, so any value will do.
_GAS = 1_000_000


def require_possible(route: Route) -> None:
    """Raise ApiError if the route needs no approval. Only a swap from a token on an EVM chain needs one."""
    if route.type != PaymentType.SWAP or route.token.is_native or route.chain.chain_type != "evm":
        message = "This route needs no approval. Omit batch."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "batch")


def require_bindable(route: Route, client: ChainClient) -> None:
    """Raise ApiError if nodes can't find the swap's call in a batch of this wallet. Raises ChainError.

    Traces show every call. Without traces, the calls of a wallet are known only if its contract code is listed. Even
    then, nodes don't show which call moved the tokens, so a swap within one chain can't be verified.
    """
    if client.can_prove_internal_transfers():
        return
    is_listed = client.contract_code(route.wallet_address) != b"" and not client.may_be_unverifiable(
        route.wallet_address
    )
    if not is_listed or route.chain_id == route.request.chain_id:
        raise _unavailable(f"Batches of this wallet can't be verified on {route.chain.name}.")


def prepare_batched(
    route: Route, quote: Quote, call: EvmCall, spending: Spending, client: ChainClient
) -> dict[str, Any]:
    """Return the swap's unsigned transaction, simulated as if the wallet had made the missing approvals.

    Raises ApiError if no node can simulate a batch. Raises TransferRefused and ChainError.
    """
    approvals = missing_approvals(route, quote, client)
    if not approvals:
        return _evm(client.prepare(call, sender=route.wallet_address, spending=spending))
    token = route.token.contract_address
    lacking = quote.amount_in - client.balances(route.wallet_address, [token]).get(token, 0)
    if lacking > 0:
        raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=lacking)
    before = [EvmCall(each["to"], bytes.fromhex(each["data"][2:])) for each in approvals]
    if not client.rehearse(call, sender=route.wallet_address, spending=spending, after=before):
        raise _unavailable(f"No node of {route.chain.name} can simulate a batch at the moment.")
    with_gas = replace(call, gas=call.gas or _GAS)
    return _evm(client.prepare(with_gas, sender=route.wallet_address, spending=spending, simulate=False))


def _evm(transaction: dict[str, Any] | str) -> dict[str, Any]:
    if not isinstance(transaction, dict):
        raise ChainError("a batch was built for another chain family", permanent=True)
    return transaction


def _unavailable(reason: str) -> ApiError:
    message = f"{reason} Send the approval first, and build the transaction once it is mined."
    return ApiError(ErrorCode.BATCH_UNAVAILABLE, message)
