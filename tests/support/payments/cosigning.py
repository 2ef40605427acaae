"""A payer on Solana without SOL, the operator's account with some, and the steps from a request to its payment."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from solders.instruction import AccountMeta, CompiledInstruction, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Authorization, GasAccount, Payment, PaymentRequest
from tests.conftest import Api
from tests.support.payments.world import Clock, make_request
from tests.support.solana.ledger import LocalLedger, new_address
from tests.verifying import relay_due, settle_due, verify_due

COINS = 10**9
BUDGET = Decimal(1)


@dataclass
class CosigningWorld:
    """The local cluster with a token that the operator sponsors, and a merchant who asks for it."""

    ledger: LocalLedger
    row: Chain
    token: Token
    merchant: Merchant
    public: Api
    payer: Keypair
    sponsor: Keypair
    clock: Clock = field(default_factory=Clock)
    client: Any = get_client

    @classmethod
    def prepare(
        cls, ledger: LocalLedger, token: Token, merchant: Merchant, public: Api, settings: Any
    ) -> "CosigningWorld":
        token.authorization = {"type": "solana"}
        token.save(update_fields=["authorization"])
        sponsor = ledger.new_wallet(lamports=COINS)
        payer = ledger.new_wallet(usdc=1_000 * 10**6)
        settings.SPONSOR_KEYS = {"solana": bytes(sponsor).hex()}
        settings.SPONSOR_DAILY_BUDGET = {token.chain_id: BUDGET}
        return cls(ledger, token.chain, token, merchant, public, payer, sponsor)

    @property
    def sponsor_address(self) -> str:
        return str(self.sponsor.pubkey())

    @property
    def payer_address(self) -> str:
        return str(self.payer.pubkey())

    def recipient(self) -> str:
        """Return a new wallet with a token account."""
        return str(self.ledger.new_wallet(usdc=1).pubkey())

    def request(self, amount: str = "10", recipient: str = "", **more: Any) -> PaymentRequest:
        return make_request(self.merchant, self.token, amount, recipient or self.recipient(), **more)

    def new_request(self) -> PaymentRequest:
        """Return a request whose recipient has no token account yet."""
        return self.request(recipient=new_address())

    def post(self, path: str, body: dict[str, Any], status: int | None = 200) -> Any:
        answer = self.public.post(f"/api/public/{path}", body)
        assert status is None or answer.status_code == status, answer.json()
        return answer.json() if status is not None else answer

    def routes(self, request: PaymentRequest, wallet: str = "") -> list[dict[str, Any]]:
        body = {
            "wallet_address": wallet or self.payer_address,
            "chain_id": self.row.pk,
            "token_id": self.token.pk,
        }
        found: list[dict[str, Any]] = self.post(f"payment-requests/{request.pk}/routes", body)["routes"]
        return found

    def route(self, request: PaymentRequest, wallet: str = "") -> str:
        """Return the id of the sponsored route."""
        [route] = [each["id"] for each in self.routes(request, wallet) if each["sponsored"]]
        return str(route)

    def build(self, route: str) -> dict[str, Any]:
        built: dict[str, Any] = self.post("build-transaction", {"route_id": route})
        return built

    def signed(self, request: PaymentRequest, payer: Keypair | None = None) -> tuple[str, str]:
        """Return a built sponsored route and the transaction that its wallet signed."""
        signer = payer or self.payer
        route = self.route(request, str(signer.pubkey()))
        return route, sign(self.build(route)["transaction"], signer)

    def submit(self, request: PaymentRequest, route: str, transaction: str, status: int | None = 201) -> Any:
        body = {"route_id": route, "transaction": transaction}
        return self.post(f"payment-requests/{request.pk}/authorizations", body, status)

    def pay(self, request: PaymentRequest, payer: Keypair | None = None) -> Payment:
        """Sign and submit; return the stored payment."""
        answer = self.submit(request, *self.signed(request, payer))
        return Payment.objects.get(pk=answer["id"])

    def work(self, seconds: float = 3.0) -> None:
        """Let the workers do once what is due, and let time pass."""
        relay_due(client=self.client, now=self.clock)
        verify_due(client=self.client, now=self.clock)
        settle_due(client=self.client, now=self.clock)
        self.clock.forward(seconds=seconds)

    def work_until_decided(self, payment: Payment, passes: int = 400) -> Payment:
        for _ in range(passes):
            self.work(1.0)
            payment.refresh_from_db()
            if not payment.is_open:
                return payment
        raise AssertionError(f"{payment.pk} is {payment.status}: {payment.status_detail}")

    def work_until_idle(self, passes: int = 400) -> None:
        """Work until the operator's account has nothing left to send or to wait for."""
        for _ in range(passes):
            if self.account().next_look_at is None:
                return
            self.work(1.0)
        raise AssertionError("the account is still due")

    def account(self) -> GasAccount:
        return GasAccount.objects.get(chain=self.row)

    def authorization(self) -> Authorization:
        return Authorization.objects.get()

    def spent(self) -> int:
        """Return what the operator's account has paid, in lamports."""
        return COINS - self.ledger.balance(self.sponsor_address)

    def pass_blocks(self, height: int) -> None:
        """Wait until a final block is above this height."""
        options = {"commitment": "finalized"}
        while self.ledger.rpc("getBlockHeight", options) <= height:
            pass


def message_of(transaction: str) -> MessageV0:
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    assert isinstance(message, MessageV0)
    return message


def sign(transaction: str, payer: Keypair) -> str:
    """Return the transaction as a wallet does that signs its own place only."""
    return sign_message(message_of(transaction), payer)


def sign_message(message: MessageV0, *signers: Keypair) -> str:
    """Return the transaction with the signatures of those, and zeros in the places of the other signers."""
    raw, keys = to_bytes_versioned(message), message.account_keys
    by_key = {signer.pubkey(): signer.sign_message(raw) for signer in signers}
    places = keys[: message.header.num_required_signatures]
    signatures = [by_key.get(key, Signature.default()) for key in places]
    return base64.b64encode(bytes(VersionedTransaction.populate(message, signatures))).decode("ascii")


def instructions_of(message: MessageV0) -> list[Instruction]:
    """Return the instructions of a message with the rights that it gives to each account."""
    keys = message.account_keys

    def meta(place: int) -> AccountMeta:
        return AccountMeta(keys[place], message.is_signer(place), message.is_maybe_writable(place))

    def whole(compiled: CompiledInstruction) -> Instruction:
        return Instruction(
            keys[compiled.program_id_index], compiled.data, [meta(place) for place in compiled.accounts]
        )

    return [whole(each) for each in message.instructions]


def rebuilt(
    transaction: str,
    *,
    add: Sequence[Instruction] = (),
    first: Sequence[Instruction] = (),
    keep: Any = lambda _: True,
    change: Any = lambda instruction: instruction,
    fee_payer: Pubkey | None = None,
    blockhash: Any = None,
) -> MessageV0:
    """Return the message of a transaction with other instructions, as a wallet or a thief would compile it."""
    message = message_of(transaction)
    kept = [change(each) for each in instructions_of(message) if keep(each)]
    return MessageV0.try_compile(
        fee_payer or message.account_keys[0],
        [*first, *kept, *add],
        [],
        blockhash or message.recent_blockhash,
    )
