"""Wallet links request the exact remaining amount. A merchant's text can't change anything in them."""

from typing import Any
from urllib.parse import parse_qsl

import pytest
from solders.pubkey import Pubkey

from chains.families.solana.references import reference_key
from chains.models import Chain, Token
from checkout.api.wallet_links import wallet_link
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.support.payments.world import make_request

RECIPIENT = str(Pubkey(bytes(range(32))))
MINT = str(Pubkey(bytes(range(1, 33))))
WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
CONTRACT = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


@pytest.fixture
def mint(db: None) -> Token:
    chain = Chain.objects.create(
        id=1151111081099710, name="Solana", chain_type="solana", rpc_urls=[], native_symbol="SOL"
    )
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=MINT
    )


@pytest.fixture
def base(db: None) -> Chain:
    return Chain.objects.create(id=8453, name="Base", chain_type="evm", rpc_urls=[], native_symbol="ETH")


def read(link: str) -> tuple[str, dict[str, str]]:
    """Return the recipient and the parameters that a Solana Pay wallet reads."""
    scheme, _, rest = link.partition(":")
    recipient, _, query = rest.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    assert (scheme, len(dict(pairs))) == ("solana", len(pairs)), "each parameter stands there once"
    return recipient, dict(pairs)


def test_solana_pay_asks_for_what_remains_with_the_reference(merchant: Merchant, mint: Token) -> None:
    request = make_request(merchant, mint, "10.5", RECIPIENT, description="Two loaves")
    PaymentRequest.objects.filter(pk=request.pk).update(amount_paid=3_000_000)
    request.refresh_from_db()
    assert read(wallet_link(request)) == (
        RECIPIENT,
        {
            "amount": "7.50",
            "spl-token": MINT,
            "reference": reference_key(bytes(request.reference)),
            "label": "Alice's Bakery",
            "message": "Two loaves",
        },
    )


@pytest.mark.parametrize(
    ("amount", "written"),
    [("0.000001", "0.000001"), ("10", "10"), ("18446744073709.551615", "18446744073709.551615")],
)
def test_amounts_are_written_out(merchant: Merchant, mint: Token, amount: str, written: str) -> None:
    assert read(wallet_link(make_request(merchant, mint, amount, RECIPIENT)))[1]["amount"] == written


def test_sol_names_no_mint(merchant: Merchant, mint: Token) -> None:
    sol = Token.objects.create(chain=mint.chain, symbol="SOL", name="SOL", decimals=9, contract_address="")
    _, asked = read(wallet_link(make_request(merchant, sol, "0.25", RECIPIENT)))
    assert (asked["amount"], "spl-token" in asked) == ("0.25", False)


def test_without_references_there_is_none(merchant: Merchant, mint: Token) -> None:
    request = make_request(merchant, mint, "1", RECIPIENT, references=False)
    assert "reference" not in read(wallet_link(request))[1]


@pytest.mark.parametrize(
    "text", ["x&amount=0.01&recipient=y", "#fragment?amount=1", "a+b %26 ; = \" '", "🍞" * 99]
)
def test_a_merchants_text_stays_text(merchant: Merchant, mint: Token, text: str) -> None:
    merchant.display_name = text
    request = make_request(merchant, mint, "1", RECIPIENT, description=text)
    request.merchant = merchant
    link = wallet_link(request)
    _, asked = read(link)
    assert asked["amount"] == "1"
    for said in (asked["label"], asked["message"]):
        assert text.startswith(said.removesuffix("…"))
    assert len(link) < 320


def test_eip_681_names_token_network_recipient_and_units(merchant: Merchant, base: Chain) -> None:
    usdc = Token.objects.create(
        chain=base, symbol="USDC", name="USD Coin", decimals=6, contract_address=CONTRACT
    )
    request = make_request(merchant, usdc, "10.5", WALLET)
    expected = f"ethereum:{CONTRACT}@8453/transfer?address={WALLET}&uint256=10500000"
    assert wallet_link(request) == expected


def test_eip_681_native_coin_value_has_no_exponent(merchant: Merchant, base: Chain) -> None:
    ether = Token.objects.create(chain=base, symbol="ETH", name="Ether", decimals=18, contract_address="")
    request: Any = make_request(merchant, ether, "1000", WALLET)
    assert wallet_link(request) == f"ethereum:{WALLET}@8453?value={10**21}"
