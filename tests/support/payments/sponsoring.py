"""A payer without coin, a gas account with coin, and the steps from a request to its payment."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from eth_abi.abi import encode
from eth_account import Account

from chains.families import family_of
from chains.families.evm.abi import selector
from chains.models import Chain, Token
from demo.contracts import deploy
from merchants.models import Merchant
from payments.models import Authorization, GasAccount, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, make_request
from tests.verifying import relay_due, settle_due, verify_due

RULES = {"type": "eip3009", "name": "USD Coin", "version": "2"}
COINS = 10**18


@dataclass
class SponsoringWorld:
    """The local chain with a token that supports authorizations, and a merchant whose requests are for it."""

    chain: LocalChain
    row: Chain
    token: Token
    merchant: Merchant
    public: Api
    payer: Any
    sponsor_key: str
    clock: Clock

    @classmethod
    def prepare(
        cls, chain: LocalChain, row: Chain, merchant: Merchant, public: Api, settings: Any
    ) -> "SponsoringWorld":
        contract = deploy.deploy_token(
            chain.url, artifact="AuthorizedToken", name="USD Coin", symbol="USDC", decimals=6
        )
        token = Token.objects.create(
            chain=row,
            symbol="USDC",
            name="USD Coin",
            decimals=6,
            contract_address=contract,
            authorization=RULES,
        )
        sponsor, payer = Account.create(), Account.create()
        chain.rpc("anvil_setBalance", sponsor.address, hex(COINS))
        deploy.mint(chain.url, contract, payer.address, 1_000 * 10**6)
        settings.SPONSOR_KEYS = {"evm": "0x" + bytes(sponsor.key).hex()}
        settings.SPONSOR_DAILY_BUDGET = {row.pk: Decimal(1)}
        key = settings.SPONSOR_KEYS["evm"]
        return cls(chain, row, token, merchant, public, payer, key, Clock())

    @property
    def sponsor(self) -> str:
        return str(Account.from_key(self.sponsor_key).address)

    def request(self, amount: str = "10", **more: Any) -> PaymentRequest:
        return make_request(self.merchant, self.token, amount, str(Account.create().address), **more)

    def post(self, path: str, body: dict[str, Any], status: int | None = 200) -> Any:
        answer = self.public.post(f"/api/public/{path}", body)
        assert status is None or answer.status_code == status, answer.json()
        return answer.json() if status is not None else answer

    def routes(self, request: PaymentRequest, payer: Any = None) -> list[dict[str, Any]]:
        body = {
            "wallet_address": (payer or self.payer).address,
            "chain_id": self.row.pk,
            "token_id": self.token.pk,
        }
        found: list[dict[str, Any]] = self.post(f"payment-requests/{request.pk}/routes", body)["routes"]
        return found

    def route(self, request: PaymentRequest, payer: Any = None) -> str:
        """Return the id of the sponsored route."""
        [route] = [each["id"] for each in self.routes(request, payer) if each["sponsored"]]
        return str(route)

    def build(self, route: str) -> dict[str, Any]:
        built: dict[str, Any] = self.post("build-transaction", {"route_id": route})
        return built

    def sign(self, typed_data: dict[str, Any], payer: Any = None) -> str:
        signed = Account.sign_typed_data((payer or self.payer).key, full_message=typed_data)
        return "0x" + bytes(signed.signature).hex()

    def signed(self, request: PaymentRequest, payer: Any = None) -> tuple[str, str]:
        """Build a sponsored route; return it with its signature."""
        route = self.route(request, payer)
        return route, self.sign(self.build(route)["typed_data"], payer)

    def submit(self, request: PaymentRequest, route: str, signature: str, status: int | None = 201) -> Any:
        body = {"route_id": route, "signature": signature}
        return self.post(f"payment-requests/{request.pk}/authorizations", body, status)

    def pay(self, request: PaymentRequest) -> Payment:
        """Sign and submit; return the stored payment."""
        answer = self.submit(request, *self.signed(request))
        return Payment.objects.get(pk=answer["id"])

    def call_of(self, authorization: Authorization, signature: str) -> Any:
        """Return the call that executes the signed transfer."""
        rules = family_of("evm").authorizations
        assert rules is not None
        return rules.transfer_call(authorization.terms, rules.read_signature(signature))

    def broadcast(self, route: str, signature: str, *, tail: bytes = b"") -> str:
        """Send the signed transfer from a stranger's account; return the hash."""
        call = self.call_of(Authorization.objects.get(route=route), signature)
        receipt = deploy.send(self.chain.url, self.chain.payer_key, to=call.to, data=call.data + tail)
        return str(receipt["transactionHash"])

    def cancel(self, authorization: Authorization) -> None:
        """Cancel the authorization on the chain, as the payer."""
        data: dict[str, Any] = {
            "types": {
                "EIP712Domain": [
                    {"name": "name", "type": "string"}, {"name": "version", "type": "string"},
                    {"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"},
                ],
                "CancelAuthorization": [
                    {"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"},
                ],
            },
            "primaryType": "CancelAuthorization",
            "domain": {
                "name": "USD Coin", "version": "2", "chainId": self.row.pk,
                "verifyingContract": self.token.contract_address,
            },
            "message": {"authorizer": self.payer.address, "nonce": "0x" + bytes(authorization.nonce).hex()},
        }  # fmt: skip
        signed = Account.sign_typed_data(self.payer.key, full_message=data).signature
        types = ["address", "bytes32", "uint8", "bytes32", "bytes32"]
        arguments = [self.payer.address, bytes(authorization.nonce), signed[64], signed[:32], signed[32:64]]
        call = selector("cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)") + encode(
            types, arguments
        )
        deploy.send(self.chain.url, self.chain.payer_key, to=self.token.contract_address, data=call)

    def work(self, seconds: float = 3.0) -> None:
        """Run the due work of all workers once; advance the clock."""
        relay_due(now=self.clock)
        verify_due(now=self.clock)
        settle_due(now=self.clock)
        self.clock.forward(seconds=seconds)

    def work_until_decided(self, payment: Payment, passes: int = 40) -> Payment:
        for _ in range(passes):
            self.work()
            payment.refresh_from_db()
            if not payment.is_open:
                return payment
        raise AssertionError(f"{payment.pk} is {payment.status}: {payment.status_detail}")

    def account(self) -> GasAccount:
        return GasAccount.objects.get(chain=self.row)

    def pass_time_on_chain(self, seconds: int) -> None:
        """Mine a block whose time is this much later; advance the workers' clock to it."""
        self.chain.rpc("evm_increaseTime", seconds)
        self.chain.mine()
        self.clock.forward(seconds=seconds)
