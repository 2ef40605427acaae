"""A transaction is a request's swap only if it names a quote that was issued for the request."""

import secrets
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from chains.models import Chain
from config.api.errors import ApiError
from demo.contracts import deploy
from payments.models import ConsumedTransfer, PayerProof, Payment, PaymentRequest, Route
from payments.providers.base import SwapState
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.rows import delivery_hash
from tests.support.payments.world import look, make_request, submit
from tests.support.swaps.following import assert_nothing_counted
from tests.support.swaps.scripted import SELECTOR, USDC_UNIT, Scripted, delivered, under_way

ASKED = 10 * USDC_UNIT
DEAD_NODE = "http://127.0.0.1:9"
STRANGER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"


def decided(scripted: Scripted, request: PaymentRequest, sent: str) -> Payment:
    return scripted.decide(submit(request, sent, scripted.world.first_row))


@pytest.mark.parametrize("quoted", ["not at all", "and not built", "on another chain"])
def test_wrong_chain_without_built_swap_fails_without_queries(scripted: Scripted, quoted: str) -> None:
    request = scripted.request()
    bound_by = secrets.token_bytes(32)
    if quoted == "and not built":
        scripted.quote(request, is_built=False, bound_by=bound_by)
    if quoted == "on another chain":
        quote = scripted.quote(request, bound_by=bound_by)
        Route.objects.filter(pk=quote.route_id).update(chain=scripted.world.second_row)
    sent = scripted.send_naming(bound_by)
    Chain.objects.filter(pk=scripted.world.first_row.pk).update(rpc_urls=[DEAD_NODE])
    payment = submit(request, sent, scripted.world.first_row)
    look(scripted.clock)
    assert_nothing_counted(payment, "wrong_chain")


@pytest.mark.parametrize("shape", ["another id", "not pinned", "half of the id", "in a plain transfer"])
def test_transaction_without_own_quote_is_unbound_with_swap_hint(scripted: Scripted, shape: str) -> None:
    request = scripted.request()
    bound_by = bytes(scripted.quote(request).bound_by)
    match shape:
        case "another id":
            sent = scripted.send_naming(secrets.token_bytes(32))
        case "not pinned":
            sent = scripted.send_call(STRANGER, SELECTOR + bound_by)
        case "half of the id":
            sent = scripted.send_naming(bytes(16), bound_by[:16])
        case _:
            chain = scripted.world.first
            sent = chain.transfer(chain.usdc, chain.recipient, ASKED, tail=bound_by)
    payment = decided(scripted, request, sent)
    assert_nothing_counted(payment, "transaction_not_bound")
    assert "not a swap that was offered for this request" in payment.failure_message
    assert not scripted.provider.asked
    with pytest.raises(ApiError, match="submit the transaction that delivered"):
        accept_payment(payment, reason="I know them", actor="test")


def test_the_first_eight_bytes_after_the_selector_bind(scripted: Scripted) -> None:
    request = scripted.request()
    quote = scripted.quote(request)
    scripted.provider.says(under_way())
    sent = scripted.send_naming(bytes(quote.bound_by)[:8], b"\0" * 20)
    payment = scripted.bridge(submit(request, sent, scripted.world.first_row))
    assert (payment.quote, payment.bound_by) == (quote, "provider")


def test_transaction_with_anothers_quote_pays_only_that_request(
    scripted: Scripted,
) -> None:
    victim, thief = scripted.request(), scripted.request()
    quote = scripted.quote(victim)
    scripted.quote(thief)
    sent = scripted.send_naming(bytes(quote.bound_by))
    assert_nothing_counted(decided(scripted, thief, sent), "transaction_not_bound")
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    payment = decided(scripted, victim, sent)
    assert (payment.status, payment.quote) == ("completed", quote)
    thief.refresh_from_db()
    assert thief.amount_paid == 0


def test_transaction_naming_quotes_of_two_requests_pays_neither(scripted: Scripted) -> None:
    requests = [scripted.request(), scripted.request()]
    quotes = [scripted.quote(request) for request in requests]
    sent = scripted.send_naming(*(bytes(quote.bound_by) for quote in quotes))
    for request in requests:
        assert_nothing_counted(decided(scripted, request, sent), "transaction_ambiguous")
    assert not scripted.provider.asked


def test_every_quote_issued_for_a_route_binds(scripted: Scripted) -> None:
    request = scripted.request("20")
    first, second = scripted.quote(request), scripted.quote(request)
    for quote in (first, second):
        scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
        assert scripted.decide(scripted.depart(request, quote)).quote == quote
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("completed", 2 * ASKED)


