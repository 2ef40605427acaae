"""The portal's page of balances waiting at deposit addresses: amounts, unknown balances, and access to transactions."""

import json
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from chains.client import ChainError
from chains.models import Token
from config.admin.portal import change_url
from merchants.models import Merchant
from merchants.staff.roles import Role
from payments.admin.deposits import pages
from payments.admin.deposits.contents import contents_of
from payments.models import DepositAddress, PaymentRequest
from tests.support.payments.sweeps import Node, row, rows, shown
from tests.support.portal.staff import signed_in

pytestmark = pytest.mark.django_db
Make = Callable[..., PaymentRequest]
PAGE = "/admin/payments/depositaddress/"


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node()
    monkeypatch.setitem(contents_of.__kwdefaults__, "client", node.of)
    return node


def text(client: Client, query: str = "") -> str:
    answer = client.get(f"{PAGE}{query}")
    assert answer.status_code == 200
    return " ".join(unescape(answer.content.decode()).split())


def test_requested_and_other_tokens_are_listed_apart(request_for: Make, node: Node, ether: Token) -> None:
    first, second = request_for(), request_for()
    usdc = first.token.contract_address
    at_first, at_second = shown(first), shown(second)
    node.held = {(at_first, usdc): 1_234_500_000, (at_second, usdc): 1, (at_second, ""): 10**18}
    page = text(signed_in(Role.FINANCE, first.merchant))
    requested, _, recoverable = page.partition("Recoverable")
    assert "<strong>1,234.500001 USDC</strong> <span>at 2 addresses" in requested
    assert "<strong>1 ETH</strong> <span>at 1 address<" in recoverable
    assert "Transaction 1: 2 addresses, about 100,000 gas" in requested
    unsigned = [json.loads(part.split("</pre>")[0]) for part in page.split('as JSON">')[1:]]
    assert [rows(bytes.fromhex(each["data"][2:])) for some in unsigned for each in some] == [
        [row(second, usdc), row(first, usdc)],
        [row(second, "")],
    ]


@pytest.mark.parametrize(
    ("role", "may_sweep"), [(Role.OWNER, True), (Role.FINANCE, True), (Role.VIEWER, False)]
)
def test_only_finance_and_owners_get_the_transactions(
    request_for: Make, node: Node, role: str, may_sweep: bool
) -> None:
    request = request_for()
    node.held = {(shown(request), request.token.contract_address): 5_000_000}
    page = text(signed_in(role, request.merchant))
    assert "<strong>5 USDC</strong>" in page
    assert ("checkout/sweep" in page, "0x0" in page) == (may_sweep, may_sweep)


def test_failed_node_shows_unknown_and_no_amount(request_for: Make, node: Node) -> None:
    request = request_for()
    shown(request)
    node.error = ChainError("down")
    page = text(signed_in(Role.OWNER, request.merchant))
    assert "What waits is unknown." in page
    assert "Waiting to be swept" not in page


def test_token_without_a_balance_is_unknown(request_for: Make, node: Node) -> None:
    request = request_for()
    shown(request)
    node.silent = frozenset({request.token.contract_address})
    assert "Unknown: USDC." in text(signed_in(Role.OWNER, request.merchant))


@pytest.mark.parametrize("is_down", [True, False])
def test_unknown_gas_hides_no_amount(request_for: Make, node: Node, is_down: bool) -> None:
    request = request_for()
    node.held = {(shown(request), request.token.contract_address): 5_000_000}
    node.estimate, node.gas_error = None, ChainError("down") if is_down else None
    page = text(signed_in(Role.OWNER, request.merchant))
    assert "<strong>5 USDC</strong>" in page
    assert "1 address, gas unknown" in page


def test_member_sees_own_merchant_whatever_the_query_names(
    request_for: Make, other_merchant: Merchant, node: Node
) -> None:
    request = request_for()
    node.held = {(shown(request), request.token.contract_address): 5_000_000}
    page = text(
        signed_in(Role.OWNER, other_merchant), f"?merchant={request.merchant_id}&chain={request.chain_id}"
    )
    assert request.merchant.name not in page
    assert "No deposit address was shown yet." in page


def test_operator_chooses_the_merchant(request_for: Make, node: Node, admin_client: Client) -> None:
    request = request_for()
    node.held = {(shown(request), request.token.contract_address): 5_000_000}
    assert f"?merchant={request.merchant_id}" in text(admin_client)
    assert "<strong>5 USDC</strong>" in text(admin_client, f"?merchant={request.merchant_id}")
    unknown = f"{PAGE}?merchant=01a1fd92-caa6-7393-afe5-964ec9235339"
    assert admin_client.get(unknown).status_code == 404


def test_addresses_are_read_page_by_page(
    request_for: Make, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "ADDRESSES_AT_ONCE", 2)
    requests = [request_for() for _ in range(3)]
    usdc = requests[0].token.contract_address
    node.held = {(shown(each), usdc): 1_000_000 * number for number, each in enumerate(requests, 1)}
    client = signed_in(Role.OWNER, requests[0].merchant)
    first, second = text(client), text(client, "?page=2")
    assert "has 3 addresses on Local Chain. This page shows 1 to 2" in first
    assert "<strong>5 USDC</strong>" in first
    assert "Older addresses" in first
    assert "<strong>1 USDC</strong>" in second
    assert "Newer addresses" in second
    for odd in ("?page=9", "?page=x", "?chain=x", "?merchant=x"):
        assert "This page shows 1 to 2" in text(client, odd)


def test_address_of_older_contracts_is_named(request_for: Make, node: Node) -> None:
    request = request_for()
    shown(request)
    older = "0x00000000000000000000000000000000000000De"
    DepositAddress.objects.update(address=older)
    assert older in text(signed_in(Role.OWNER, request.merchant))


def test_page_of_one_address_is_its_requests(request_for: Make) -> None:
    request = request_for()
    shown(request)
    client: Any = signed_in(Role.OWNER, request.merchant)
    assert client.get(f"{PAGE}{request.pk}/change/")["Location"] == change_url(request)
