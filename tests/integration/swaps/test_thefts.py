"""If a customer's money moves in the same transaction as a thief's swap, it stays the customer's.

Anyone can forward many kinds of payments: a bridge's message, a relayer's fill, a smart wallet's signed
operation. So a thief can put one into a transaction that names a swap of the thief's own request.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from chains.client import Block, Transfer
from demo.aggregator.contracts import ROUTER
from demo.contracts import deploy
from payments.evaluation.binding import Bound, Delivery, Evidence, Taken, Unbound
from payments.evaluation.deliveries import find_delivery
from payments.models import ConsumedTransfer, FailureCode, PayerProof, Payment, PaymentRequest, Route
from payments.refunds.claims import NoSigner, payer_of
from payments.refunds.services import create_refund
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.world import look_until_decided, make_request, submit
from tests.support.swaps.following import assert_nothing_counted
from tests.support.swaps.scripted import NATIVE, USDC_UNIT, Scripted, delivered, under_way

ASKED = 10 * USDC_UNIT
STRANGER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"


def test_thiefs_swap_fill_takes_nothing_from_victims_fill(scripted: Scripted) -> None:
    """The thief's swap pays the thief. The thief fills it together with the victim's, for the same amount."""
    thief, victim = scripted.request(), scripted.request()
    stolen = scripted.depart(thief)
    by = scripted.deliver(ASKED)
    scripted.provider.says(delivered(by, ASKED, destination_account=STRANGER))
    assert_nothing_counted(scripted.decide(stolen), "wrong_recipient")
    scripted.provider.says(delivered(by, ASKED, destination_account=victim.recipient_address))
    assert scripted.decide(scripted.depart(victim)).status == "completed"


def test_swap_to_worthless_token_takes_no_transfer_beside_it(scripted: Scripted) -> None:
    thief, victim = scripted.request(), scripted.request()
    stolen = scripted.depart(thief)
    by = scripted.deliver(ASKED)
    scripted.provider.says(delivered(by, ASKED, destination_token=scripted.world.second.dai))
    assert_nothing_counted(scripted.decide(stolen), "swap_partial")
    scripted.provider.says(delivered(by, ASKED, destination_token=scripted.world.second.usdc))
    assert scripted.decide(scripted.depart(victim)).status == "completed"


# --- on one chain -------------------------------------------------------------------------------------------------


_MOVES = ["(address,uint256,bytes,bool)[]"]
_SWAP = "(address,address,address,address,uint256,bytes,bool)"
_SWAPPING = ("bytes32", "string", "string", "address", "uint256", _SWAP)


def named_together(scripted: Scripted, bound_by: bytes, to: str, *amounts: int) -> str:
    """Have a thief's contract swap one unit with this id and send these amounts; return the hash."""
    chain = scripted.world.first
    contract = deploy.deploy_contract(chain.url, "BatchPayer", key=chain.payer_key)
    deploy.mint(chain.url, chain.usdc, contract, 10**3 * USDC_UNIT)
    deploy.mint(chain.url, chain.usdc, ROUTER, USDC_UNIT)
    swap = (ROUTER, chain.usdc, NATIVE, chain.usdc, 0, encode(["uint256"], [1]), False)
    swapping = calling(
        f"swapTokensSingleV3NativeToERC20({','.join(_SWAPPING)})",
        _SWAPPING,
        (bound_by, "", "", STRANGER, 1, swap),
    )
    calls = [(ROUTER, 0, swapping, False)]
    for amount in amounts:
        moved = calling("transfer(address,uint256)", ("address", "uint256"), (to, amount))
        calls.append((chain.usdc, 0, moved, False))
    return scripted.send_call(contract, calling(f"run({_MOVES[0]})", _MOVES, (calls,)))


def calling(name: str, types: Sequence[str], arguments: Sequence[object]) -> bytes:
    return keccak(text=name)[:4] + encode(types, arguments)


@pytest.fixture
def here(scripted: Scripted) -> PaymentRequest:
    """A request for USDC on the first chain."""
    usdc = scripted.world.token(scripted.world.first_row, "USDC")
    return make_request(scripted.merchant, usdc, "10", scripted.world.first.recipient)


