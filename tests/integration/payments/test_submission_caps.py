"""The caps on public submissions. Strangers' hashes never block the customer's or the merchant's own."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

from chains.client import ChainError, Snapshot
from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode
from config.api.limits.client_address import client_digest, client_identity
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Route
from payments.submission.caps import MAX_OPEN_PAYMENTS, MAX_PUBLIC_PAYMENTS, MAX_PUBLIC_ROWS
from payments.submission.hashes import submit_for_merchant, submit_hash
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.rows import change, new_payments
from tests.support.payments.world import Clock, look, look_until_decided, make_request, pay, submit

Make = Callable[..., PaymentRequest]
AMOUNT = 10_000_000
STRANGER = "stranger"


class Down:
    """A chain whose nodes don't respond."""

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        raise ChainError("no node gave an answer")


def unqueried(chain: Chain) -> Any:
    raise AssertionError(f"{chain} was asked")


def limited() -> None:
    raise ApiError(ErrorCode.RATE_LIMITED, "Too many attempts. Try again in 60 seconds.", retry_after=60)


def hash_of(number: int) -> str:
    return f"0x{number:064x}"


def rows(request: PaymentRequest, count: int, **columns: Any) -> None:
    values = {"status": "failed", "failure_code": "transaction_not_bound", "next_check_at": None, **columns}
    place = {"request": request, "chain": request.chain}
    new_payments({**place, "transaction_hash": hash_of(10_000 + number), **values} for number in range(count))


def counted(request: PaymentRequest, count: int = MAX_PUBLIC_PAYMENTS) -> None:
    rows(request, count, seen_at=timezone.now())


def open_by(request: PaymentRequest, submitter: str, *, seen: bool = True) -> None:
    columns = {"status": "pending", "failure_code": "", "next_check_at": timezone.now()}
    seen_at = timezone.now() if seen else None
    rows(request, MAX_OPEN_PAYMENTS, submitter=submitter, seen_at=seen_at, **columns)


def refusal(request: PaymentRequest, transaction_hash: str, **more: Any) -> tuple[str, int | None]:
    """Check that the call is rejected and stores nothing; return the error's code and Retry-After."""
    before = Payment.objects.count()
    with pytest.raises(ApiError) as raised:
        submit_hash(request, chain=request.chain, transaction_hash=transaction_hash, actor="checkout", **more)
    assert Payment.objects.count() == before
    return raised.value.problems[0].code.value, raised.value.retry_after


def unbound(chain: LocalChain) -> str:
    return chain.transfer(chain.usdc, chain.recipient, AMOUNT)


def test_the_five_open_ones_count_for_each_client_alone(request_for: Make) -> None:
    request = request_for()
    open_by(request, STRANGER)
    assert refusal(request, hash_of(1), submitter=STRANGER)[0] == "too_many_open_payments"
    submit(request, hash_of(1))


def test_five_unknown_hashes_do_not_block_a_known_transaction(
    request_for: Make, local_chain: LocalChain
) -> None:
    """Customers behind one router share an IP address. An invented hash stays open for more than an hour."""
    request = request_for()
    open_by(request, STRANGER, seen=False)
    assert refusal(request, hash_of(1), submitter=STRANGER)[0] == "too_many_open_payments"
    payment, is_new = submit_hash(
        request,
        chain=request.chain,
        transaction_hash=unbound(local_chain),
        actor="checkout",
        submitter=STRANGER,
    )
    assert (is_new, payment.status) == (True, "pending")


def test_a_client_is_known_by_a_digest_that_names_no_address(public: Api, request_for: Make) -> None:
    request = request_for()
    body = {"transaction_hash": hash_of(1), "chain_id": request.chain_id}
    assert public.post(f"/api/public/payment-requests/{request.id}/payments", body).status_code == 201
    payment = Payment.objects.get()
    client = RequestFactory().get("/", REMOTE_ADDR="127.0.0.1")
    assert payment.submitter == client_digest(client)
    assert len(payment.submitter) == 64
    assert client_identity(client) not in payment.submitter
    assert client_digest(client) != client_digest(RequestFactory().get("/", REMOTE_ADDR="127.0.0.2"))


@pytest.mark.usefixtures("each_kind")
@pytest.mark.parametrize("cap", ["open", "public", "rows"])
def test_a_bound_transaction_is_refused_by_no_cap(
    request_for: Make, local_chain: LocalChain, cap: str
) -> None:
    request, clock = request_for(), Clock()
    sent = pay(local_chain, request)
    if cap == "open":
        open_by(request, "")
    else:
        counted(request, MAX_PUBLIC_PAYMENTS if cap == "public" else MAX_PUBLIC_ROWS)
    assert refusal(request, unbound(local_chain))[0] in ("too_many_open_payments", "too_many_payments")
    payment = look_until_decided(submit(request, sent), clock)
    assert (payment.status, payment.amount_received) == ("completed", AMOUNT)


