"""A local Solana chain, and payers who sign with their own keys and send by raw RPC."""

import base64
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import TransferCheckedParams

from chains.families.solana.references import reference_key
from demo.solana import ledger, mint

USDC_UNIT = 10**6
_CLOCK = "SysvarC1ock11111111111111111111111111111111"
_CLOCK_FIELDS = struct.Struct("<QqQQq")  # slot, epoch start, epoch, epoch of the next leaders, Unix seconds
_CLOCK_ALLOWANCE_SECONDS = 3


@dataclass(frozen=True)
class LocalLedger:
    """The chain's URL and payer, who has large balances of SOL and test USDC."""

    url: str
    usdc: str = mint.USDC
    key: Keypair = mint.WALLET

    @classmethod
    def prepare(cls, url: str) -> "LocalLedger":
        """Create the mint on the chain and fund the payer."""
        mint.prepare_local_mint(url, mint.WALLET.pubkey())
        mint.mint_to(url, mint.MINT.pubkey(), mint.WALLET.pubkey(), 10**9 * USDC_UNIT)
        return cls(url)

    @property
    def payer(self) -> str:
        return str(self.key.pubkey())

    def rpc(self, method: str, *params: Any) -> Any:
        return ledger.rpc(self.url, method, *params)

    def new_wallet(self, *, lamports: int = 0, usdc: int = 0) -> Keypair:
        """Return the key of a new wallet with these balances."""
        wallet = Keypair()
        if lamports:
            ledger.fund(self.url, wallet.pubkey(), lamports)
        if usdc:
            mint.mint_to(self.url, mint.MINT.pubkey(), wallet.pubkey(), usdc)
        return wallet

    def sign_and_send(self, unsigned: str, key: Keypair | None = None) -> str:
        """Sign a transaction from `build-transaction` and send it. It is confirmed on return."""
        return ledger.send_signed(self.url, ledger.sign(unsigned, key or self.key))

    def send(self, instructions: Iterable[Instruction], *signers: Keypair) -> str:
        """Send instructions. The first signer pays the fee, by default the payer."""
        return ledger.send(self.url, list(instructions), signers or (self.key,))

    def send_failing(self, instructions: Sequence[Instruction], *signers: Keypair) -> str:
        """Send a transaction that fails in a block."""
        keys = list(signers or (self.key,))
        blockhash = ledger.latest_blockhash(self.url)
        message = MessageV0.try_compile(keys[0].pubkey(), list(instructions), [], blockhash)
        return ledger.send_signed(self.url, VersionedTransaction(message, keys), even_if_it_fails=True)

    def catch_up(self) -> None:
        """Correct the chain's clock. It counts slots, so it falls behind on a busy machine."""
        account = self.rpc("getAccountInfo", _CLOCK, {"encoding": "base64"})["value"]
        *_, told = _CLOCK_FIELDS.unpack(base64.b64decode(account["data"][0]))
        now = time.time()
        if now - told > _CLOCK_ALLOWANCE_SECONDS:
            self.rpc("surfnet_timeTravel", {"absoluteTimestamp": int(now * 1000)})

    def finalize(self, signature: str) -> str:
        """Wait until the transaction is finalized; return its signature."""
        ledger.wait_for(self.url, signature, "finalized")
        return signature

    def balance(self, address: str) -> int:
        return int(self.rpc("getBalance", address, {"commitment": "confirmed"})["value"])

    def token_balance(self, owner: str, token: str = mint.USDC, program: Pubkey = TOKEN_PROGRAM_ID) -> int:
        """Return the base units in the owner's associated token account, or 0 if it doesn't exist."""
        account = token_account(owner, token, program)
        found = self.rpc("getAccountInfo", str(account), {"encoding": "base64", "commitment": "confirmed"})[
            "value"
        ]
        return int.from_bytes(base64.b64decode(found["data"][0])[64:72], "little") if found else 0

    def token_move(
        self,
        recipient: str,
        amount: int,
        *references: bytes,
        sender: Keypair | None = None,
        to_account: Pubkey | None = None,
        token: str = mint.USDC,
        decimals: int = mint.DECIMALS,
        program: Pubkey = TOKEN_PROGRAM_ID,
    ) -> list[Instruction]:
        """Return instructions that transfer tokens, with these references on the transfer."""
        payer = (sender or self.key).pubkey()
        owner, of = Pubkey.from_string(recipient), Pubkey.from_string(token)
        move = spl.transfer_checked(
            TransferCheckedParams(
                program_id=program,
                source=spl.get_associated_token_address(payer, of, program),
                mint=of,
                dest=to_account or spl.get_associated_token_address(owner, of, program),
                owner=payer,
                amount=amount,
                decimals=decimals,
            )
        )
        create = spl.create_idempotent_associated_token_account(payer, owner, of, program)
        return [*([] if to_account else [create]), with_references(move, *references)]

    def coin_move(self, recipient: str, amount: int, *references: bytes) -> list[Instruction]:
        """Return an instruction that transfers lamports, with these references."""
        target = Pubkey.from_string(recipient)
        move = transfer(TransferParams(from_pubkey=self.key.pubkey(), to_pubkey=target, lamports=amount))
        return [with_references(move, *references)]


def new_address() -> str:
    """Return a new wallet's address."""
    return str(Keypair().pubkey())


def token_account(owner: str, token: str = mint.USDC, program: Pubkey = TOKEN_PROGRAM_ID) -> Pubkey:
    return spl.get_associated_token_address(Pubkey.from_string(owner), Pubkey.from_string(token), program)


def with_references(move: Instruction, *references: bytes) -> Instruction:
    """Return the instruction with the references' keys after its accounts."""
    keys = [
        AccountMeta(Pubkey.from_string(reference_key(reference)), is_signer=False, is_writable=False)
        for reference in references
    ]
    return Instruction(move.program_id, move.data, [*move.accounts, *keys])
