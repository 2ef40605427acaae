"""To add a chain of a known family, a catalogue entry and an environment variable are enough."""

from pathlib import Path
from typing import Any

import pytest

from chains.families import get_client
from chains.models import Chain
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.chains.catalogue_files import chain, load, token, write
from tests.support.payments.world import Clock, look_until_decided, pay


def test_chain_loaded_from_a_file_takes_payments(
    api: Api, public: Api, other_local_chain: LocalChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert public.get("/api/public/chains").json() == []
    monkeypatch.setenv("NEW_CHAIN_RPC_URL", other_local_chain.url)
    entry = chain(
        id=other_local_chain.chain_id,
        name="New Chain",
        rpc_urls=["env:NEW_CHAIN_RPC_URL", "env:NEW_CHAIN_RPC_URL_2"],
        confirmations=2,
        routers={},
        tokens=[token(contract_address=other_local_chain.usdc)],
    )
    load(write(tmp_path, [entry]), "--verify")

    (new_chain,) = public.get("/api/public/chains").json()
    (new_token,) = public.get(f"/api/public/chains/{new_chain['id']}/tokens").json()
    order: dict[str, Any] = {
        "amount": "12.34",
        "token_id": new_token["id"],
        "chain_id": new_chain["id"],
        "recipient_address": other_local_chain.recipient,
    }
    created = api.post("/api/payment-requests", order).json()
    request = PaymentRequest.objects.get(pk=created["id"])
    body = {"transaction_hash": pay(other_local_chain, request), "chain_id": new_chain["id"]}
    submitted = public.post(f"/api/public/payment-requests/{request.shortcode}/payments", body)
    assert submitted.status_code == 201

    other_local_chain.mine()
    payment = look_until_decided(Payment.objects.get(pk=submitted.json()["id"]), Clock())
    assert (payment.status, payment.amount_received) == (Payment.Status.COMPLETED, 12_340_000)
    assert api.get(f"/api/payment-requests/{request.pk}").json()["status"] == "completed"
    (node,) = get_client(Chain.objects.get()).health()
    assert (node.host, node.state, node.last_error) == ("127.0.0.1", "answering", "")