def test_quote_made_after_the_transaction_does_not_bind(scripted: Scripted) -> None:
    request = scripted.request()
    bound_by = secrets.token_bytes(32)
    sent = scripted.send_naming(bound_by)
    scripted.quote(request, bound_by=bound_by, created_at=timezone.now() + timedelta(minutes=5))
    assert_nothing_counted(decided(scripted, request, sent), "transaction_not_bound")


def test_transaction_older_than_request_fails_despite_its_quote(scripted: Scripted) -> None:
    request = scripted.request()
    quote = scripted.quote(request, created_at=timezone.now() - timedelta(hours=2))
    sent = scripted.send_naming(bytes(quote.bound_by))
    PaymentRequest.objects.filter(pk=request.pk).update(created_at=timezone.now() + timedelta(minutes=5))
    assert_nothing_counted(decided(scripted, request, sent), "transaction_too_old")


# --- on one chain -------------------------------------------------------------------------------------------------

Pay = Callable[..., str]


@pytest.fixture
def batch(scripted: Scripted) -> str:
    """A pinned contract on the first chain that holds USDC and makes any calls for its caller."""
    chain = scripted.world.first
    contract = deploy.deploy_contract(chain.url, "BatchPayer", key=chain.payer_key)
    deploy.mint(chain.url, chain.usdc, contract, 10**6 * USDC_UNIT)
    scripted.world.first_row.routers = {"lifi": [contract]}
    scripted.world.first_row.save(update_fields=["routers"])
    return contract


@pytest.fixture
def here(scripted: Scripted) -> Callable[..., PaymentRequest]:
    """A function that makes requests for USDC on the first chain."""
    usdc = scripted.world.token(scripted.world.first_row, "USDC")
    return lambda amount="10", **different: make_request(
        scripted.merchant, usdc, amount, scripted.world.first.recipient, **different
    )


@pytest.fixture
def swapping(scripted: Scripted, batch: str) -> Pay:
    """Send a call to the pinned contract with these ids and these USDC transfers; return the hash."""
    chain = scripted.world.first

    def run(
        *ids: bytes, amounts: tuple[int, ...] = (ASKED,), tail: bytes = b"", to: str = chain.recipient
    ) -> str:
        moves = []
        for amount in amounts:
            arguments = bytes.fromhex(to[2:]).rjust(32, b"\0") + amount.to_bytes(32)
            moves.append((chain.usdc, 0, bytes.fromhex("a9059cbb") + arguments + tail, False))
        data = keccak(text="run((address,uint256,bytes,bool)[])")[:4]
        return scripted.send_call(
            batch, data + encode(["(address,uint256,bytes,bool)[]"], [moves]) + b"".join(ids)
        )

    return run


