"""Headers that identify the caller or the call: repeated or misspelled ones always have one interpretation."""

from http.client import HTTPConnection

import pytest

from merchants.models import ApiKey
from tests.support.api.served import Service

pytestmark = pytest.mark.django_db(transaction=True)

HOST = ("Host", "testserver")
OTHER_KEY = "quitt_" + "0" * 40


def status_of(service: Service, key: str, *headers: tuple[str, str]) -> int:
    connection = HTTPConnection(service.url.removeprefix("http://"), timeout=30)
    connection.putrequest("GET", "/api/payment-requests", skip_host=True)
    for name, value in headers:
        connection.putheader(name, value.replace("KEY", key))
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([HOST, ("X-API-Key", "KEY")], 200),
        ([HOST, ("Authorization", "Bearer KEY")], 200),
        ([HOST, HOST, ("X-API-Key", "KEY")], 400),
        ([HOST, ("Host", "evil.example"), ("X-API-Key", "KEY")], 400),
        ([HOST, ("X-API-Key", "KEY"), ("Content-Length", "0"), ("Content-Length", "0")], 400),
        ([HOST, ("X-API-Key", "KEY"), ("X-API-Key", OTHER_KEY)], 401),
        ([HOST, ("X-API-Key", OTHER_KEY), ("X-API-Key", "KEY")], 401),
        ([HOST, ("Authorization", "Bearer KEY"), ("Authorization", f"Bearer {OTHER_KEY}")], 401),
        ([HOST, ("X_API_Key", "KEY")], 401),
        ([HOST, ("X-API-Key", OTHER_KEY), ("X_API_Key", "KEY")], 401),
    ],
)
def test_repeated_headers_are_rejected(
    service: Service, api_key: tuple[ApiKey, str], headers: list[tuple[str, str]], status: int
) -> None:
    assert status_of(service, api_key[1], *headers) == status