def test_transfer_beside_same_chain_swap_does_not_pay_for_it(
    scripted: Scripted, here: PaymentRequest
) -> None:
    quote = scripted.quote(here)
    sent = named_together(scripted, bytes(quote.bound_by), here.recipient_address, ASKED)
    payment = submit(here, sent, scripted.world.first_row)
    scripted.provider.says(under_way(), delivered(sent, 1, destination_account=STRANGER))
    assert_nothing_counted(scripted.decide(payment), "wrong_recipient")


def test_not_even_if_the_swap_pays_the_merchant_something_else(
    scripted: Scripted, here: PaymentRequest
) -> None:
    quote = scripted.quote(here)
    sent = named_together(scripted, bytes(quote.bound_by), here.recipient_address, ASKED)
    payment = submit(here, sent, scripted.world.first_row)
    scripted.provider.says(delivered(sent, 1, destination_account=here.recipient_address))
    assert_nothing_counted(scripted.decide(payment), "transaction_not_bound")
    accept_payment(payment, reason="I know them", actor="test")
    assert scripted.decide(payment).bound_by == "manual"


def test_transfer_outside_swap_call_fails_even_if_reported(scripted: Scripted, here: PaymentRequest) -> None:
    quote = scripted.quote(here)
    sent = named_together(scripted, bytes(quote.bound_by), here.recipient_address, ASKED, 7)
    payment = submit(here, sent, scripted.world.first_row)
    scripted.provider.says(delivered(sent, ASKED))
    assert_nothing_counted(scripted.decide(payment), "transaction_not_bound")
    assert not ConsumedTransfer.objects.exists()


def relayed(scripted: Scripted, to: str, *named: tuple[bytes, int]) -> str:
    """Have a relayer call a pinned contract once for each id, and each call pay its amount; return the hash."""
    chain = scripted.world.first
    relayer, pinned = (deploy.deploy_contract(chain.url, "BatchPayer", key=chain.payer_key) for _ in range(2))
    deploy.mint(chain.url, chain.usdc, pinned, 10**3 * USDC_UNIT)
    scripted.world.first_row.routers = {"lifi": [pinned]}
    scripted.world.first_row.save(update_fields=["routers"])
    calls = []
    for bound_by, amount in named:
        pay = calling("transfer(address,uint256)", ("address", "uint256"), (to, amount))
        swap = calling(f"run({_MOVES[0]})", _MOVES, ([(chain.usdc, 0, pay, False)],)) + bound_by
        calls.append((pinned, 0, swap, False))
    return scripted.send_call(relayer, calling(f"run({_MOVES[0]})", _MOVES, (calls,)))


@pytest.mark.parametrize("first", ["the customer's", "the relayer's"])
def test_relayers_newer_quote_takes_nothing_from_customers_swap(
    scripted: Scripted, here: PaymentRequest, first: str
) -> None:
    customers, relayers = (bytes(scripted.quote(here).bound_by) for _ in range(2))
    calls = [(customers, ASKED), (relayers, 1)]
    sent = relayed(
        scripted, here.recipient_address, *(calls if first == "the customer's" else reversed(calls))
    )
    payment = scripted.decide(submit(here, sent, scripted.world.first_row))
    assert (payment.status, payment.bound_by, payment.amount_received) == ("completed", "provider", ASKED + 1)
    assert (payment.quote, payment.route) == (None, None)
    assert sorted(ConsumedTransfer.objects.values_list("amount", flat=True)) == [1, ASKED]
    here.refresh_from_db()
    assert (here.status, here.amount_paid) == ("completed", ASKED + 1)


def test_relayer_of_customers_swap_names_no_refund_address(scripted: Scripted, here: PaymentRequest) -> None:
    """The newer quote's wallet is the relayer's own. The relayer sent the transaction."""
    quotes = [bytes(scripted.quote(here).bound_by) for _ in range(2)]
    sent = relayed(scripted, here.recipient_address, (quotes[0], ASKED - 1), (quotes[1], 1))
    assert scripted.decide(submit(here, sent, scripted.world.first_row)).status == "completed"
    assert may_name_address(here) == []


