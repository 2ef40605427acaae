"""The gas account doesn't sign unfit transactions. Nothing is stored or spent, and the ordinary route remains."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from spl.token.constants import TOKEN_PROGRAM_ID

from chains.families.solana.cosigning.vetting import LIGHTHOUSE
from merchants.models import Merchant
from payments.models import Authorization, Payment, PaymentRequest
from payments.sponsoring.terms import LEFT_TO_BUILD, LEFT_TO_SEND
from tests.support.payments.cosigning import COINS, CosigningWorld
from tests.support.solana.programs import plant_approving
from tests.support.solana.signing import message_of, rebuilt, sign, sign_message

Change = Callable[[CosigningWorld, str], str]


def expect_rejection(world: CosigningWorld, answer: Any, status: int, code: str) -> None:
    """Check the error, and that nothing was stored or spent."""
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.json()
    world.work()
    assert not Payment.objects.exists()
    assert not Authorization.objects.filter(signed_at__isnull=False).exists()
    assert world.ledger.balance(world.sponsor_address) in (0, COINS)


def let_end_in(request: PaymentRequest, left: timedelta) -> None:
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now() + left)


def lighthouse(kind: int, *accounts: Pubkey) -> Instruction:
    metas = [AccountMeta(each, is_signer=False, is_writable=False) for each in accounts]
    return Instruction(Pubkey.from_string(LIGHTHOUSE), bytes([kind, 0, 0]), metas)


def another_amount(world: CosigningWorld, built: str) -> str:
    def change(each: Instruction) -> Instruction:
        is_transfer = each.program_id == TOKEN_PROGRAM_ID
        data = each.data[:1] + b"\1" + each.data[2:] if is_transfer else each.data
        return Instruction(each.program_id, data, each.accounts)

    return sign_message(rebuilt(built, change=change), world.payer)


def a_theft(world: CosigningWorld, built: str) -> str:
    sponsor, payer = world.sponsor.pubkey(), world.payer.pubkey()
    theft = transfer(TransferParams(from_pubkey=sponsor, to_pubkey=payer, lamports=1_000_000))
    return sign_message(rebuilt(built, add=[theft]), world.payer)


def a_memory_write(world: CosigningWorld, built: str) -> str:
    return sign_message(rebuilt(built, add=[lighthouse(0, world.payer.pubkey())]), world.payer)


def an_assertion_on_the_sponsor(world: CosigningWorld, built: str) -> str:
    return sign_message(rebuilt(built, add=[lighthouse(5, world.sponsor.pubkey())]), world.payer)


def another_fee_payer(world: CosigningWorld, built: str) -> str:
    return sign_message(rebuilt(built, fee_payer=world.payer.pubkey()), world.payer)


def another_blockhash(world: CosigningWorld, built: str) -> str:
    return sign_message(rebuilt(built, blockhash=Hash.new_unique()), world.payer)


def no_signature(world: CosigningWorld, built: str) -> str:  # noqa: ARG001 - as the others
    return built


def another_signature(world: CosigningWorld, built: str) -> str:  # noqa: ARG001 - as the others
    return sign(built, Keypair())


@pytest.mark.parametrize(
    "change",
    [
        another_amount,
        a_theft,
        a_memory_write,
        an_assertion_on_the_sponsor,
        another_fee_payer,
        another_blockhash,
        no_signature,
        another_signature,
    ],
)
def test_changed_transaction_is_invalid(world: CosigningWorld, change: Change) -> None:
    request = world.request()
    route = world.route(request)
    built = world.build(route)["transaction"]
    answer = world.submit(request, route, change(world, built), None)
    assert answer.json()["error"]["param"] == "transaction"
    expect_rejection(world, answer, 400, "signature_invalid")


def test_transaction_with_an_assertion_pays(world: CosigningWorld) -> None:
    plant_approving(world.ledger, Pubkey.from_string(LIGHTHOUSE))
    request = world.request()
    route = world.route(request)
    message = rebuilt(world.build(route)["transaction"], add=[lighthouse(5, world.payer.pubkey())])
    answer = world.submit(request, route, sign_message(message, world.payer))
    payment = world.work_until_decided(Payment.objects.get(pk=answer["id"]))
    assert (payment.status, payment.amount_received) == ("completed", request.amount)


def test_signature_of_typed_data_is_for_other_chains(world: CosigningWorld) -> None:
    request = world.request()
    body = {"route_id": world.route(request), "signature": "0x" + "11" * 65}
    answer = world.post(f"payment-requests/{request.pk}/authorizations", body, None)
    assert answer.json()["error"]["param"] == "signature"
    expect_rejection(world, answer, 400, "parameter_invalid")


def test_route_that_was_not_built_for_it_takes_no_transaction(world: CosigningWorld) -> None:
    request = world.request()
    direct, sponsored = world.routes(request)
    for route in (direct["id"], sponsored["id"]):  # no transaction was built for the second
        expect_rejection(world, world.submit(request, route, "AQ==", None), 409, "route_expired")


def test_expired_blockhash_is_rejected_and_built_again(world: CosigningWorld) -> None:
    request = world.request()
    route, signed = world.signed(request)
    height = Authorization.objects.get().last_valid_height
    assert height is not None
    world.pass_blocks(height)
    expect_rejection(world, world.submit(request, route, signed, None), 409, "route_expired")
    again = world.build(route)["transaction"]
    assert message_of(again).recent_blockhash != message_of(signed).recent_blockhash
    answer = world.submit(request, route, sign(again, world.payer))
    assert world.work_until_decided(Payment.objects.get(pk=answer["id"])).status == "completed"


def test_transaction_is_the_same_until_it_is_old(world: CosigningWorld) -> None:
    route = world.route(world.request())
    assert world.build(route) == world.build(route)


def test_request_that_ends_too_soon_is_not_sponsored(world: CosigningWorld) -> None:
    request = world.request()
    built_before, unbuilt = world.route(request), world.route(request)
    signed = sign(world.build(built_before)["transaction"], world.payer)
    let_end_in(request, LEFT_TO_BUILD)
    for route in (built_before, unbuilt):
        answer = world.post("build-transaction", {"route_id": route}, None)
        expect_rejection(world, answer, 409, "route_expired")
    let_end_in(request, LEFT_TO_SEND)
    expect_rejection(world, world.submit(request, built_before, signed, None), 409, "route_expired")
    let_end_in(request, LEFT_TO_BUILD)
    assert world.submit(request, built_before, signed)["sponsored"]


def test_payer_without_the_token_builds_nothing(world: CosigningWorld) -> None:
    request = world.request()
    poor = str(world.ledger.new_wallet().pubkey())
    answer = world.post("build-transaction", {"route_id": world.route(request, poor)}, None)
    expect_rejection(world, answer, 409, "insufficient_funds")


def test_payer_without_tokens_at_submission_is_rejected(world: CosigningWorld) -> None:
    request = world.request()
    route, signed = world.signed(request)
    world.empty_payer()
    expect_rejection(world, world.submit(request, route, signed, None), 409, "insufficient_funds")


def test_drained_sponsor_leaves_the_ordinary_route(world: CosigningWorld) -> None:
    request = world.request()
    route, signed = world.signed(request)
    unsigned_route = world.route(request)
    world.drain_sponsor()
    expect_rejection(world, world.submit(request, route, signed, None), 409, "sponsoring_unavailable")
    answer = world.post("build-transaction", {"route_id": unsigned_route}, None)
    expect_rejection(world, answer, 409, "sponsoring_unavailable")
    rich = world.ledger.new_wallet(lamports=10**8, usdc=100 * 10**6)
    direct, _ = world.routes(request, str(rich.pubkey()))
    assert world.build(direct["id"])["transaction"]


def test_sponsor_takes_part_in_no_payment(world: CosigningWorld) -> None:
    assert [each["sponsored"] for each in world.routes(world.request(), world.sponsor_address)] == [False]
    to_sponsor = world.request(recipient=world.sponsor_address)
    assert [each["sponsored"] for each in world.routes(to_sponsor)] == [False]


def test_key_that_was_replaced_signs_nothing_built_before(world: CosigningWorld, settings: Any) -> None:
    request = world.request()
    route, signed = world.signed(request)
    other = world.ledger.new_wallet(lamports=COINS)
    settings.SPONSOR_KEYS = {"solana": bytes(other).hex()}
    expect_rejection(world, world.submit(request, route, signed, None), 409, "sponsoring_unavailable")
    again = message_of(world.build(route)["transaction"])
    assert again.account_keys[0] == other.pubkey()


@pytest.mark.parametrize("off", ["key", "budget", "merchant", "references", "token"])
def test_nothing_is_sponsored_if_switched_off(world: CosigningWorld, settings: Any, off: str) -> None:
    request = world.request(references=False) if off == "references" else world.request()
    if off == "key":
        settings.SPONSOR_KEYS = {"evm": "", "solana": ""}
    elif off == "budget":
        settings.SPONSOR_DAILY_BUDGET = {}
    elif off == "merchant":
        Merchant.objects.update(sponsored_payments=False)
    elif off == "token":
        type(world.token).objects.update(authorization=None)
    assert [route["sponsored"] for route in world.routes(request)] == [False]


# --- budgets --------------------------------------------------------------------------------------------------------


def test_request_gets_a_hundredth_of_the_budget(world: CosigningWorld, settings: Any) -> None:
    request = world.request()
    route, signed = world.signed(request)
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: world.in_coins(10_000 * 100)}
    expect_rejection(world, world.submit(request, route, signed, None), 409, "sponsoring_unavailable")
    assert world.authorization().cost is None
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: world.in_coins(11_000 * 100)}
    world.submit(request, route, signed)
    assert 10_000 < (world.authorization().cost or 0) < 11_000


def test_deposit_counts_against_the_budget(world: CosigningWorld, settings: Any) -> None:
    request = world.new_request()
    route, signed = world.signed(request)
    deposit = world.authorization().deposit or 0
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: world.in_coins(deposit * 100)}
    expect_rejection(world, world.submit(request, route, signed, None), 409, "sponsoring_unavailable")


@pytest.mark.parametrize("is_new", [False, True])
def test_nothing_is_built_that_does_not_fit_the_budget(
    world: CosigningWorld, settings: Any, is_new: bool
) -> None:
    request = world.new_request() if is_new else world.request()
    route = world.route(request)
    lamports = 1_000_000 if is_new else 10_000
    settings.SPONSOR_DAILY_BUDGET = {world.row.pk: world.in_coins(lamports * 100)}
    answer = world.post("build-transaction", {"route_id": route}, None)
    expect_rejection(world, answer, 409, "sponsoring_unavailable")
    assert not Authorization.objects.exists()
