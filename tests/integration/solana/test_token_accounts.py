"""Payments from several token accounts, and to an account that requires a memo."""

import base64

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from spl.token import instructions as spl
from spl.token.constants import TOKEN_2022_PROGRAM_ID

from chains.families.solana.references import reference_key
from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode
from demo.solana import mint
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.routes.routes import build_transaction, find_routes
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, make_request
from tests.support.solana.accounts import memo_required, open_account
from tests.support.solana.actions import MEMO
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.scene import Mints
from tests.support.solana.world import built_for, decide
from tests.verifying import discover_due

Status = PaymentRequest.Status
SOL = 10**9
UNIT = 10**6


def wallet_with(ledger: LocalLedger, first: int, *others: int) -> Keypair:
    """Return a wallet with these amounts of USDC, each in a separate token account."""
    wallet = ledger.new_wallet(lamports=SOL, usdc=first)
    owner = str(wallet.pubkey())
    for amount in others:
        ledger.send(ledger.token_move(owner, amount, to_account=open_account(ledger, owner)))
    return wallet


def usdc_balance(public: Api, request: PaymentRequest, wallet: str) -> tuple[str, bool]:
    """Return the wallet's balance of the requested token, and whether the page calls it sufficient."""
    path = f"/api/public/payment-requests/{request.pk}/balances/essential"
    [held] = [
        each
        for each in public.post(path, {"wallet_address": wallet}).json()["balances"]
        if each["is_requested"]
    ]
    return held["balance"]["raw"], held["sufficient"]


def test_balance_in_two_accounts_pays_in_one_transaction(
    public: Api, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    wallet = wallet_with(local_ledger, 5 * UNIT, 7 * UNIT)
    sender, recipient = str(wallet.pubkey()), new_address()
    request = make_request(merchant, solana_usdc, "11", recipient)
    assert usdc_balance(public, request, sender) == (str(12 * UNIT), True)

    signature = local_ledger.sign_and_send(built_for(request, sender), wallet)
    payment = decide(local_ledger, request, signature)

    request.refresh_from_db()
    assert (payment.status, request.status) == (Payment.Status.COMPLETED, Status.COMPLETED)
    assert (payment.amount_received, payment.bound_by) == (11 * UNIT, "reference")
    assert local_ledger.token_balance(recipient) == 11 * UNIT
    assert local_ledger.token_balance(sender) == UNIT  # the larger account is spent first
    consumed = ConsumedTransfer.objects.order_by("slot").values_list("slot", "amount")
    assert list(consumed) == [("3", 7 * UNIT), ("4", 4 * UNIT)]


def test_balance_beyond_five_accounts_is_not_sufficient(
    public: Api, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    sender = str(wallet_with(local_ledger, *[UNIT] * 6).pubkey())
    request = make_request(merchant, solana_usdc, "5.5", new_address())
    assert usdc_balance(public, request, sender) == (str(5 * UNIT), False)
    with pytest.raises(ApiError) as error:
        built_for(request, sender)
    [problem] = error.value.problems
    assert problem.code == ErrorCode.INSUFFICIENT_FUNDS
    assert problem.message == f"This wallet needs 0.50 more USDC on {request.chain.name}."
    smaller = make_request(merchant, solana_usdc, "5", new_address())
    assert usdc_balance(public, smaller, sender) == (str(5 * UNIT), True)
    assert built_for(smaller, sender)


@pytest.fixture
def token(solana: Chain, local_ledger: LocalLedger, mints: Mints) -> Token:
    """A Token-2022 token. The ledger's payer has 20 of it."""
    key = local_ledger.key
    mint.mint_to(
        local_ledger.url, mints.newer, key.pubkey(), 20 * UNIT, authority=key, program=TOKEN_2022_PROGRAM_ID
    )
    return Token.objects.create(
        chain=solana, symbol="NEW", name="New", decimals=6, contract_address=str(mints.newer)
    )


@pytest.fixture
def strict(local_ledger: LocalLedger, token: Token) -> str:
    """A wallet whose token account rejects transfers without a memo."""
    owner, payer = Keypair(), local_ledger.key
    new = Pubkey.from_string(token.contract_address)
    create = spl.create_idempotent_associated_token_account(
        payer.pubkey(), owner.pubkey(), new, TOKEN_2022_PROGRAM_ID
    )
    local_ledger.send([create, *memo_required(payer.pubkey(), owner.pubkey(), new)], payer, owner)
    return str(owner.pubkey())


def test_payment_to_an_account_that_requires_a_memo_is_found(
    merchant: Merchant, token: Token, strict: str, local_ledger: LocalLedger
) -> None:
    request = make_request(merchant, token, "2", strict)
    unsigned = built_for(request, local_ledger.payer)
    assert memos(unsigned) == [reference_key(bytes(request.reference))]

    signature = local_ledger.sign_and_send(unsigned)
    assert discover_due() == 1
    payment = Payment.objects.get()
    assert payment.transaction_hash == local_ledger.finalize(signature)
    look_until_decided(payment, Clock())

    request.refresh_from_db()
    assert (request.status, payment.bound_by) == (Status.COMPLETED, "reference")


def test_payment_bound_by_a_proof_has_the_memo_too(
    merchant: Merchant, token: Token, strict: str, local_ledger: LocalLedger
) -> None:
    request = make_request(merchant, token, "2", strict)
    routes = find_routes(request, wallet_address=local_ledger.payer, token=token)
    assert isinstance(routes, list)
    built = build_transaction(routes[0], binding="payer")
    assert (built.binding, memos(str(built.transaction))) == (
        Payment.BoundBy.PAYER,
        [reference_key(bytes(request.reference))],
    )


def test_payment_to_a_usual_account_has_no_memo(
    merchant: Merchant, token: Token, local_ledger: LocalLedger
) -> None:
    request = make_request(merchant, token, "2", new_address())
    assert memos(built_for(request, local_ledger.payer)) == []


def memos(transaction: str) -> list[str]:
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    keys = message.account_keys
    return [bytes(i.data).decode() for i in message.instructions if keys[i.program_id_index] == MEMO]
