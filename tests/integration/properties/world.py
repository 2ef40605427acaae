"""The service with two model chains, a routing provider and a clock, and the model's knowledge of every payment."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Field
from django.utils import timezone

from chains.client import Mention
from chains.models import Chain, Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.models import Lookup, PayerProof, Payment, PaymentRequest, Quote, Route, TransferProof
from payments.proofs.afterwards import offer_message, store_transfer_proof
from payments.proofs.storing import store_proof
from payments.providers.base import ProviderDown, SwapState, SwapStatus
from payments.requests.lifecycle import expire_due
from payments.submission.hashes import submit_for_merchant, submit_hash
from tests.integration.properties.ledger import (
    BLOCK_TIME,
    DEPTH,
    FINALITY,
    GONE,
    MERCHANT,
    ROUTER,
    Ledger,
    Owners,
    Sent,
)
from tests.support.payments.rows import bring_forward
from tests.support.payments.world import make_request
from tests.verifying import check_finality, follow_swaps, search_proposals, verify_due

START = datetime(2026, 11, 22, 12, tzinfo=timezone.get_default_timezone())
PROOF_WINDOW = timedelta(minutes=60)
LAST_RETRY = 3


class Clock:
    """The time of the service, the chains and the database's column defaults."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time

    def forward(self, by: timedelta) -> None:
        self.time += by


@contextmanager
def ruled_by(clock: Clock) -> Iterator[None]:
    """Replace the time everywhere by the clock's, including column defaults."""
    real = timezone.now
    columns: list[Field[Any, Any]] = [
        column
        for model in (Payment, PaymentRequest, PayerProof, Quote, Route, TransferProof)
        for column in model._meta.concrete_fields
        if column.default is real
    ]
    timezone.now = clock  # type: ignore[assignment]
    for column in columns:
        column.__dict__["_get_default"] = clock
    try:
        yield
    finally:
        timezone.now = real  # type: ignore[assignment]
        for column in columns:
            del column.__dict__["_get_default"]


@dataclass(frozen=True)
class Setting:
    """A chain on which requests are paid, and the abilities of its nodes."""

    chain_id: int
    is_solana: bool = False
    required: int = DEPTH
    has_traces: bool = True
    tells_finality: bool = True


SETTINGS = (
    Setting(1),
    Setting(1, has_traces=False),
    Setting(1, tells_finality=False),
    Setting(2),
    Setting(3, required=FINALITY, has_traces=False),
    Setting(4, is_solana=True),
    Setting(5, is_solana=True, required=FINALITY),
)
RULES = {1: str(DEPTH), 2: "safe", 3: "finalized", 4: "confirmed", 5: "finalized", 9: str(DEPTH)}
SOURCE = 9
SOLANA = (4, 5)


def make_catalogue(token: str) -> Mapping[int, Chain]:
    """Store the chains with one token each; return the chains by id."""
    chains = Chain.objects.bulk_create(
        Chain(
            id=chain_id,
            name=f"Chain {chain_id}",
            chain_type="solana" if chain_id in SOLANA else "evm",
            native_symbol="ETH",
            confirmations=rule,
            routers={"lifi": [ROUTER]},
        )
        for chain_id, rule in RULES.items()
    )
    Token.objects.bulk_create(
        Token(chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=token)
        for chain in chains
    )
    return {chain.pk: chain for chain in Chain.objects.prefetch_related("tokens")}


@dataclass
class Order:
    """A swap from the other chain, delivered or not yet delivered by a relayer."""

    source: Sent
    amount: int
    account: str
    owners: Owners
    delivered: Sent | None = None


@dataclass
class Intent:
    """A payment that an honest customer makes for one request, with everything that the customer knows about it.

    `proved_until` is when the customer's proof expires. `proposal` is the id that a smart wallet returned.
    `is_proposed`: the page submitted that id, and the service accepted it. `payer` sent by hand, and can sign a
    proof afterwards.
    """

    kind: str
    request: UUID
    amount: int
    sent: Sent | None
    proved_until: datetime | None = None
    order: Order | None = None
    wallet: str = ""
    proposal: str = ""
    payer: str = ""
    is_submitted: bool = False
    is_proposed: bool = False
    is_proved_afterwards: bool = False

    @property
    def money(self) -> Sent | None:
        """The transaction that moves the money to the merchant."""
        return self.order.delivered if self.order else self.sent


