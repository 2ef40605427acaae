"""Build, simulate and send transactions whose fee payer is the operator's account, and find out their fate."""

import base64
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from chains.client import ChainError, Refusal, TransferRefused
from chains.facts.authorizations import Sent
from chains.facts.cosigning import CannotSponsor, Fate, PayerSigned, Pending, Sponsored, TooLate
from chains.families.solana import building
from chains.families.solana.accounts import TOKEN, read_account
from chains.families.solana.commitments import ACCOUNTS, COMMITMENTS, CONFIRMED, FINALIZED, PROCESSED
from chains.families.solana.cosigning.signing import blockhash_of
from chains.families.solana.results import result_of, sequence, value_of, whole
from chains.families.solana.simulation import read_simulation
from chains.rpc import quorum
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, is_temporary, json_object

logger = logging.getLogger(__name__)

MIN_BLOCKS_LEFT: Final = 10
"""A transaction with fewer blocks left is rejected, because it might not be mined in time."""
_MAX_ACCOUNTS: Final = 100
_MAX_STATUSES: Final = 256
_ALREADY_PROCESSED: Final = "AlreadyProcessed"
_BLOCKHASH_EXPIRED: Final = "BlockhashNotFound"
_SIMULATED: Final = {"encoding": "base64", "sigVerify": False, "replaceRecentBlockhash": False, **CONFIRMED}
_SENT: Final = {"encoding": "base64", "preflightCommitment": CONFIRMED["commitment"]}


class CosigningReader:
    """Sponsored transactions on one Solana cluster. `CosigningClient` documents the methods."""

    def __init__(self, rpc: JsonRpc) -> None:
        self._rpc = rpc

    def token_problems(self, tokens: Sequence[str]) -> list[str]:
        problems: list[str] = []
        for start in range(0, len(tokens), _MAX_ACCOUNTS):
            part = list(tokens[start : start + _MAX_ACCOUNTS])
            problems += self._rpc.batch(
                [("getMultipleAccounts", [part, ACCOUNTS])],
                lambda results: [_token_problem(each) for each in sequence(value_of(results[0]))],
            )
        return problems

    def height(self) -> int:
        return self._rpc.batch(
            [("getBlockHeight", [CONFIRMED])], lambda results: whole(result_of(results[0]))
        )

    def build(
        self,
        *,
        token: str,
        payer: str,
        recipient: str,
        amount: int,
        reference: bytes,
        sponsor: str,
        may_open: bool,
    ) -> Sponsored:
        if sponsor in (payer, recipient):
            raise CannotSponsor("the account that pays network fees takes part in no payment")
        order = building.Order(token, payer, recipient, amount, reference, sponsor=sponsor, may_open=may_open)
        built = building.build(self._rpc, order)
        transaction = base64.b64decode(built.transaction)
        return Sponsored(transaction, built.last_valid_height, built.fee, built.deposit)

    def rehearse(self, signed: PayerSigned, *, last_valid_height: int) -> None:
        text = base64.b64encode(signed.transaction).decode("ascii")
        calls: list[Call] = [("getBlockHeight", [CONFIRMED]), ("simulateTransaction", [text, _SIMULATED])]
        height, simulation = self._rpc.batch(
            calls, lambda results: (whole(result_of(results[0])), read_simulation(results[1]))
        )
        if height + MIN_BLOCKS_LEFT > last_valid_height or simulation.error == _BLOCKHASH_EXPIRED:
            raise TooLate
        if simulation.payer_cannot_pay or simulation.shortfall:
            raise CannotSponsor(f"the account that pays network fees lacks coin: {simulation.note}")
        if simulation.error is not None:
            raise TransferRefused(Refusal.WOULD_FAIL, note=simulation.note)

    def send(self, raw: str, *, to_all: bool = False) -> Sent:
        failure: ChainError | None = None
        is_rejected, is_accepted = False, False
        for node in self._rpc.each():
            try:
                # Parse outside the batch: a node that rejects the transaction isn't at fault.
                (result,) = node.batch([("sendTransaction", [raw, _SENT])], list)
                is_accepted |= (is_taken := _is_accepted(result))
                is_rejected |= not is_taken
            except ChainError as error:
                failure = error
            if is_accepted and not to_all:
                break
        if is_accepted:
            return Sent.ACCEPTED
        if not is_rejected:
            raise failure or ChainError("no node sent a usable response")
        return Sent.REJECTED

    def fates(self, transactions: Mapping[str, Pending]) -> dict[str, Fate]:
        def query(node: JsonRpc, hashes: Collection[str]) -> dict[str, Fate]:
            return _fates(node, {each: transactions[each] for each in hashes})

        return quorum.query_items(self._rpc, transactions.keys(), query)


