"""A local webhook receiver, Alice's endpoint with its URL, and a clock that only tests advance."""

import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import count
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from django.db import transaction

from merchants.models import Merchant
from tests.support.webhooks.receiver import Receiver, running_receiver
from webhooks.endpoints.configuration import Change, configure
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.events import record_event
from webhooks.models import Endpoint, Event


class Clock:
    """A clock that shows the time set by the test."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC) + timedelta(minutes=1)  # later than anything the test records first

    def __call__(self) -> datetime:
        return self.now

    def forward(self, by: timedelta) -> None:
        self.now += by


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def self_signed(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's TLS context. Its certificate for 127.0.0.1 is self-signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    alternatives = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    file.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + certificate.public_bytes(Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


@pytest.fixture
def endpoint(merchant: Merchant, receiver: Receiver) -> Endpoint:
    """Alice's endpoint with the receiver's URL."""
    configured = configure(merchant, Change(url=receiver.url))
    assert configured is not None
    return configured


@pytest.fixture
def secret(endpoint: Endpoint) -> str:
    return decrypt(endpoint.secret_encrypted)


@pytest.fixture
def record(merchant: Merchant) -> Callable[..., Event]:
    """Return a function that records an event as payments does. Each call records a new event."""
    numbers = count(1)

    def make(**different: Any) -> Event:
        options = {
            "merchant": merchant,
            "type": "payment.succeeded",
            "dedupe_key": f"occurrence {next(numbers)}",
        }
        with transaction.atomic():
            event = record_event(**{**options, "data": {"id": "pay_1", "amount": 10_500_000}, **different})
        assert event is not None
        return event

    return make
