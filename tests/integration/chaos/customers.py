"""A shop and its customers. They retry while the service is down, and each pays exactly once.

Some get a part back: the shop refunds it once the payment is completed.
"""

import threading
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import requests
from eth_account import Account

from demo.contracts import deploy
from tests.chain import LocalChain

AMOUNT = "1.25"
UNITS = 1_250_000
REFUND = "0.25"
REFUND_UNITS = 250_000
# This address receives the refunds and nothing else.
REFUNDED_TO = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
_CALL_SECONDS = 20.0
_PAUSE_SECONDS = 0.3
_LONGEST_SECONDS = 240.0


@dataclass
class Customer:
    """One order: the shop's request and the customer's transaction."""

    order: str = field(default_factory=lambda: str(uuid.uuid4()))
    request_id: str = ""
    transaction: dict[str, Any] = field(default_factory=dict)
    transaction_hash: str = ""
    is_submitted: bool = False
    refund_id: str = ""


class Wallet:
    """The customers' wallet. It counts its own nonces, so that no transaction replaces another."""

    def __init__(self, chain: LocalChain) -> None:
        self._chain = chain
        self._lock = threading.Lock()
        self._nonce = int(chain.rpc("eth_getTransactionCount", chain.payer, "pending"), 16)

    @property
    def address(self) -> str:
        return self._chain.payer

    def send(self, transaction: dict[str, Any]) -> str:
        account = Account.from_key(self._chain.payer_key)
        unsigned = {name: value for name, value in transaction.items() if name != "from"}
        with self._lock:
            signed = account.sign_transaction({**unsigned, "nonce": self._nonce})
            sent = deploy.rpc(self._chain.url, "eth_sendRawTransaction", "0x" + signed.raw_transaction.hex())
            self._nonce += 1
        return str(sent)


class Crowd:
    """All customers of a run, and the shop's calls to the API."""

    def __init__(
        self, url: str, key: str, chain: LocalChain, count: int, *, late: int, refunds: int = 0
    ) -> None:
        """`late` customers submit their hashes last, all at the same moment.

        `refunds` of the other customers get a part back.
        """
        self.customers = [Customer() for _ in range(count)]
        self._late = late
        early = self.customers[: count - late]
        self._refunded = early[:: max(len(early) // refunds, 1)][:refunds] if refunds else []
        self._url, self._key, self._chain = url, key, chain
        self._wallet = Wallet(chain)
        self._token = 0
        self._local = threading.local()
        # The number of calls by status.
        self.statuses: Counter[int] = Counter()

    @property
    def submitted(self) -> int:
        """The number of hashes that the service has confirmed."""
        return sum(customer.is_submitted for customer in self.customers)

    @property
    def refunded(self) -> int:
        """The number of refunds that the service has confirmed."""
        return sum(bool(customer.refund_id) for customer in self.customers)

    def pay_all(self, threads: int = 8) -> None:
        """Order, pay and submit, several customers at a time. Raises TimeoutError if the service stays down."""
        self.find_token()
        early = self.customers[: len(self.customers) - self._late]
        late = self.customers[len(early) :]
        with ThreadPoolExecutor(threads) as pool, ThreadPoolExecutor(2) as shop:
            refunds = [shop.submit(self._refund, customer) for customer in self._refunded]
            self._for_each(pool, early, self._pay_and_submit)
            self._for_each(pool, late, self._pay)
            self._for_each(pool, late, self.submit)
            for done in refunds:
                done.result()

    def find_token(self) -> int:
        """Find the token that all customers pay with; return its ID."""
        tokens = self._call("GET", f"/api/public/chains/{self._chain.chain_id}/tokens")
        self._token = next(token["id"] for token in tokens if token["symbol"] == "USDC")
        return self._token

    def _for_each(self, pool: ThreadPoolExecutor, customers: Sequence[Customer], step: Any) -> None:
        for done in [pool.submit(step, customer) for customer in customers]:
            done.result()

    def _pay_and_submit(self, customer: Customer) -> None:
        self._pay(customer)
        self.submit(customer)

    def _pay(self, customer: Customer) -> None:
        self.order(customer)
        self.send(customer)

    def order(self, customer: Customer) -> None:
        """Create the request; have the service build the customer's transaction."""
        order = {
            "amount": AMOUNT,
            "token_id": self._token,
            "chain_id": self._chain.chain_id,
            "recipient_address": self._chain.recipient,
            "external_id": customer.order,
        }
        headers = {"X-API-Key": self._key, "Idempotency-Key": customer.order}
        customer.request_id = self._call("POST", "/api/payment-requests", order, headers)["id"]
        wanted = {
            "wallet_address": self._wallet.address,
            "chain_id": self._chain.chain_id,
            "token_id": self._token,
        }
        page = f"/api/public/payment-requests/{customer.request_id}"
        route = self._call("POST", f"{page}/routes", wanted)["routes"][0]
        built = self._call("POST", "/api/public/build-transaction", {"route_id": route["id"]})
        customer.transaction = built["transaction"]

    def send(self, customer: Customer) -> None:
        """Sign the transaction and send it to the chain."""
        customer.transaction_hash = self._wallet.send(customer.transaction)

    def submit(self, customer: Customer) -> None:
        """Submit the hash as the page does."""
        body = {"transaction_hash": customer.transaction_hash, "chain_id": self._chain.chain_id}
        self._call("POST", f"/api/public/payment-requests/{customer.request_id}/payments", body)
        customer.is_submitted = True

    def _refund(self, customer: Customer) -> None:
        """Once the payment is completed, refund a part: create the refund, sign its transaction, send and submit it."""
        headers = {"X-API-Key": self._key, "Idempotency-Key": f"refund-{customer.order}"}
        deadline = time.monotonic() + _LONGEST_SECONDS
        while not customer.is_submitted or not self._is_completed(customer):
            if time.monotonic() > deadline:
                raise TimeoutError(f"order {customer.order} was not completed")
            time.sleep(_PAUSE_SECONDS)
        body = {"amount": REFUND, "recipient_address": REFUNDED_TO}
        path = f"/api/payment-requests/{customer.request_id}/refunds"
        refund = self._call("POST", path, body, headers)["id"]
        own = {"X-API-Key": self._key}
        wallet = {"wallet_address": self._wallet.address}
        built = self._call("POST", f"/api/refunds/{refund}/build", wallet, own)
        sent = self._wallet.send(built["transaction"])
        self._call("POST", f"/api/refunds/{refund}/submit", {"transaction_hash": sent}, own)
        customer.refund_id = refund

    def _is_completed(self, customer: Customer) -> bool:
        path = f"/api/payment-requests/{customer.request_id}"
        return bool(self._call("GET", path, headers={"X-API-Key": self._key})["status"] == "completed")

    def _call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """Return the response of a call. Retry while the service is down, as the documentation recommends."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        while True:
            problem = ""
            try:
                answer = self._session().request(
                    method, self._url + path, json=body, headers=headers, timeout=_CALL_SECONDS
                )
                self.statuses[answer.status_code] += 1
                if answer.ok:
                    return answer.json()
                problem = f"{answer.status_code} {answer.text[:300]}"
                # 409: the first call with this key was interrupted, and its lock is still held.
                if answer.status_code < 500 and answer.status_code != requests.codes.conflict:
                    raise AssertionError(f"{method} {path}: {problem}")
            except requests.RequestException as error:
                problem = type(error).__name__
            if time.monotonic() > deadline:
                raise TimeoutError(f"{method} {path}: {problem}")
            time.sleep(_PAUSE_SECONDS)

    def _session(self) -> requests.Session:
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
        session: requests.Session = self._local.session
        return session