def old_transactions(chain: LocalChain, count: int) -> list[str]:
    chain.rpc("evm_setAutomine", False)
    try:
        old = [unbound(chain) for _ in range(count)]
        chain.mine()
    finally:
        chain.rpc("evm_setAutomine", True)
    return old


@pytest.mark.usefixtures("each_kind")
def test_old_transaction_counts_toward_no_cap_on_any_node_kind(
    public: Api, merchant: Merchant, ether: Token, local_chain: LocalChain
) -> None:
    """If the old transaction counted, the cap would reject the last submission."""
    (old,) = old_transactions(local_chain, 1)
    request, clock = make_request(merchant, ether, "0.01", local_chain.recipient), Clock()
    _submit_before_the_request(public, request, [old], clock)
    counted(request, MAX_PUBLIC_PAYMENTS - 1)
    _pays_still(public, request, local_chain, clock)


def test_thirty_old_transactions_do_not_block_native_payment(
    public: Api, merchant: Merchant, ether: Token, local_chain: LocalChain
) -> None:
    old = old_transactions(local_chain, MAX_PUBLIC_PAYMENTS)
    request, clock = make_request(merchant, ether, "0.01", local_chain.recipient), Clock()
    _submit_before_the_request(public, request, old, clock)
    _pays_still(public, request, local_chain, clock)


def _submit_before_the_request(
    public: Api, request: PaymentRequest, old: Sequence[str], clock: Clock
) -> None:
    """Submit these hashes. The request looks newer than their transactions, so each fails as too old."""
    created_at = request.created_at
    PaymentRequest.objects.filter(pk=request.pk).update(created_at=timezone.now() + timedelta(minutes=2))
    for number, sent in enumerate(old, 1):
        assert _submitted(public, request, sent).status == "pending"
        if number % MAX_OPEN_PAYMENTS == 0 or number == len(old):
            look(clock)
    assert set(Payment.objects.values_list("failure_code", flat=True)) == {"transaction_too_old"}
    PaymentRequest.objects.filter(pk=request.pk).update(created_at=created_at)


def _pays_still(public: Api, request: PaymentRequest, chain: LocalChain, clock: Clock) -> None:
    payment = look_until_decided(_submitted(public, request, pay(chain, request)), clock)
    assert (payment.status, payment.amount_received) == ("completed", request.amount)


def _submitted(public: Api, request: PaymentRequest, sent: str) -> Payment:
    path = f"/api/public/payment-requests/{request.id}/payments"
    answer = public.post(path, {"transaction_hash": sent, "chain_id": request.chain_id})
    assert answer.status_code == 201, answer.content
    return Payment.objects.get(transaction_hash=sent)


@pytest.fixture
def not_mining(local_chain: LocalChain) -> Iterator[None]:
    local_chain.rpc("evm_setAutomine", False)
    yield
    local_chain.rpc("evm_setAutomine", True)
    local_chain.mine()


