"""Verify a real swap from xDAI on Gnosis to ether on Base, with the recorded responses of nodes and LI.FI.

The recordings are of valory-xyz/olas-operate-middleware (Apache-2.0); see
tests/support/routing/recordings/README.md. Three things were not recorded, and are derived from the recordings:
the source's call (its logs bind it), the blocks, and the format of the trace.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, PaymentRequest, Quote, Route
from tests.support.chains.faulty_node import Exchange, serving
from tests.support.payments.rows import delivery_hash
from tests.support.payments.world import Clock, make_request, submit
from tests.support.routing.lifi_world import answering
from tests.support.routing.recorded import recorded
from tests.support.swaps.following import follow_until_decided

RECORDED = recorded("lifi_gnosis_to_base")
STATUS, REQUESTED = RECORDED["status"], RECORDED["requested"]
DIAMOND = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
RECIPIENT = "0x770569f85346B971114e11E4Bb5F7aC776673469"
DELIVERED = 381_000_000_000_000
GNOSIS, BASE = 100, 8453
DEEPER = 10


def frame(trace: list[dict[str, Any]], place: list[int]) -> dict[str, Any]:
    """Return the recorded frame at `place` with its inner frames, in the format of `callTracer`."""
    at = next(each for each in trace if each["traceAddress"] == place)
    action = at["action"]
    inner = [frame(trace, [*place, number]) for number in range(at["subtraces"])]
    return {
        "type": action["callType"].upper(),
        "from": action["from"],
        "to": action["to"],
        "value": action.get("value", "0x0"),
        "gas": action["gas"],
        "gasUsed": at["result"]["gasUsed"],
        "input": action["input"],
        "output": at["result"]["output"],
        "calls": inner,
        "logs": [],
    }


def node_of(side: dict[str, Any], chain_id: int, mined_at: int) -> Any:
    """Return the responses of a node that knows only this transaction and ten blocks after it."""
    receipt = side["receipt"]
    height = int(receipt["blockNumber"], 16)
    transaction = side.get("transaction") or {
        "hash": receipt["transactionHash"],
        "blockHash": receipt["blockHash"],
        "blockNumber": receipt["blockNumber"],
        "from": receipt["from"],
        "to": receipt["to"],
        "nonce": "0x0",
        "value": hex(1_318_720_328_069_846_058),
        "input": "0x",
    }

    def block(name: str) -> dict[str, Any]:
        number = int(name, 16) if name.startswith("0x") else height + DEEPER
        is_its_own = number == height
        return {
            "number": hex(number),
            "hash": receipt["blockHash"] if is_its_own else f"0x{number:064x}",
            "timestamp": hex(mined_at + (number - height) * 2),
            "transactions": [receipt["transactionHash"]] if is_its_own else [],
        }

    def answer(method: str, params: list[Any]) -> dict[str, Any]:
        match method:
            case "eth_chainId":
                return {"result": hex(chain_id)}
            case "eth_blockNumber":
                return {"result": hex(height + DEEPER)}
            case "eth_getBlockByNumber":
                return {"result": block(params[0])}
            case "eth_getTransactionByHash":
                return {"result": transaction if params[0] == receipt["transactionHash"] else None}
            case "eth_getTransactionReceipt":
                return {"result": receipt if params[0] == receipt["transactionHash"] else None}
            case "debug_traceTransaction" if "trace" in side:
                return {"result": frame(side["trace"], [])}
        return {"error": {"code": -32601, "message": f"the method {method} does not exist/is not available"}}

    def behave(exchange: Exchange) -> None:
        answers = [
            {"jsonrpc": "2.0", "id": each["id"], **answer(each["method"], each["params"])}
            for each in exchange.questions
        ]
        exchange.reply(answers if isinstance(exchange.asked, list) else answers[0])

    return behave


@pytest.fixture
def recorded_chains(db: None) -> Iterator[tuple[Chain, Chain]]:
    """Gnosis and Base in the catalogue, each with a node that returns the recorded responses."""
    source = node_of(RECORDED["source"], GNOSIS, STATUS["sending"]["timestamp"])
    target = node_of(RECORDED["destination"], BASE, STATUS["receiving"]["timestamp"])
    with serving(source, chain_id=GNOSIS) as on_gnosis, serving(target, chain_id=BASE) as on_base:
        gnosis, base = (
            Chain.objects.create(
                id=chain_id,
                name=name,
                chain_type="evm",
                rpc_urls=[url],
                native_symbol=symbol,
                confirmations="5",
                routers={"lifi": [DIAMOND]},
            )
            for chain_id, name, symbol, url in (
                (GNOSIS, "Gnosis", "xDAI", on_gnosis.url),
                (BASE, "Base", "ETH", on_base.url),
            )
        )
        for chain in (gnosis, base):
            Token.objects.create(
                chain=chain,
                symbol=chain.native_symbol,
                name=chain.native_symbol,
                decimals=18,
                contract_address="",
            )
        yield gnosis, base


def asked_for(merchant: Merchant, gnosis: Chain, base: Chain, bound_by: str) -> PaymentRequest:
    """Return the request for 0.00038 ETH and the signed quote, as they were a minute before the transfer."""
    made = datetime.fromtimestamp(STATUS["sending"]["timestamp"], UTC) - timedelta(minutes=1)
    request = make_request(merchant, base.tokens.get(), "0.00038", RECIPIENT)
    PaymentRequest.objects.filter(pk=request.pk).update(created_at=made)
    assert request.amount == int(REQUESTED["amount"])
    route = Route.objects.create(
        request=request,
        type="swap",
        wallet_address=RECIPIENT,
        chain=gnosis,
        token=gnosis.tokens.get(),
        amount=int(STATUS["sending"]["amount"]),
        amount_due=request.amount,
        provider="lifi",
        expires_at=made + timedelta(minutes=5),
    )
    Quote.objects.create(
        route=route,
        provider="lifi",
        bound_by=bytes.fromhex(bound_by[2:]),
        amount_in=route.amount,
        amount_out=DELIVERED,
        amount_out_min=request.amount,
        action={},
        tracking={
            "transaction_id": bound_by,
            "from_chain": GNOSIS,
            "to_chain": BASE,
            "to_address": RECIPIENT,
            "tool": STATUS["tool"],
        },
        created_at=made,
        built_at=made,
    )
    return request


def test_it_pays_its_request(merchant: Merchant, recorded_chains: tuple[Chain, Chain]) -> None:
    gnosis, base = recorded_chains
    request = asked_for(merchant, gnosis, base, STATUS["transactionId"])
    source, target = (RECORDED[side]["receipt"]["transactionHash"] for side in ("source", "destination"))
    payment = submit(request, source, gnosis)
    with answering(STATUS) as lifi:
        follow_until_decided(payment.pk, Clock(), provider=lambda key: lifi.provider)
    payment.refresh_from_db()
    request.refresh_from_db()
    assert (payment.status, payment.type, payment.bound_by) == ("completed", "swap", "provider")
    assert (request.status, request.amount_paid) == ("completed", DELIVERED)
    assert (payment.amount_received, payment.amount) == (DELIVERED, 13 * 10**17)
    assert (delivery_hash(payment), payment.swap.provider_status) == (target, "DONE/COMPLETED")
    assert payment.swap.provider_url == STATUS["lifiExplorerLink"]
    assert payment.lookup.block_time is not None
    assert payment.swap.delivery.block_time is not None
    assert (payment.swap.delivery.block_time - payment.lookup.block_time).total_seconds() == 383
    consumed = ConsumedTransfer.objects.get()
    assert (consumed.chain, consumed.transaction_hash, consumed.amount) == (base, target, DELIVERED)
    assert consumed.slot not in ("value", "0"), "by an inner call, and by no log"


def test_to_a_request_with_another_quote_it_means_nothing(
    merchant: Merchant, recorded_chains: tuple[Chain, Chain]
) -> None:
    gnosis, base = recorded_chains
    request = asked_for(merchant, gnosis, base, "0x" + "5b" * 32)
    payment = submit(request, RECORDED["source"]["receipt"]["transactionHash"], gnosis)
    follow_until_decided(payment.pk, Clock())
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "transaction_not_bound")
    assert not ConsumedTransfer.objects.exists()