@dataclass
class World:
    merchants: tuple[Merchant, Merchant]
    chains: Mapping[int, Chain]
    setting: Setting
    clock: Clock
    provider_is_silent: bool = False
    requests: dict[UUID, PaymentRequest] = field(default_factory=dict)
    intents: list[Intent] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    swapped: dict[str, tuple[int, str]] = field(default_factory=dict)
    """What swaps on the home chain brought, by their transactions: an amount and its recipient."""
    quotes: dict[UUID, list[bytes]] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    out_of_retries: set[str] = field(default_factory=set)
    waited: timedelta = timedelta()
    people: int = 0
    key = "lifi"

    def __post_init__(self) -> None:
        setting = self.setting
        self.home = Ledger(
            self.clock,
            is_solana=setting.is_solana,
            has_traces=setting.has_traces,
            tells_finality=setting.tells_finality,
        )
        self.source = Ledger(self.clock)
        self.home_chain, self.source_chain = self.chains[setting.chain_id], self.chains[SOURCE]
        self.tokens = {chain.pk: chain.tokens.all()[0] for chain in (self.home_chain, self.source_chain)}

    # --- calls to the service
    # ------------------------------------------------------------------------------------

    def create(self, amount: int, *, of: int = 0, references: bool = True) -> PaymentRequest:
        token = self.tokens[self.home_chain.pk]
        request = make_request(self.merchants[of], token, f"0.{amount:06}", MERCHANT, references=references)
        self.requests[request.pk] = request
        return request

    def submit(self, request: UUID, sent: str, chain: Chain | None = None, *, by: str = "") -> str:
        """Submit a hash publicly, as this client; return the error code or ""."""
        row, chain = self.requests[request], chain or self.home_chain
        try:
            submit_hash(
                row, chain=chain, transaction_hash=sent, actor="checkout", submitter=by, client=self.client
            )
        except ApiError as error:
            return error.problems[0].code.value
        return ""

    def propose(self, request: UUID, account: str, id_: str, *, by: str = "") -> str:
        """Submit an id publicly, with a route of this account; return the error code or ""."""
        row = self.requests[request]
        route = Route.objects.create(
            request=row,
            wallet_address=account,
            chain=self.home_chain,
            token=row.token,
            amount=row.amount,
            expires_at=self.clock() + timedelta(minutes=10),
        )
        try:
            submit_hash(
                row,
                chain=self.home_chain,
                transaction_hash=id_,
                route_id=route.pk,
                actor="checkout",
                submitter=by,
                client=self.client,
            )
        except ApiError as error:
            return error.problems[0].code.value
        return ""

    def submit_as_merchant(self, request: UUID, sent: str, chain: Chain) -> str:
        try:
            submit_for_merchant(self.requests[request], chain=chain, transaction_hash=sent, actor="api")
        except ApiError as error:
            return error.problems[0].code.value
        return ""

    def quote(self, request: UUID, chain: Chain, amount: int, ledger: Ledger) -> Mention:
        """Have a swap built for the request; return the call in its transaction."""
        now, token = self.clock(), self.tokens[chain.pk]
        route = Route.objects.create(
            request_id=request,
            type="swap",
            wallet_address="0xwallet",
            chain=chain,
            token=token,
            amount=7,
            expires_at=now + timedelta(minutes=5),
            provider=self.key,
        )
        bound_by = secrets.token_bytes(32)
        Quote.objects.create(
            route=route,
            provider=self.key,
            bound_by=bound_by,
            amount_in=7,
            amount_out=amount,
            amount_out_min=amount,
            action={},
            built_at=now,
        )
        if chain is self.home_chain:
            self.quotes.setdefault(request, []).append(bound_by)
        return Mention(ROUTER, b"call" + bound_by)

    def prove(self, request: UUID, address: str) -> datetime | None:
        """Prove that `address` will pay the request; return the proof's expiry, or None if no node responds."""
        now, row = self.clock(), self.requests[request]
        route = Route.objects.create(
            request=row,
            wallet_address=address,
            chain=self.home_chain,
            token=row.token,
            amount=row.amount,
            expires_at=now + timedelta(minutes=10),
            built_at=now,
            proof_message="I pay",
        )
        try:
            store_proof(route, wallet_address=address, signature=address, client=self.client)
        except ApiError:
            return None
        return now + PROOF_WINDOW

    def prove_afterwards(self, request: UUID, sent: str, address: str, signed_by: str) -> str:
        """Prove that `address` made a transfer for the request, in a submitted transaction.

        Returns "bound", "too late" or the error code.
        """
        payment = Payment.objects.filter(request=request, transaction_hash=sent).first()
        if payment is None:
            return "not submitted"
        payment.request = payment.lookup.payment.request = PaymentRequest.objects.get(pk=request)
        try:
            offer_message(payment, wallet_address=address, client=self.client)
            proof = store_transfer_proof(
                payment, wallet_address=address, signature=signed_by, client=self.client
            )
        except ApiError as error:
            return error.problems[0].code.value
        return "bound" if proof.binds else "too late"

    def look(self) -> None:
        """Have the workers look up everything open, read the provider's status, and check possibly final blocks."""
        bring_forward(self.clock())
        Lookup.objects.filter(proposal_check_at__isnull=False).update(proposal_check_at=self.clock())
        search_proposals(client=self.client, now=self.clock)
        verify_due(client=self.client, now=self.clock)
        if Payment.objects.filter(swap__next_poll_at__isnull=False).exists():
            follow_swaps(provider=lambda _: self, client=self.client, now=self.clock)
        Lookup.objects.filter(finality_check_at__isnull=False).update(finality_check_at=self.clock())
        check_finality(client=self.client, now=self.clock)

    def wait(self, time: timedelta) -> None:
        """Let time pass, at most 20 hours in all. Payments that stay undecided for a day are another test's case."""
        if self.waited + time < timedelta(hours=20):
            self.waited += time
            self.clock.forward(time)
        expire_due(self.clock())

    def client(self, chain: Chain) -> Any:
        return self.home if chain.pk == self.home_chain.pk else self.source

    # --- the routing provider's responses
    # ------------------------------------------------------------------------

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        """Return the swap's true status, unless the provider is silent."""
        if self.provider_is_silent:
            raise ProviderDown("no answer")
        if source_hash in self.swapped:
            amount, account = self.swapped[source_hash]
            return self._delivered(source_hash, amount, account)
        for order in self.orders:
            if order.source.hash == source_hash:
                delivered = order.delivered
                if delivered is None or not delivered.is_mined or not delivered.succeeds:
                    return SwapStatus(SwapState.BRIDGING, "PENDING")
                return self._delivered(delivered.hash, order.amount, order.account)
        return SwapStatus(SwapState.UNKNOWN, "NOT_FOUND")

    def _delivered(self, hash_: str, amount: int, account: str) -> SwapStatus:
        return SwapStatus(
            SwapState.DELIVERED,
            "DONE",
            destination_hash=hash_,
            destination_amount=amount,
            destination_account=account,
        )

    # --- small things --------------------------------------------------------------------------------------------

    def new_address(self, what: str) -> str:
        self.people += 1
        return f"0x{what}-{self.people}"

    def pick(self, which: int) -> UUID | None:
        keys = list(self.requests)
        return keys[which % len(keys)] if keys else None

    def source_holds(self, intent: Intent) -> bool:
        """Whether the customer's payment on the other chain, if there is one, is still mined."""
        return intent.order is None or (intent.order.source.is_mined and intent.order.source.succeeds)

    def ledger_of(self, chain_id: int) -> Ledger:
        return self.home if chain_id == self.home_chain.pk else self.source

    def mine(self) -> None:
        self.clock.forward(BLOCK_TIME)
        self.home.mine()
        self.source.mine()

    def sent_anywhere(self, which: int) -> Sent | None:
        everything = list(self.home.sent.values())
        return everything[which % len(everything)] if everything else None


__all__ = ["GONE", "Intent", "Order", "SETTINGS", "World", "suppress"]