def test_who_sent_a_swap_alone_names_the_address_of_its_refund(
    scripted: Scripted, here: PaymentRequest
) -> None:
    sent = relayed(scripted, here.recipient_address, (bytes(scripted.quote(here).bound_by), ASKED))
    assert scripted.decide(submit(here, sent, scripted.world.first_row)).status == "completed"
    assert may_name_address(here) == [scripted.world.first.payer]


def may_name_address(request: PaymentRequest) -> list[str]:
    """Refund everything that was paid; return the wallets that may set the refund's address."""
    create_refund(request.pk, amount=None, recipient_address=None, payment_id=None, reason=None, actor="test")
    try:
        return [payer_of(request.refunds.get()).address]
    except NoSigner:
        return []


@pytest.mark.parametrize("newer", ["beside it", "before it"])
def test_cross_chain_swap_with_two_own_quotes_is_ambiguous(scripted: Scripted, newer: str) -> None:
    """The provider would report only one of the two deliveries."""
    request = scripted.request()
    ids = [bytes(scripted.quote(request).bound_by) for _ in range(2)]
    sent = scripted.send_naming(*(ids if newer == "beside it" else reversed(ids)))
    scripted.provider.says(delivered(scripted.deliver(1), 1))
    payment = scripted.decide(submit(request, sent, scripted.world.first_row))
    assert_nothing_counted(payment, "transaction_ambiguous")
    assert not scripted.provider.asked


def test_reported_amount_of_referenced_transfer_is_ambiguous() -> None:
    """The thief's own delivery has the reference of another request of the thief, so it doesn't count here."""
    aside, block = bytes(range(16)), Block(1, "0x1", datetime(2026, 11, 21, tzinfo=UTC))
    tiny = Transfer("0", "", STRANGER, ROUTER, 1, (aside,))
    victims = Transfer("1", "", STRANGER, ROUTER, ASKED)

    def counted(reported: int) -> Bound | Unbound:
        evidence = Evidence(None, foreign=frozenset({aside}))
        return find_delivery([tiny, victims], evidence, Delivery(reported, Taken()), block)

    refused = counted(1)
    assert isinstance(refused, Unbound)
    assert refused.code == FailureCode.TRANSACTION_AMBIGUOUS
    assert counted(ASKED) == Bound((victims,), Payment.BoundBy.PROVIDER)


def test_relayers_proof_claims_no_fill_of_the_victims_swap(
    scripted: Scripted,
) -> None:
    """The bridge takes the fill from the relayer's wallet, and repays it from the victim's deposit."""
    chain, now = scripted.world.second, timezone.now()
    victim, thief = scripted.request(), scripted.request(references=False)
    route = Route.objects.create(
        request=thief,
        wallet_address=chain.payer,
        chain=thief.chain,
        token=thief.token,
        amount=ASKED,
        expires_at=now,
    )
    PayerProof.objects.create(
        request=thief,
        route=route,
        chain=thief.chain,
        token=thief.token,
        recipient_address=thief.recipient_address,
        address=chain.payer,
        not_before=now - timedelta(minutes=1),
        not_after=now + timedelta(hours=1),
    )
    bridge = deploy.deploy_contract(chain.url, "BatchPayer", key=chain.payer_key)
    scripted.send_call(
        chain.usdc, calling("approve(address,uint256)", ("address", "uint256"), (bridge, ASKED)), chain
    )
    pulling = calling(
        "transferFrom(address,address,uint256)",
        ("address", "address", "uint256"),
        (chain.payer, victim.recipient_address, ASKED),
    )
    by = scripted.send_call(
        bridge, calling(f"run({_MOVES[0]})", _MOVES, ([(chain.usdc, 0, pulling, False)],)), chain
    )
    scripted.provider.says(delivered(by, ASKED, destination_account=victim.recipient_address))
    assert_nothing_counted(
        look_until_decided(submit(thief, by, scripted.world.second_row), scripted.clock),
        "transaction_not_bound",
    )
    assert scripted.decide(scripted.depart(victim)).status == "completed"
