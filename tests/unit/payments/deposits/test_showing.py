"""A deposit address is shown only if every check succeeds. A shown address stays, and is searched for payments."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from chains.client import ChainError
from chains.facts.deposits import Deposit, DepositProblem
from chains.models import Chain, Switch, Token
from merchants.models import ContractRecipient, Merchant
from payments.deposits import showing
from payments.deposits.looks import EACH_BLOCK_FOR
from payments.models import DepositAddress, PaymentLink, PaymentRequest, Transition
from tests.conftest import Api

Make = Callable[..., PaymentRequest]


@dataclass
class Nodes:
    """Nodes whose rehearsal reports this problem, or which are down."""

    problem: DepositProblem | None = None
    is_down: bool = False
    is_contract: bool = False
    meanwhile: Callable[[], object] = bool
    rehearsed: list[tuple[str, str, int]] = field(default_factory=list)

    def __call__(self, chain: Chain) -> Any:
        return self

    def deposit_problem(
        self, deposit: Deposit, *, recipient: str, token: str, amount: int, is_confirmed: bool
    ) -> DepositProblem | None:
        if self.is_down:
            raise ChainError("down")
        self.meanwhile()
        if self.is_contract and not is_confirmed:
            return DepositProblem.RECIPIENT_IS_CONTRACT
        self.rehearsed.append((recipient, token, amount))
        return self.problem


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    nodes = Nodes()
    monkeypatch.setitem(showing.show_address.__kwdefaults__, "client", nodes)
    return nodes


@pytest.fixture
def request_(request_for: Make, merchant: Merchant) -> PaymentRequest:
    Merchant.objects.filter(pk=merchant.pk).update(deposit_addresses=True)
    return request_for()


def path(request: PaymentRequest) -> str:
    return f"/api/public/payment-requests/{request.pk}/deposit-address"


def assert_not_shown(request: PaymentRequest, answer: Any, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not DepositAddress.objects.exists()
    request.refresh_from_db()
    assert request.deposit_address is None


def test_address_is_shown_and_watched(public: Api, api: Api, request_: PaymentRequest, nodes: Nodes) -> None:
    assert api.get(f"/api/payment-requests/{request_.pk}").json()["deposit_address"] is None
    answer = public.post(path(request_), {})
    assert answer.status_code == 200
    shown = answer.json()
    assert list(shown) == ["address", "deposit"]
    assert list(shown["deposit"]) == ["factory", "salt", "init_code", "init_code_hash"]
    assert nodes.rehearsed == [(request_.recipient_address, request_.token.contract_address, request_.amount)]
    row = DepositAddress.objects.get()
    assert (row.request_id, row.address, row.next_block) == (request_.pk, shown["address"], None)
    assert (row.factory, row.init_code_hash) == (
        shown["deposit"]["factory"],
        shown["deposit"]["init_code_hash"],
    )
    assert row.next_look_at == request_.expires_at + EACH_BLOCK_FOR
    for view in (f"/api/payment-requests/{request_.pk}", f"/api/public/payment-requests/{request_.pk}"):
        assert api.get(view).json()["deposit_address"] == shown["address"]
    assert Transition.objects.filter(request=request_, reason__contains=shown["address"]).exists()


def test_second_call_returns_the_same_without_a_check(
    public: Api, request_: PaymentRequest, nodes: Nodes
) -> None:
    first = public.post(path(request_)).json()
    PaymentRequest.objects.filter(pk=request_.pk).update(status="expired")
    again = public.post(f"/api/public/payment-requests/{request_.shortcode}/deposit-address", {})
    assert (again.status_code, again.json()) == (200, first)
    assert (len(nodes.rehearsed), DepositAddress.objects.count()) == (1, 1)


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_request_that_ended_gets_no_address(
    public: Api, request_: PaymentRequest, nodes: Nodes, status: str
) -> None:
    PaymentRequest.objects.filter(pk=request_.pk).update(status=status)
    assert_not_shown(request_, public.post(path(request_)), 409, "payment_request_not_active")
    assert nodes.rehearsed == []


def test_request_that_is_paid_in_full_gets_no_address(
    public: Api, request_: PaymentRequest, nodes: Nodes
) -> None:
    PaymentRequest.objects.filter(pk=request_.pk).update(amount_paid=request_.amount)
    assert_not_shown(request_, public.post(path(request_)), 409, "payment_request_not_active")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: Merchant.objects.update(deposit_addresses=False), "has not switched on"),
        (lambda r: PaymentRequest.objects.update(references=False), "references are switched off"),
        (lambda r: PaymentRequest.objects.update(is_refund=True), "Refunds have no"),
        (lambda r: Token.objects.filter(pk=r.token_id).update(tags=["rebasing"]), "tagged rebasing"),
        (lambda r: Token.objects.filter(pk=r.token_id).update(tags=["x", "fee_on_transfer"]), "tagged fee"),
        (lambda r: Token.objects.filter(pk=r.token_id).update(is_active=False), "not accepted"),
        (lambda r: Chain.objects.filter(pk=r.chain_id).update(is_active=False), "not accepted"),
    ],
)
def test_unsuitable_request_gets_no_address(
    public: Api,
    request_: PaymentRequest,
    nodes: Nodes,
    change: Callable[[PaymentRequest], object],
    message: str,
) -> None:
    change(request_)
    answer = public.post(path(request_))
    assert_not_shown(request_, answer, 409, "deposit_address_unavailable")
    assert message in answer.json()["error"]["message"]
    assert nodes.rehearsed == []


@pytest.mark.parametrize("problem", list(DepositProblem))
def test_failed_rehearsal_shows_no_address(
    public: Api, request_: PaymentRequest, nodes: Nodes, problem: DepositProblem
) -> None:
    nodes.problem = problem
    assert_not_shown(request_, public.post(path(request_)), 409, "deposit_address_unavailable")


def confirm(merchant: Merchant, address: str, chain_type: str = "evm") -> None:
    ContractRecipient.objects.create(
        merchant=merchant, chain_type=chain_type, address=address, confirmed_by="alice"
    )


def test_contract_gets_addresses_while_it_is_confirmed(
    public: Api, request_: PaymentRequest, request_for: Make, nodes: Nodes
) -> None:
    nodes.is_contract = True
    answer = public.post(path(request_))
    assert_not_shown(request_, answer, 409, "deposit_address_unavailable")
    assert "has not confirmed in the portal" in answer.json()["error"]["message"]
    confirm(request_.merchant, request_.recipient_address)
    assert public.post(path(request_)).status_code == 200
    ContractRecipient.objects.all().delete()
    assert public.post(path(request_for())).status_code == 409
    assert public.post(path(request_)).status_code == 200
    assert DepositAddress.objects.count() == 1


def test_confirmation_of_another_address_or_merchant_is_none(
    public: Api, request_: PaymentRequest, other_merchant: Merchant, nodes: Nodes
) -> None:
    nodes.is_contract = True
    confirm(other_merchant, request_.recipient_address)
    confirm(request_.merchant, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
    confirm(request_.merchant, request_.recipient_address, "solana")
    assert_not_shown(request_, public.post(path(request_)), 409, "deposit_address_unavailable")


def test_confirmation_withdrawn_during_the_check_shows_nothing(
    public: Api, request_: PaymentRequest, nodes: Nodes
) -> None:
    nodes.is_contract, nodes.meanwhile = True, ContractRecipient.objects.all().delete
    confirm(request_.merchant, request_.recipient_address)
    assert_not_shown(request_, public.post(path(request_)), 409, "deposit_address_unavailable")


def test_dead_node_is_a_temporary_fault(public: Api, request_: PaymentRequest, nodes: Nodes) -> None:
    nodes.is_down = True
    answer = public.post(path(request_))
    assert_not_shown(request_, answer, 503, "node_unavailable")
    assert answer["Retry-After"]


@pytest.mark.parametrize("kind", ["feature", "token", "chain"])
def test_kill_switch_stops_showing_and_not_watching(
    public: Api, api: Api, request_: PaymentRequest, nodes: Nodes, kind: str
) -> None:
    address = public.post(path(request_)).json()["address"]
    names = {
        "feature": "deposit_addresses",
        "token": f"token:{request_.token_id}",
        "chain": f"chain:{request_.chain_id}",
    }
    Switch.objects.create(name=names[kind])
    stopped = public.post(path(request_))
    assert (stopped.status_code, stopped.json()["error"]["code"]) == (503, "service_unavailable")
    assert public.get(f"/api/public/payment-requests/{request_.pk}").json()["deposit_address"] is None
    assert api.get(f"/api/payment-requests/{request_.pk}").json()["deposit_address"] == address
    assert DepositAddress.objects.get().next_block is None


def test_merchant_that_switches_off_hides_shown_addresses(
    public: Api, request_: PaymentRequest, nodes: Nodes
) -> None:
    public.post(path(request_))
    Merchant.objects.update(deposit_addresses=False)
    assert public.post(path(request_)).status_code == 409
    assert public.get(f"/api/public/payment-requests/{request_.pk}").json()["deposit_address"] is None
    assert DepositAddress.objects.exists()


def test_only_calls_that_query_nodes_are_limited(
    public: Api, request_: PaymentRequest, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[object] = []
    monkeypatch.setattr("checkout.api.views.count_expensive", lambda request, about: counted.append(about))
    public.post(path(request_))
    public.post(path(request_))
    assert counted == [request_.pk]


def test_creating_a_request_asks_no_node_and_shows_nothing(
    api: Api, merchant: Merchant, request_: PaymentRequest, nodes: Nodes
) -> None:
    made = api.post("/api/payment-requests", order(request_))
    assert (made.status_code, made.json()["deposit_address"], nodes.rehearsed) == (201, None, [])


def order(request: PaymentRequest, **more: object) -> dict[str, object]:
    return {
        "amount": "1",
        "token_id": request.token_id,
        "chain_id": request.chain_id,
        "recipient_address": request.recipient_address,
        **more,
    }


@pytest.mark.parametrize("part", ["address", "factory"])
def test_deposit_address_and_factory_are_no_recipients(
    public: Api, api: Api, request_: PaymentRequest, nodes: Nodes, part: str
) -> None:
    shown = public.post(path(request_)).json()
    address = shown["address"] if part == "address" else shown["deposit"]["factory"]
    refused = api.post("/api/payment-requests", order(request_, recipient_address=address.lower()))
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "address_invalid")
    assert PaymentRequest.objects.count() == 1


def test_link_to_a_later_deposit_address_gets_no_request(
    public: Api, api: Api, request_: PaymentRequest, nodes: Nodes
) -> None:
    deposits = request_.chain.family.deposits
    assert deposits is not None
    address = deposits.deposit_of(request_.recipient_address, request_.pk).address
    link = api.post("/api/payment-links", order(request_, recipient_address=address, name="Cups")).json()
    assert public.post(path(request_)).json()["address"] == address
    refused = api.post("/api/payment-requests", {"payment_link": link["id"]})
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert (error["code"], error["param"]) == ("address_invalid", "recipient_address")
    page = public.post(f"/l/{link['url'].rsplit('/', 1)[-1]}")
    assert page.status_code == 410
    assert PaymentRequest.objects.count() == 1


def test_deposit_address_is_no_recipient_of_a_link(
    public: Api, api: Api, request_: PaymentRequest, nodes: Nodes
) -> None:
    address = public.post(path(request_)).json()["address"]
    refused = api.post("/api/payment-links", order(request_, recipient_address=address, name="Cups"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "address_invalid")
    assert not PaymentLink.objects.exists()


def test_deposit_address_is_no_recipient_of_a_refund(
    public: Api, api: Api, request_: PaymentRequest, nodes: Nodes
) -> None:
    address = public.post(path(request_)).json()["address"]
    refused = api.post(
        f"/api/payment-requests/{request_.pk}/refunds", {"amount": "1", "recipient_address": address}
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "address_invalid")


def test_address_that_is_a_recipient_is_not_shown(
    public: Api, request_: PaymentRequest, request_for: Make, nodes: Nodes
) -> None:
    """The address depends only on the request's id. So a merchant can use it as a recipient before it is shown."""
    deposits = request_.chain.family.deposits
    assert deposits is not None
    address = deposits.deposit_of(request_.recipient_address, request_.pk).address
    other = request_for()
    PaymentRequest.objects.filter(pk=other.pk).update(recipient_address=address)
    assert_not_shown(request_, public.post(path(request_)), 409, "deposit_address_unavailable")