def _token_problem(result: Any) -> str:
    account = read_account(result)
    if account is None or not account.is_mint or account.owner != TOKEN:
        return "it is not a token of the SPL Token program"
    return ""


def _is_accepted(result: Any) -> bool:
    """Whether the node has the transaction now. Raises ChainError if the node can't accept any transaction at the
    moment.
    """
    if not isinstance(result, RpcFault):
        result_of(result)
        return True
    if _ALREADY_PROCESSED in result.message or "already been processed" in result.message:
        return True
    if is_temporary(result):
        raise ChainError(f"the node did not take the transaction: {result.message}")
    logger.warning("a node did not take a transaction: %s", result.message)
    return False


def _fates(node: JsonRpc, transactions: Mapping[str, Pending]) -> dict[str, Fate]:
    """Return the fates of the transactions, from one node.

    Raises ChainError. One URL may serve several nodes, and a node that lags would miss a transaction that has landed.
    So the final height is read first, and the statuses must come from a state that includes this block.
    """
    calls: list[Call] = [("getEpochInfo", [FINALIZED]), ("getBlockHeight", [FINALIZED])]
    info, final = node.batch(
        calls, lambda results: (json_object(result_of(results[0])), whole(result_of(results[1])))
    )
    # Some nodes ignore the commitment of `getEpochInfo`, but `getBlockHeight` returns no slot.
    final, slot = min(final, whole(info.get("blockHeight"))), whole(info.get("absoluteSlot"))
    hashes = list(transactions)
    parts = [hashes[start : start + _MAX_STATUSES] for start in range(0, len(hashes), _MAX_STATUSES)]
    status_calls: list[Call] = [
        ("getSignatureStatuses", [part, {"searchTransactionHistory": True}]) for part in parts
    ]
    statuses = node.batch(
        status_calls, lambda results: [each for r in results for each in _statuses(r, slot)]
    )
    if len(statuses) != len(hashes):
        raise ChainError("the node left out a transaction's status")
    found = dict(zip(hashes, statuses, strict=True))
    over = [
        each
        for each, commitment in found.items()
        if commitment is None and transactions[each].last_valid_height < final
    ]
    validity_calls: list[Call] = [
        ("isBlockhashValid", [blockhash_of(transactions[each].transaction), PROCESSED]) for each in over
    ]
    validity = (
        node.batch(validity_calls, lambda results: [_is_valid(each, slot) for each in results])
        if over
        else []
    )
    fates = {each: Fate.EXPIRED for each, is_valid in zip(over, validity, strict=True) if not is_valid}
    landed = [each for each, commitment in found.items() if commitment == FINALIZED["commitment"]]
    return fates | dict.fromkeys(landed, Fate.LANDED)


def _is_valid(result: Any, slot: int) -> bool:
    _require_slot(result, slot)
    is_valid = value_of(result)
    if not isinstance(is_valid, bool):
        raise ChainError("the node's response is not true or false")
    return is_valid


def _require_slot(result: Any, slot: int) -> None:
    context = json_object(json_object(result_of(result)).get("context"))
    if whole(context.get("slot")) < slot:
        raise ChainError("the node's state is older than its newest final block")


def _statuses(result: Any, slot: int) -> list[str | None]:
    _require_slot(result, slot)
    return [_commitment(entry) for entry in sequence(value_of(result))]


def _commitment(entry: Any) -> str | None:
    if entry is None:
        return None
    commitment = json_object(entry).get("confirmationStatus")
    if commitment not in COMMITMENTS:
        raise ChainError("the node returned an unknown confirmation status")
    return str(commitment)
