"""The EVM family: Ethereum, its rollups, and every chain with the same transactions."""

from chains.client import ChainClient, EvmCall
from chains.families.base import (
    Authorizations,
    CallRules,
    DepositContracts,
    Family,
    LinkTerms,
    Network,
    WalletLinks,
    Wording,
)
from chains.families.evm import normalisation, signatures
from chains.families.evm.authorizations import gas_account, typed_data
from chains.families.evm.building.fees import FeeRules
from chains.families.evm.client import EvmClient
from chains.families.evm.deposits import addresses, shipped
from chains.families.evm.deposits.calls import factory_deployment, sweep_call
from chains.fields import UINT256_MAX

__all__ = ["FAMILY"]

_SELECTOR_BYTES = 4


def _make_client(network: Network) -> ChainClient:
    rules = FeeRules(network.l1_fee_oracle, network.min_tip_wei)
    return EvmClient(network.urls, network.chain_id, head_allowance=network.head_allowance, fee_rules=rules)


def _eip_681(terms: LinkTerms) -> str:
    """Return the EIP-681 link. An EIP-681 link can't contain a reference."""
    if not terms.token:
        return f"ethereum:{terms.recipient}@{terms.chain_id}?value={terms.units}"
    return f"ethereum:{terms.token}@{terms.chain_id}/transfer?address={terms.recipient}&uint256={terms.units}"


FAMILY = Family(
    key="evm",
    label="EVM",
    native_decimals=18,
    largest_amount=UINT256_MAX,
    confirmation_tags=("safe", "finalized"),
    counts_confirmations=True,
    make_client=_make_client,
    normalise_address=normalisation.normalise_address,
    normalise_transaction_hash=normalisation.normalise_transaction_hash,
    read_signature=normalisation.read_signature,
    is_signed_by_key=signatures.is_signed_by_key,
    find_address=normalisation.find_address,
    address_bytes=lambda address: bytes.fromhex(address[2:]),
    address_mark="0x",
    reference_text=lambda reference: "0x" + reference.hex(),
    account_name="Ethereum",
    chain_reference=lambda chain_id, _: str(chain_id),
    call_rules=CallRules(selector_bytes=_SELECTOR_BYTES, payer_signs_all=False),
    actions=(EvmCall,),
    native_alias="0x0000000000000000000000000000000000000000",
    links=WalletLinks(make=_eip_681, bind=False),
    deposits=DepositContracts(
        factory=addresses.FACTORY,
        factory_code=shipped.FACTORY.code,
        deployer=addresses.DEPLOYER,
        deployment=factory_deployment,
        deposit_of=addresses.deposit_of,
        sweep=sweep_call,
    ),
    authorizations=Authorizations(
        kind=typed_data.KIND,
        nonce_of=typed_data.nonce_of,
        typed_data=typed_data.typed_data,
        read_signature=typed_data.read_signature,
        can_sign=signatures.has_own_key,
        is_signed=typed_data.is_signed,
        transfer_call=typed_data.transfer_call,
        domain_separator=typed_data.domain_separator,
        is_ended_by=typed_data.is_ended_by,
        address_of=gas_account.address_of,
        sign=gas_account.sign,
        max_cost=gas_account.max_cost,
        raised=gas_account.raised,
        capped=gas_account.capped,
        is_ample=gas_account.is_ample,
        empty_call=gas_account.empty_call,
    ),
    subscribe_heads=("eth_subscribe", "newHeads"),
    has_price_feeds=True,
    has_data_fees=True,
    # Precompiled contracts of all chains. Precompiled contracts may be tokens: on Polygon, 0x1010 is the token of the
    # native coin.
    last_reserved=0xFFFF,
    # Ethereum's customary burn addresses, which have no known owner.
    unowned_addresses=(
        "0x000000000000000000000000000000000000dEaD",
        "0x00000000000000000000000000000000DeaDBeef",
    ),
    make_hash=normalisation.make_hash,
    wording=Wording(
        shows_chain_id=True,
        transaction_hint="page.hashHint",
        sign_method="personal_sign, EIP-191",
        signature_hint="page.proofSignatureHint",
        check_contract="page.checkToken",
    ),
)
