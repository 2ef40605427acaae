"""A missing or wrong setting stops the start, by its name and with what it should be (contract 10)."""

import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import api_address, relay_address
from tests.processes import REPOSITORY


def start(**different: str | None) -> subprocess.CompletedProcess[str]:
    """Run `manage.py check` with the test's environment, changed."""
    environment = {**os.environ}
    for name, value in different.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    command = [sys.executable, "manage.py", "check"]
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", None),
        ("ENCRYPTION_KEYS", None),
        ("ENCRYPTION_KEYS", "too-short"),
        ("ENVIRONMENT", None),
        ("ENVIRONMENT", "prod"),
        ("BASE_URL", "pay.example.com"),
        ("CHECKOUT_URL", None),
        ("DATABASE_URL", None),
        ("REDIS_URL", None),
        ("DEBUG", "perhaps"),
        ("TRUSTED_PROXIES", "the-office"),
        ("RATE_LIMIT_API", "fast"),
        ("RATE_LIMIT_PUBLIC", "0/minute"),
        ("RATE_LIMIT_EXPENSIVE", "20"),
        ("ROUTING_PROVIDERS", "lifi,squid"),
        ("ROUTING_PROVIDERS", "relay,relay"),
        ("ROUTING_QUOTE_LIMIT", "75/2hours"),
        ("LIFI_API_URL", "https://somebody:password@li.quest"),
        ("LIFI_API_KEY", "two words"),
        ("WALLETCONNECT_PROJECT_ID", "two words"),
        ("WALLETCONNECT_RELAY_URL", "https://relay.walletconnect.org"),
        ("LIFI_INTEGRATOR", "twenty-four-letters-long"),
    ],
)
def test_it_is_named(name: str, value: str | None) -> None:
    done = start(**{name: value})
    assert done.returncode != 0
    last_line = done.stderr.strip().splitlines()[-1]
    assert f"{name} is {'missing' if value is None else 'wrong'}" in last_line
    assert value is None or name != "ENCRYPTION_KEYS" or value not in done.stderr


@pytest.mark.parametrize(
    ("value", "is_right"),
    [
        ("https://li.quest/v1/", True),
        ("http://127.0.0.1:8547/v1", True),
        ("http://localhost:8547/v1", True),
        ("http://[::1]:8547/v1", True),
        ("http://li.quest/v1", False),
        ("http://127.0.0.1.li.quest/v1", False),
        ("ftp://li.quest", False),
        ("li.quest", False),
        ("https://", False),
        ("https://li.quest/v1?key=1", False),
        ("https://li.quest:port/v1", False),
    ],
)
def test_providers_keys_are_sent_over_plain_http_to_this_machine_alone(
    value: str, is_right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFI_API_URL", value)
    if is_right:
        assert api_address("LIFI_API_URL", "https://li.quest/v1", allow_http=False) == value.rstrip("/")
    else:
        with pytest.raises(ImproperlyConfigured, match="LIFI_API_URL is wrong"):
            api_address("LIFI_API_URL", "https://li.quest/v1", allow_http=False)


@pytest.mark.parametrize(
    ("value", "is_right"),
    [
        ("wss://relay.example", True),
        ("wss://relay.example:8443/v1/", True),
        ("ws://127.0.0.1:5555", True),
        ("ws://[::1]:5555", True),
        ("ws://relay.example", False),
        ("wss://", False),
        ("wss://relay.example:port", False),
        ("wss://somebody@relay.example", False),
        ("wss://relay.example?key=1", False),
        ("wss://relay.example; script-src *", False),
        ("wss://relay.example;script-src", False),
        ("wss://*.example", False),
    ],
)
def test_a_relay_is_one_host_that_is_called_encrypted(
    value: str, is_right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALLETCONNECT_RELAY_URL", value)
    if is_right:
        assert relay_address("WALLETCONNECT_RELAY_URL", "wss://usual.example") == value.rstrip("/")
    else:
        with pytest.raises(ImproperlyConfigured, match="WALLETCONNECT_RELAY_URL is wrong"):
            relay_address("WALLETCONNECT_RELAY_URL", "wss://usual.example")


@pytest.mark.parametrize("proxies", ["", "1", "10.0.0.0/8, ::1"])
def test_what_is_right_starts(proxies: str) -> None:
    done = start(TRUSTED_PROXIES=proxies)
    assert done.returncode == 0, done.stderr
