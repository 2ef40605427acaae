"""The Solana family: mainnet and its test clusters."""

from chains.client import ChainClient, SolanaInstructions, SolanaTransaction
from chains.families.base import CallRules, Cosigning, Family, Network, WalletLinks, Wording
from chains.families.solana import normalisation
from chains.families.solana.cosigning.signing import address_of, fee_payer_of, sign
from chains.families.solana.cosigning.vetting import read_signed
from chains.families.solana.links import solana_pay
from chains.families.solana.references import reference_key
from chains.families.solana.signatures import is_signed_by_key
from chains.fields import UINT64_MAX

__all__ = ["FAMILY"]

_CLUSTERS = {"": "mainnet", "mainnet": "mainnet", "devnet": "devnet", "testnet": "testnet"}


def _make_client(network: Network) -> ChainClient:
    # Imported here because Solana's libraries are large, and many processes never need them.
    from chains.families.solana.client import SolanaClient

    return SolanaClient(network.urls, network.chain_id, network.name, head_allowance=network.head_allowance)


FAMILY = Family(
    key="solana",
    label="Solana",
    native_decimals=9,
    largest_amount=UINT64_MAX,
    confirmation_tags=("confirmed", "finalized"),
    counts_confirmations=False,
    make_client=_make_client,
    normalise_address=normalisation.normalise_address,
    normalise_transaction_hash=normalisation.normalise_transaction_hash,
    read_signature=normalisation.read_signature,
    is_signed_by_key=is_signed_by_key,
    find_address=normalisation.find_address,
    address_bytes=normalisation.address_bytes,
    reference_text=reference_key,
    account_name="Solana",
    chain_reference=lambda _, cluster: _CLUSTERS.get(cluster, "localnet"),
    # The customer signs the whole transaction. Programs have no common layout of their data, so an ID may be anywhere
    # in the data.
    call_rules=CallRules(selector_bytes=None, payer_signs_all=True),
    actions=(SolanaTransaction, SolanaInstructions),
    cosigning=Cosigning(
        kind="solana",
        address_of=address_of,
        read_signed=read_signed,
        fee_payer_of=fee_payer_of,
        sign=sign,
    ),
    # The System Program.
    native_alias="11111111111111111111111111111111",
    links=WalletLinks(make=solana_pay, bind=True),
    last_reserved=0,  # the System Program
    # Two addresses without an owner: the incinerator, and a system account without a key.
    unowned_addresses=(
        "1nc1nerator11111111111111111111111111111111",
        "Sysvar1nstructions1111111111111111111111111",
    ),
    make_hash=normalisation.make_hash,
    subscribe_heads=("slotSubscribe",),
    wording=Wording(
        contract="page.tokenMint",
        transaction="page.signature",
        transaction_hint="page.signatureHint",
        reference="page.referenceKey",
        sign_method="solana:signMessage, Ed25519",
        signature_hint="page.proofSignatureHintSolana",
        check_contract="page.checkSolana",
        check_coin="page.checkSolana",
    ),
)
