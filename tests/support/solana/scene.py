"""A customer with balances that a hostile routing provider tries to steal."""

from dataclasses import dataclass
from typing import Any

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from spl.token import instructions as spl
from spl.token.constants import MINT_LEN, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import InitializeMintParams

from demo.solana import mint
from tests.support.solana.accounts import open_account
from tests.support.solana.ledger import LocalLedger, new_address, token_account

SOL = 10**9
UNIT = 10**6
PRICE = 7 * UNIT
"""What the route says that the customer pays, in USDC."""


@dataclass(frozen=True)
class Mints:
    """Two tokens other than USDC: one of the classic token program, one of Token-2022."""

    other: Pubkey
    newer: Pubkey


@dataclass(frozen=True)
class Scene:
    """A customer with 1 SOL, 50 USDC, balances of two other tokens and an empty token account. And a thief."""

    ledger: LocalLedger
    wallet: Keypair
    thief: Keypair
    mints: Mints
    spare: Pubkey

    @property
    def owner(self) -> Pubkey:
        return self.wallet.pubkey()

    @property
    def usdc(self) -> Pubkey:
        return Pubkey.from_string(self.ledger.usdc)

    def account(self, token: Pubkey, program: Pubkey = TOKEN_PROGRAM_ID) -> Pubkey:
        return token_account(str(self.owner), str(token), program)

    def honest(self) -> list[Instruction]:
        """Return the instructions that the route describes: a payment of the price in USDC."""
        return self.ledger.token_move(new_address(), PRICE, sender=self.wallet)

    def state(self) -> list[Any]:
        """Return the customer's relevant account data, and the thief's lamports."""
        newer = self.account(self.mints.newer, TOKEN_2022_PROGRAM_ID)
        held = [self.account(self.usdc), self.account(self.mints.other), newer, self.spare]
        options = {"encoding": "base64", "commitment": "confirmed"}
        asked = [str(key) for key in (self.owner, *held)]
        found = self.ledger.rpc("getMultipleAccounts", asked, options)["value"]
        return [
            self.ledger.balance(str(self.thief.pubkey())),
            *((account["owner"], account["data"]) if account else None for account in found),
        ]


def make_mints(ledger: LocalLedger) -> Mints:
    """Create two tokens that the ledger's payer can mint."""
    classic, newer, key = Keypair(), Keypair(), ledger.key
    mint.make_mint(ledger.url, classic, key, 6)
    space = CreateAccountParams(
        from_pubkey=key.pubkey(),
        to_pubkey=newer.pubkey(),
        lamports=SOL,
        space=MINT_LEN,
        owner=TOKEN_2022_PROGRAM_ID,
    )
    made = InitializeMintParams(
        program_id=TOKEN_2022_PROGRAM_ID, mint=newer.pubkey(), mint_authority=key.pubkey(), decimals=6
    )
    ledger.send([create_account(space), spl.initialize_mint(made)], key, newer)
    return Mints(classic.pubkey(), newer.pubkey())


def make_scene(ledger: LocalLedger, mints: Mints) -> Scene:
    """Create a thief and a new customer with balances."""
    wallet, thief = ledger.new_wallet(lamports=SOL, usdc=50 * UNIT), ledger.new_wallet(lamports=SOL)
    owner, key = wallet.pubkey(), ledger.key
    mint.mint_to(ledger.url, mints.other, owner, 30 * UNIT, authority=key)
    mint.mint_to(ledger.url, mints.newer, owner, 20 * UNIT, authority=key, program=TOKEN_2022_PROGRAM_ID)
    return Scene(ledger, wallet, thief, mints, open_account(ledger, str(owner)))
