"""The aggregator on Solana. The vault receives payments, and the treasury pays out.

A payment to the vault has memos with the first 8 bytes of the quote's id, which are letters and digits. One memo has
these 8 bytes unchanged. The other memo has LI.FI's format, `LI.FI TX: 0x…`.
"""

from collections.abc import Sequence
from typing import Any

from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import TransferCheckedParams

from demo.aggregator.places import Token
from demo.solana.ledger import LAMPORTS_PER_SOL, fund, known_key, latest_blockhash, rpc, send
from demo.solana.mint import DECIMALS, MINT, mint_to

MEMO_PROGRAM = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
VAULT = known_key("aggregator vault").pubkey()
TREASURY = known_key("aggregator treasury")
STRANGER = known_key("aggregator stranger")
_SOL_STOCK = 20_000
_USDC_STOCK = 10**9


def stock(url: str) -> None:
    """Fund the vault and the treasury. The test USDC must exist."""
    lamports = int(rpc(url, "getBalance", str(TREASURY.pubkey()), {"commitment": "confirmed"})["value"])
    if lamports > LAMPORTS_PER_SOL:
        return
    fund(url, TREASURY.pubkey(), _SOL_STOCK * LAMPORTS_PER_SOL)
    fund(url, VAULT, LAMPORTS_PER_SOL)
    fund(url, STRANGER.pubkey(), LAMPORTS_PER_SOL)
    mint_to(url, MINT.pubkey(), TREASURY.pubkey(), _USDC_STOCK * 10**DECIMALS)
    mint_to(url, MINT.pubkey(), VAULT, 1)


def unsigned_payment(
    url: str, *, sender: str, token: Token, amount: int, fee: int, transaction_id: bytes, receiver: str
) -> bytes:
    """Return an unsigned v0 transaction that pays the vault. The sender signs it."""
    payer = Pubkey.from_string(sender)
    text = f"{transaction_id[:8].decode()} LI.FI TX: 0x{transaction_id[:8].hex()} to {receiver}"
    instructions = [
        *_move(payer, VAULT, token, amount),
        _coins(payer, VAULT, fee),
        Instruction(MEMO_PROGRAM, text.encode(), []),
    ]
    message = MessageV0.try_compile(payer, instructions, [], latest_blockhash(url))
    return bytes(VersionedTransaction.populate(message, [Signature.default()]))


def deliver(url: str, moves: Sequence[tuple[Token, str, int]]) -> str:
    """Make all deliveries in one transaction. Return its signature when it is confirmed."""
    instructions: list[Instruction] = []
    for token, receiver, amount in moves:
        owner = Pubkey.from_string(receiver)
        if not token.is_native:
            of = Pubkey.from_string(token.address)
            instructions.append(
                spl.create_idempotent_associated_token_account(TREASURY.pubkey(), owner, of, TOKEN_PROGRAM_ID)
            )
        instructions += _move(TREASURY.pubkey(), owner, token, amount)
    return send(url, instructions, [TREASURY])


def payments_since(url: str, seen: set[str]) -> list[tuple[str, str, int]]:
    """Return the signature, memos and block time of successful payments to the vault. Skip those in `seen`."""
    payments: list[tuple[str, str, int]] = []
    listed = rpc(url, "getSignaturesForAddress", str(VAULT), {"commitment": "confirmed", "limit": 200})
    for row in reversed(listed):
        if row["signature"] in seen:
            continue
        seen.add(row["signature"])
        if row["err"] is None:
            memo = row.get("memo") or _memo_of(url, row["signature"])
            payments.append((row["signature"], memo, int(row["blockTime"] or 0)))
    return payments


def _memo_of(url: str, signature: str) -> str:
    options: dict[str, Any] = {
        "commitment": "confirmed",
        "encoding": "jsonParsed",
        "maxSupportedTransactionVersion": 0,
    }
    transaction = rpc(url, "getTransaction", signature, options)
    instructions = transaction["transaction"]["message"]["instructions"] if transaction else []
    return " ".join(
        str(row.get("parsed", "")) for row in instructions if row["programId"] == str(MEMO_PROGRAM)
    )


def _move(payer: Pubkey, to: Pubkey, token: Token, amount: int) -> list[Instruction]:
    if token.is_native:
        return [_coins(payer, to, amount)]
    of = Pubkey.from_string(token.address)
    return [
        spl.transfer_checked(
            TransferCheckedParams(
                program_id=TOKEN_PROGRAM_ID,
                source=spl.get_associated_token_address(payer, of, TOKEN_PROGRAM_ID),
                mint=of,
                dest=spl.get_associated_token_address(to, of, TOKEN_PROGRAM_ID),
                owner=payer,
                amount=amount,
                decimals=token.decimals,
            )
        )
    ]


def _coins(payer: Pubkey, to: Pubkey, lamports: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=payer, to_pubkey=to, lamports=lamports))
