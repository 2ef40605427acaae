"""The page shows the whole address, because attackers imitate the beginning and the end."""

from collections.abc import Callable

from payments.models import PaymentRequest
from tests.conftest import Api


def test_page_shows_every_character_of_the_address(
    public: Api, request_for: Callable[..., PaymentRequest]
) -> None:
    request = request_for()
    text = public.get(f"/pay/{request.shortcode}").content.decode()
    assert f'id="recipient" translate="no">{request.recipient_address}<' in text
    assert "…" not in text.split('id="recipient" translate="no">')[1].split("<")[0]