def test_own_transaction_transfers_count_without_provider_call(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    request = here("12")
    quote = scripted.quote(request)
    payment = decided(scripted, request, swapping(bytes(quote.bound_by), amounts=(ASKED, 2 * USDC_UNIT)))
    assert (payment.status, payment.type, payment.bound_by) == ("completed", "swap", "provider")
    assert (payment.token, payment.amount) == (quote.route.token, quote.amount_in)
    assert (payment.amount_received, payment.swap.provider) == (12 * USDC_UNIT, "lifi")
    assert not scripted.provider.asked
    assert ConsumedTransfer.objects.count() == 2


def test_swap_below_depth_covers_its_guaranteed_amount(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    Chain.objects.filter(pk=scripted.world.first_row.pk).update(confirmations="2")
    request = here()
    quote = scripted.quote(request)
    payment = submit(request, swapping(bytes(quote.bound_by)), scripted.world.first_row)
    scripted.step(payment)
    assert (payment.status, payment.is_in_flight, payment.type) == ("processing", True, "swap")
    assert (payment.token, payment.amount) == (quote.route.token, quote.amount_in)
    assert payment.expected_amount == quote.amount_out_min
    scripted.world.first.mine()
    assert scripted.decide(payment).status == "completed"


def test_transfer_in_swap_with_anothers_reference_pays_that_one(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    request, other = here(), here()
    sent = swapping(bytes(scripted.quote(request).bound_by), tail=bytes(other.reference))
    assert_nothing_counted(decided(scripted, request, sent), "transaction_not_bound")
    payment = decided(scripted, other, sent)
    assert (payment.status, payment.bound_by, payment.type) == ("completed", "reference", "direct")


def test_its_own_reference_beats_the_quote(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    request = here()
    sent = swapping(bytes(scripted.quote(request).bound_by), tail=bytes(request.reference))
    payment = decided(scripted, request, sent)
    assert (payment.status, payment.bound_by, payment.type) == ("completed", "reference", "direct")
    assert payment.token == request.token


def test_naming_two_requests_on_one_chain_is_ambiguous(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    requests = [here(), here()]
    sent = swapping(*(bytes(scripted.quote(request).bound_by) for request in requests))
    for request in requests:
        assert_nothing_counted(decided(scripted, request, sent), "transaction_ambiguous")


def prove(request: PaymentRequest, account: str) -> None:
    now = timezone.now()
    route = Route.objects.create(
        request=request,
        wallet_address=account,
        chain=request.chain,
        token=request.token,
        amount=ASKED,
        expires_at=now,
    )
    PayerProof.objects.create(
        request=request,
        route=route,
        chain=request.chain,
        token=request.token,
        recipient_address=request.recipient_address,
        address=account,
        not_before=now - timedelta(minutes=1),
        not_after=now + timedelta(hours=1),
    )


def test_proof_does_not_cover_call_with_another_requests_quote(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay, batch: str
) -> None:
    proved, swapped = here(), here()
    prove(proved, batch)
    sent = swapping(bytes(scripted.quote(swapped).bound_by))
    assert_nothing_counted(decided(scripted, proved, sent), "transaction_not_bound")
    assert decided(scripted, swapped, sent).bound_by == "provider"


def test_relayer_naming_own_quote_does_not_deny_proved_payment(
    scripted: Scripted, here: Callable[..., PaymentRequest], batch: str
) -> None:
    chain = scripted.world.first
    proved, strangers = here(), here()
    account = deploy.deploy_contract(chain.url, "BatchPayer", key=chain.payer_key)
    deploy.mint(chain.url, chain.usdc, account, ASKED)
    prove(proved, account)
    run = keccak(text="run((address,uint256,bytes,bool)[])")[:4]
    named = run + encode(["(address,uint256,bytes,bool)[]"], [[]]) + bytes(scripted.quote(strangers).bound_by)
    arguments = bytes.fromhex(chain.recipient[2:]).rjust(32, b"\0") + ASKED.to_bytes(32)
    pay = bytes.fromhex("a9059cbb") + arguments
    calls = [(batch, 0, named, False), (chain.usdc, 0, pay, False)]
    sent = scripted.send_call(account, run + encode(["(address,uint256,bytes,bool)[]"], [calls]))
    scripted.provider.says(delivered(sent, ASKED))
    assert_nothing_counted(decided(scripted, strangers, sent), "transaction_not_bound")
    payment = decided(scripted, proved, sent)
    assert (payment.status, payment.bound_by, payment.amount_received) == ("completed", "payer", ASKED)


def test_without_own_transfer_the_provider_may_deliver_elsewhere(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    request = here()
    quote = scripted.quote(request)
    sent = swapping(bytes(quote.bound_by), to=STRANGER)
    by = swapping(amounts=(ASKED,))
    scripted.provider.says(under_way(SwapState.UNKNOWN), delivered(by, ASKED))
    payment = decided(scripted, request, sent)
    assert (payment.status, delivery_hash(payment)) == ("completed", by)
    assert ConsumedTransfer.objects.get().transaction_hash == by


def test_own_transaction_without_reported_delivery_fails_at_once(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    request = here()
    quote = scripted.quote(request)
    sent = swapping(bytes(quote.bound_by), to=STRANGER)
    scripted.provider.says(delivered(sent, ASKED))
    payment = decided(scripted, request, sent)
    assert_nothing_counted(payment, "wrong_recipient")
    assert (payment.attempts, len(scripted.provider.asked)) == (0, 1)


def test_unbound_transaction_on_the_same_chain_is_acceptable(
    scripted: Scripted, here: Callable[..., PaymentRequest], swapping: Pay
) -> None:
    request = here()
    scripted.quote(request)
    payment = decided(scripted, request, swapping(secrets.token_bytes(32)))
    assert_nothing_counted(payment, "transaction_not_bound")
    accept_payment(payment, reason="I know them", actor="test")
    scripted.decide(payment)
    assert (payment.status, payment.bound_by, payment.type) == ("completed", "manual", "direct")
