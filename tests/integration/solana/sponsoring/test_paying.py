"""A payer with the token and no SOL signs a transaction, and the operator's account pays for it."""

from payments.models import Authorization, Payment, Relay
from tests.support.payments.cosigning import CosigningWorld
from tests.support.solana.signing import message_of, sign


def test_payer_without_sol_completes_the_request(world: CosigningWorld) -> None:
    request = world.request()
    held = world.ledger.token_balance(request.recipient_address)
    direct, sponsored = world.routes(request)
    assert (direct["sponsored"], sponsored["sponsored"], sponsored["type"]) == (False, True, "direct")
    built = world.build(sponsored["id"])
    assert (built["typed_data"], built["binding"], built["payer_proof"]) == (None, "reference", None)
    message = message_of(built["transaction"])
    signers = message.account_keys[: message.header.num_required_signatures]
    assert signers == [world.sponsor.pubkey(), world.payer.pubkey()]

    signed = sign(built["transaction"], world.payer)
    answer = world.submit(request, sponsored["id"], signed)
    assert (answer["sponsored"], answer["status"], answer["bound_by"]) == (True, "pending", "reference")
    assert (answer["transaction_hash"], answer["from_address"]) == (None, None)
    assert world.submit(request, sponsored["id"], signed, 200)["id"] == answer["id"]
    payment = world.work_until_decided(Payment.objects.get(pk=answer["id"]))
    assert (payment.status, payment.bound_by, payment.amount_received) == (
        "completed",
        "reference",
        request.amount,
    )
    assert payment.from_address == world.payer_address
    request.refresh_from_db()
    assert request.status == "completed"
    assert world.ledger.token_balance(request.recipient_address) - held == request.amount
    assert world.ledger.balance(world.payer_address) == 0

    world.work_until_idle()
    authorization, relay = Authorization.objects.get(), Relay.objects.get()
    assert (relay.succeeded, authorization.cost) == (True, relay.fee)
    # The local cluster does not report the price of compute units as a part of the fee.
    assert 0 <= world.spent() - (relay.fee or 0) < 10
    assert payment.transaction_hash == relay.hashes[0]
    assert authorization.ended_at is not None
    assert world.submit(request, sponsored["id"], signed, 200)["status"] == "completed"
