"""Many payments at once, each mined in a block of its own and waiting for its first look."""

from collections.abc import Sequence

import requests
from eth_account import Account

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.processes import eventually
from tests.support.payments.world import make_request, submit, unsigned

BATCH = 100


def crowd(merchant: Merchant, token: Token, chain: LocalChain, count: int) -> list[Payment]:
    """Make, pay and submit `count` requests of 1 token each; return the payments, none of them looked at."""
    wanted = [make_request(merchant, token, "1", chain.recipient) for _ in range(count)]
    hashes = pay_all(chain, wanted)
    return [submit(request, sent) for request, sent in zip(wanted, hashes, strict=True)]


def pay_all(chain: LocalChain, wanted: Sequence[PaymentRequest]) -> list[str]:
    """Pay each request by a transaction of its own; return the hashes in order."""
    account = Account.from_key(chain.payer_key)

    def next_nonce() -> int:
        return int(chain.rpc("eth_getTransactionCount", account.address, "pending"), 16)

    nonce = next_nonce()
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "eth_sendRawTransaction",
            "params": [
                "0x"
                + bytes(
                    account.sign_transaction(
                        {**unsigned(chain, request), "nonce": nonce + number}
                    ).raw_transaction
                ).hex()
            ],
        }
        for number, request in enumerate(wanted)
    ]
    hashes: dict[int, str] = {}
    for start in range(0, len(calls), BATCH):
        answers = requests.post(chain.url, json=calls[start : start + BATCH], timeout=60).json()
        refused = [answer["error"] for answer in answers if "error" in answer]
        assert not refused, refused[0]
        hashes |= {answer["id"]: answer["result"] for answer in answers}
    # For a moment anvil counts a transaction neither as waiting nor as mined; the next sender would use its nonce.
    eventually(lambda: next_nonce() == nonce + len(wanted), "the node counted all payments")
    return [hashes[number] for number in range(len(calls))]
