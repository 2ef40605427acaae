"""A payer on Solana without SOL, a gas account with SOL, and the steps from a request to its payment."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from solders.keypair import Keypair
from solders.system_program import TransferParams, transfer

from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Authorization, GasAccount, Payment, PaymentRequest
from tests.conftest import Api
from tests.support.payments.world import Clock, make_request
from tests.support.solana.ledger import LocalLedger, new_address, token_account
from tests.support.solana.signing import sign
from tests.verifying import relay_due, settle_due, verify_due

COINS = 10**9
BUDGET = Decimal(1)


@dataclass
class CosigningWorld:
    """The local cluster with a token that the operator sponsors, and a merchant whose requests are for it."""

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
        """Build a sponsored route; return it with the transaction that its wallet signed."""
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
        """Run the due work of all workers once; advance the clock."""
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
        """Work until the gas account has nothing left to send and each transaction has ended."""
        for _ in range(passes):
            live = Authorization.objects.filter(signed_at__isnull=False, ended_at__isnull=True)
            if self.account().next_look_at is None and not live.exists():
                return
            self.work(1.0)
        raise AssertionError("the account is still due")

    def account(self) -> GasAccount:
        return GasAccount.objects.get(chain=self.row)

    def authorization(self) -> Authorization:
        return Authorization.objects.get()

    def reserved(self) -> int:
        return self.authorization().cost or 0

    def spent(self) -> int:
        """Return the lamports that the gas account has spent."""
        return COINS - self.ledger.balance(self.sponsor_address)

    def pass_blocks(self, height: int) -> None:
        """Wait for a final block above this height."""
        options = {"commitment": "finalized"}
        while self.ledger.rpc("getBlockHeight", options) <= height:
            pass

    def work_until_completed(self, payment: Payment, passes: int = 400) -> None:
        """Work until a failed payment is completed."""
        for _ in range(passes):
            self.work(1.0)
            payment.refresh_from_db()
            if payment.status == Payment.Status.COMPLETED:
                return
        raise AssertionError(f"{payment.pk} is {payment.status}: {payment.status_detail}")

    def empty_payer(self) -> None:
        """Move all of the payer's tokens to another account, which pays the fee."""
        moves = self.ledger.token_move(
            str(self.ledger.key.pubkey()),
            self.ledger.token_balance(self.payer_address),
            sender=self.payer,
            to_account=token_account(self.ledger.payer),
        )
        self.ledger.send(moves, self.ledger.key, self.payer)

    def drain_sponsor(self) -> None:
        """Move all of the gas account's coin to another account."""
        sponsor, lamports = self.sponsor.pubkey(), self.ledger.balance(self.sponsor_address)
        move = transfer(
            TransferParams(from_pubkey=sponsor, to_pubkey=self.ledger.key.pubkey(), lamports=lamports)
        )
        self.ledger.send([move], self.ledger.key, self.sponsor)

    @staticmethod
    def in_coins(lamports: int) -> Decimal:
        return Decimal(lamports).scaleb(-9)
