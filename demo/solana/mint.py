"""Create the test USDC on the local Solana chain, and give some to a wallet.

The token's address is the same on every machine.
"""

from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from spl.token import instructions as spl
from spl.token.constants import MINT_LEN, TOKEN_PROGRAM_ID
from spl.token.models import InitializeMintParams, MintToParams

from demo.solana.ledger import LAMPORTS_PER_SOL, fund, known_key, rpc, send

MINT = known_key("USDC mint")
MINT_AUTHORITY = known_key("USDC mint authority")
WALLET = known_key("demo wallet")
MERCHANT = known_key("demo merchant")
SPONSOR = known_key("demo sponsor")
"""Pays the network fee for customers without SOL."""
USDC = str(MINT.pubkey())
DECIMALS = 6
HOLDER_BALANCE = 25_000
"""The demo wallet's initial balance in whole tokens."""
HOLDER_SOL = 100


def prepare_local_mint(url: str, holder: Pubkey) -> bool:
    """Ensure that the test USDC exists, and that `holder` has SOL and USDC. Return True if something was missing."""
    if rpc(url, "getAccountInfo", USDC, {"encoding": "base64"})["value"] is not None:
        return False
    fund(url, MINT_AUTHORITY.pubkey(), 10 * LAMPORTS_PER_SOL)
    fund(url, holder, HOLDER_SOL * LAMPORTS_PER_SOL)
    make_mint(url, MINT, MINT_AUTHORITY, DECIMALS)
    mint_to(url, MINT.pubkey(), holder, HOLDER_BALANCE * 10**DECIMALS)
    return True


def make_mint(url: str, mint: Keypair, authority: Keypair, decimals: int) -> None:
    """Create a classic mint at the address of `mint`. `authority` pays for it."""
    rent = rpc(url, "getMinimumBalanceForRentExemption", MINT_LEN)
    space = create_account(
        CreateAccountParams(
            from_pubkey=authority.pubkey(),
            to_pubkey=mint.pubkey(),
            lamports=rent,
            space=MINT_LEN,
            owner=TOKEN_PROGRAM_ID,
        )
    )
    initialize = spl.initialize_mint(
        InitializeMintParams(
            program_id=TOKEN_PROGRAM_ID,
            mint=mint.pubkey(),
            mint_authority=authority.pubkey(),
            decimals=decimals,
        )
    )
    send(url, [space, initialize], [authority, mint])


def mint_to(
    url: str,
    mint: Pubkey,
    owner: Pubkey,
    units: int,
    *,
    authority: Keypair = MINT_AUTHORITY,
    program: Pubkey = TOKEN_PROGRAM_ID,
) -> None:
    """Mint this many base units of `mint` to the associated token account of `owner`."""
    account = spl.get_associated_token_address(owner, mint, program)
    create = spl.create_idempotent_associated_token_account(authority.pubkey(), owner, mint, program)
    give = spl.mint_to(
        MintToParams(
            program_id=program,
            mint=mint,
            dest=account,
            mint_authority=authority.pubkey(),
            amount=units,
        )
    )
    send(url, [create, give], [authority])
