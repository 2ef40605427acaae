"""T-29: an address that only begins and ends like the merchant's: the page shows every character of the real one."""

from collections.abc import Callable

from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look, submit

# The test recipient's first and last four digits, and somebody else's in between.
LOOK_ALIKE = "0x2361000000000000000000000000000000001E8f"


def test_the_page_shows_the_whole_address(public: Api, request_for: Callable[..., PaymentRequest]) -> None:
    request = request_for()
    text = public.get(f"/pay/{request.shortcode}").content.decode()
    assert f'id="recipient">{request.recipient_address}<' in text
    assert "…" not in text.split('id="recipient">')[1].split("<")[0]


def test_what_went_to_the_look_alike_is_refused_by_its_whole_name(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    assert request.recipient_address[:6] == LOOK_ALIKE[:6]
    sent = local_chain.transfer(local_chain.usdc, LOOK_ALIKE, 10_000_000, tail=bytes(request.reference))
    payment = submit(request, sent)
    look(Clock())
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "wrong_recipient")
    assert LOOK_ALIKE.lower() in payment.failure_message.lower()
    assert request.recipient_address in payment.failure_message
