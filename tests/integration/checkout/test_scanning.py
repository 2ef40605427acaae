"""A Solana wallet scans the page's code and pays. Discovery finds the payment without a submitted hash."""

import html
import re
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.utils.html import strip_tags
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.conftest import Api
from tests.support.payments.rows import change
from tests.support.payments.world import ON_ITS_WAY, Clock, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address
from tests.verifying import discover_due


def page_of(public: Api, request: PaymentRequest, query: str = "") -> str:
    return str(public.get(f"/pay/{request.shortcode}{query}").content.decode())


def scanned(page: str) -> tuple[str, dict[str, str]]:
    """Return the recipient and the parameters of the page's `solana:` link."""
    link = re.search(r'href="solana:([^?"]+)\?([^"]+)"', page)
    assert link
    return link[1], {name: value for name, [value] in parse_qs(html.unescape(link[2])).items()}


def pay_as_a_wallet(ledger: LocalLedger, page: str) -> str:
    """Pay the link's amount by the rules of Solana Pay; return the signature of the finalized transaction."""
    recipient, parameters = scanned(page)
    is_token = "spl-token" in parameters
    whole, _, fraction = parameters["amount"].partition(".")
    units = int(whole + fraction.ljust(6 if is_token else 9, "0"))
    moves = (
        ledger.token_move(recipient, units, token=parameters["spl-token"])
        if is_token
        else ledger.coin_move(recipient, units)
    )
    last = moves[-1]
    reference = AccountMeta(Pubkey.from_string(parameters["reference"]), is_signer=False, is_writable=False)
    with_reference = Instruction(last.program_id, last.data, [*last.accounts, reference])
    return ledger.finalize(ledger.send([*moves[:-1], with_reference]))


@pytest.mark.parametrize(("coin", "amount"), [("solana_usdc", "10.5"), ("sol", "0.25")])
def test_scanned_payment_is_found_by_its_reference(
    public: Api,
    merchant: Merchant,
    local_ledger: LocalLedger,
    request: pytest.FixtureRequest,
    coin: str,
    amount: str,
) -> None:
    token: Token = request.getfixturevalue(coin)
    order = make_request(merchant, token, amount, new_address())
    page = page_of(public, order)
    assert '<meta http-equiv="refresh"' in page
    sent = pay_as_a_wallet(local_ledger, page)
    assert discover_due() == 1
    payment = Payment.objects.get()
    assert (payment.transaction_hash, payment.submitted_publicly) == (sent, False)
    change(Payment.objects, **ON_ITS_WAY)
    on_its_way = page_of(public, order)
    assert "Payment on its way" in on_its_way
    assert 'href="solana:' not in on_its_way
    look_until_decided(payment, Clock())
    done = page_of(public, order)
    assert "Payment complete" in done
    assert "refresh" not in done.split("</head>")[0]
    receipt = public.get(f"/pay/{order.shortcode}/receipt").content.decode()
    for shown in (
        sent,
        str(payment.id),
        str(order.id),
        "Reference among its accounts",
        order.recipient_address,
    ):
        assert shown in receipt


def test_link_has_the_rest_after_a_part(
    public: Api, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    order = make_request(merchant, solana_usdc, "10", new_address())
    part = local_ledger.token_move(order.recipient_address, 3_000_000, bytes(order.reference))
    look_until_decided(submit(order, local_ledger.finalize(local_ledger.send(part))), Clock())
    page = page_of(public, order)
    assert "3.00 of 10.00 USDC received, 7.00 to go" in strip_tags(page)
    assert scanned(page)[1]["amount"] == "7"


def test_link_that_was_never_shown_is_not_searched(
    public: Api, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    order = make_request(merchant, solana_usdc, "10", new_address())
    assert discover_due() == 0
    order.refresh_from_db()
    assert order.link_shown_at is None
    page_of(public, order)
    order.refresh_from_db()
    first = order.link_shown_at
    assert first is not None
    page_of(public, order)
    order.refresh_from_db()
    assert order.link_shown_at == first


@pytest.mark.parametrize("change", [{"status": "expired"}, {"status": "cancelled"}, {"references": False}])
def test_page_has_no_code_that_would_bind_nothing(
    public: Api, merchant: Merchant, solana_usdc: Token, change: dict[str, Any]
) -> None:
    order = make_request(merchant, solana_usdc, "10", new_address())
    PaymentRequest.objects.filter(pk=order.pk).update(**change)
    page = page_of(public, order)
    assert 'href="solana:' not in page
    assert '<meta http-equiv="refresh"' not in page
    if change == {"references": False}:
        by_hand = public.get(f"/pay/{order.shortcode}/by-hand").content.decode()
        assert "reference" not in scanned(by_hand)[1]
        assert by_hand.index("It is credited when Alice&#x27;s Bakery accepts it") < by_hand.index("solana:")
