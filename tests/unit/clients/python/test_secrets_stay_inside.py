"""The client sends the API key to the service only. It is in no repr, log, exception or call to another host."""

import logging
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quittance

from tests.support.clients.python.middleman import Middleman, answering, cut, problem


def test_the_client_does_not_show_its_key(client: quittance.Client, key: str) -> None:
    parts = [client, client._transport, client._transport._key, client.payment_requests]
    assert key[6:] not in "".join(f"{each!r}{each!s}" for each in parts)


@pytest.mark.parametrize(
    "fault",
    [cut, answering(401, problem("api_key_revoked", "authentication_error")), answering(200, b"<html>")],
    ids=["cut", "refused", "not ours"],
)
def test_no_log_and_no_exception_holds_the_key(
    through: quittance.Client, middleman: Middleman, key: str, fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    middleman.faults = [fault] * 4
    with pytest.raises(quittance.QuittanceError) as failed:
        through.payment_requests.list()
    assert middleman.asked[0].headers["X-API-Key"] == key
    error = failed.value
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)) + caplog.text
    assert "api/payment-requests" in caplog.text
    assert key[6:] not in shown
    assert (error.__cause__, error.__context__) == (None, None)  # requests' error contains its headers
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "sk_" + "0" * 43,
        "quitt_" + "A" * 40,
        "quitt_" + "0" * 40 + "\n",
        "quitt_" + "0" * 39,
        " quitt_" + "0" * 40,
        None,
        b"quitt_" + b"0" * 40,
    ],
)
def test_a_malformed_key_is_refused_and_not_repeated(wrong: Any) -> None:
    with pytest.raises(ValueError, match="api_key should be") as refused:
        quittance.Client(wrong, base_url="https://pay.example.com")
    assert not wrong or str(wrong)[6:] not in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "pay.example.com",
        "ftp://pay.example.com",
        "https://user:secret@pay.example.com",
        "https://pay.example.com?key=1",
        "https://pay.example.com/#a",
    ],
)
def test_an_address_that_can_not_be_right_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="base_url should") as refused:
        quittance.Client("quitt_" + "0" * 40, base_url=wrong)
    assert "secret" not in str(refused.value)


def test_public_calls_go_without_the_key(
    through: quittance.Client, middleman: Middleman, terms: Callable[..., dict[str, Any]]
) -> None:
    through.chains.tokens(through.chains.list()[0].id if terms() else 0)
    through.payment_requests.list()
    assert ["X-API-Key" in asked.headers for asked in middleman.asked] == [False, False, True]


def test_a_netrc_adds_no_other_credentials(
    through: quittance.Client, middleman: Middleman, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    through.payment_requests.list()
    assert "Authorization" not in middleman.asked[0].headers
