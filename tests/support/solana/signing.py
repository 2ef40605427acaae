"""Sign transactions as wallets do, after changes by wallets or thieves."""

import base64
from collections.abc import Callable, Sequence

from solders.hash import Hash
from solders.instruction import AccountMeta, CompiledInstruction, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction


def message_of(transaction: str) -> MessageV0:
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    assert isinstance(message, MessageV0)
    return message


def sign(transaction: str, payer: Keypair) -> str:
    """Sign as the payer only, as a wallet does; return the transaction."""
    return sign_message(message_of(transaction), payer)


def sign_message(message: MessageV0, *signers: Keypair) -> str:
    """Return the transaction with these signatures. Missing signatures are zeros."""
    raw, keys = to_bytes_versioned(message), message.account_keys
    by_key = {signer.pubkey(): signer.sign_message(raw) for signer in signers}
    places = keys[: message.header.num_required_signatures]
    signatures = [by_key.get(key, Signature.default()) for key in places]
    return base64.b64encode(bytes(VersionedTransaction.populate(message, signatures))).decode("ascii")


def instructions_of(message: MessageV0) -> list[Instruction]:
    """Return a message's instructions with each account's permissions."""
    keys = message.account_keys

    def meta(place: int) -> AccountMeta:
        return AccountMeta(keys[place], message.is_signer(place), message.is_maybe_writable(place))

    def whole(compiled: CompiledInstruction) -> Instruction:
        return Instruction(
            keys[compiled.program_id_index], compiled.data, [meta(place) for place in compiled.accounts]
        )

    return [whole(each) for each in message.instructions]


def rebuilt(
    transaction: str,
    *,
    add: Sequence[Instruction] = (),
    first: Sequence[Instruction] = (),
    keep: Callable[[Instruction], bool] = lambda _: True,
    change: Callable[[Instruction], Instruction] = lambda instruction: instruction,
    fee_payer: Pubkey | None = None,
    blockhash: Hash | None = None,
) -> MessageV0:
    """Return a transaction's message with other instructions, as a wallet or a thief would compile it."""
    message = message_of(transaction)
    kept = [change(each) for each in instructions_of(message) if keep(each)]
    return MessageV0.try_compile(
        fee_payer or message.account_keys[0],
        [*first, *kept, *add],
        [],
        blockhash or message.recent_blockhash,
    )