@pytest.mark.usefixtures("each_kind", "not_mining")
def test_pending_self_bound_transaction_is_exempt_from_caps(
    request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for()
    counted(request)
    open_by_self = {"status": "pending", "failure_code": "", "next_check_at": timezone.now()}
    change(
        Payment.objects.filter(transaction_hash__in=[hash_of(10_000 + n) for n in range(5)]), **open_by_self
    )
    assert refusal(request, unbound(local_chain))[0] == "too_many_open_payments"
    assert submit(request, pay(local_chain, request)).status == "pending"


@pytest.mark.usefixtures("not_mining")
def test_promises_that_are_never_mined_do_not_fill_the_database(
    request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for()
    rows(request, MAX_PUBLIC_ROWS, seen_at=timezone.now(), failure_code="transaction_replaced")
    promised = pay(local_chain, request)
    assert refusal(request, promised)[0] == "too_many_payments"
    local_chain.mine()
    assert submit(request, promised).status == "pending"


def test_unknown_and_old_hashes_do_not_count_toward_the_thirty(
    request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for()
    rows(request, MAX_PUBLIC_PAYMENTS // 2, failure_code="transaction_not_found")
    others = {"failure_code": "transaction_too_old", "seen_at": timezone.now()}
    new_payments(
        dict(
            request=request,
            chain=request.chain,
            transaction_hash=hash_of(20_000 + number),
            status="failed",
            **others,
        )
        for number in range(MAX_PUBLIC_PAYMENTS)
    )
    asked: list[str] = []
    submit_hash(
        request,
        chain=request.chain,
        transaction_hash=unbound(local_chain),
        actor="checkout",
        before_extra_lookup=lambda: asked.append("looked"),
    )
    assert asked == [], "no cap is reached"


def test_an_unknown_hash_is_subject_to_the_five_alone(request_for: Make, local_chain: LocalChain) -> None:
    request = request_for()
    counted(request)
    assert refusal(request, unbound(local_chain))[0] == "too_many_payments"
    submit(request, hash_of(1))
    open_by_likely = {"status": "processing", "failure_code": "", "likely_failure": "transaction_too_old"}
    change(
        Payment.objects.filter(transaction_hash__in=[hash_of(10_000 + n) for n in range(5)]),
        next_check_at=timezone.now(),
        **open_by_likely,
    )
    assert refusal(request, hash_of(2))[0] == "too_many_open_payments", "all open ones count against it"


def test_too_old_transaction_fails_and_counts_only_in_row_cap(
    request_for: Make, local_chain: LocalChain
) -> None:
    old, request = unbound(local_chain), request_for()
    PaymentRequest.objects.filter(pk=request.pk).update(created_at=timezone.now() + timedelta(minutes=2))
    request.refresh_from_db()
    counted(request)
    open_by_self = {"status": "pending", "failure_code": "", "next_check_at": timezone.now()}
    change(
        Payment.objects.filter(transaction_hash__in=[hash_of(10_000 + n) for n in range(4)]), **open_by_self
    )
    submit(request, hash_of(1))
    payment = submit(request, old)
    assert payment.likely_failure == "transaction_too_old"
    look(Clock())
    payment.refresh_from_db()
    assert payment.failure_code == "transaction_too_old"
    rows_left = MAX_PUBLIC_ROWS - Payment.objects.count()
    new_payments(
        {
            "request": request,
            "chain": request.chain,
            "transaction_hash": hash_of(30_000 + number),
            "status": "failed",
            "failure_code": "transaction_too_old",
        }
        for number in range(rows_left)
    )
    other = local_chain.transfer(local_chain.dai, local_chain.recipient, AMOUNT)
    assert refusal(request, other)[0] == "too_many_payments", "the rows of a request are bounded"


def test_without_a_node_to_ask_it_is_no_refusal_but_a_503(request_for: Make) -> None:
    request = request_for()
    counted(request)
    code, pause = refusal(request, hash_of(1), client=lambda _: Down())
    assert code == "node_unavailable"
    assert pause


def test_the_chain_is_asked_only_when_a_cap_is_reached(request_for: Make) -> None:
    request = request_for()
    submit_hash(request, chain=request.chain, transaction_hash=hash_of(1), actor="checkout", client=unqueried)
    assert Payment.objects.count() == 1


def test_what_is_asked_beyond_the_caps_can_be_limited(request_for: Make) -> None:
    request = request_for()
    counted(request)
    code = refusal(request, hash_of(1), before_extra_lookup=limited, client=lambda _: Down())
    assert code == ("rate_limited", 60)


@pytest.mark.usefixtures("each_kind")
def test_the_merchant_may_always_submit_and_it_counts_nowhere(
    request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    counted(request, MAX_PUBLIC_ROWS)
    open_by_self = {"status": "pending", "failure_code": "", "next_check_at": timezone.now()}
    change(
        Payment.objects.filter(transaction_hash__in=[hash_of(10_000 + n) for n in range(5)]), **open_by_self
    )
    sent = pay(local_chain, request)
    payment, is_new = submit_for_merchant(
        request, chain=request.chain, transaction_hash=sent, actor="api key"
    )
    assert (is_new, payment.submitted_publicly) == (True, False)
    assert look_until_decided(payment, clock).status == "completed"


def test_partly_credited_transaction_is_read_within_the_limit(
    request_for: Make, local_chain: LocalChain
) -> None:
    """A rejected hash is not stored. Without this limit, the same call could be repeated forever."""
    request, credited = request_for(), request_for()
    look_until_decided(submit(credited, used := pay(local_chain, credited)), Clock())
    Payment.objects.update(carries_others=True)
    assert refusal(request, used, client=unqueried, before_extra_lookup=limited) == ("rate_limited", 60)
    assert not request.payments.exists()


def test_wallet_is_read_within_the_limit_of_calls_beyond_a_cap(
    request_for: Make, local_chain: LocalChain
) -> None:
    """The call itself has no limit. A rejected hash is not stored, so the call could be repeated forever."""
    request, credited = request_for(), request_for()
    look_until_decided(submit(credited, used := pay(local_chain, credited)), Clock())
    columns = {"amount": AMOUNT, "expires_at": timezone.now(), "wallet_address": local_chain.payer}
    route = Route.objects.create(request=request, chain=request.chain, token=request.token, **columns)
    unread = {"route_id": route.pk, "client": unqueried, "before_extra_lookup": limited}
    assert refusal(request, used, **unread)[0] == "transaction_already_used"
    counted(request)
    assert refusal(request, hash_of(1), **unread)[0] == "rate_limited"
