"""Kill switches by command: the names, the entries in the security log, and that each command can be repeated."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from chains.models import Chain, Switch, Token
from chains.monitoring import doctor
from chains.switches import Feature, is_offered, is_on
from config.doctor.finding import Level
from merchants.models import AuditEntry
from tests.support.operations.findings import found

pytestmark = pytest.mark.django_db


@pytest.fixture
def token() -> Token:
    chain = Chain.objects.create(id=4_244, name="Dead", chain_type="evm", rpc_urls=[], native_symbol="ETH")
    return Token.objects.create(chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="")


def switch(*arguments: str) -> str:
    out = StringIO()
    call_command("switch", *arguments, stdout=out)
    return out.getvalue().strip()


def logged() -> list[tuple[str, str, str, str]]:
    entries = AuditEntry.objects.filter(what__startswith="switched_").order_by("pk")
    return [*entries.values_list("what", "actor", "subject", "detail")]


@pytest.mark.parametrize("feature", Feature)
def test_switching_feature_off_and_on_is_logged_once_each(feature: Feature) -> None:
    assert is_on(feature)
    assert switch("off", feature, "--reason", "an incident") == f"{feature} is off (the feature {feature})."
    assert switch("off", feature) == f"{feature} was off already."
    assert not is_on(feature)
    assert all(is_on(other) for other in Feature if other is not feature)
    assert switch("on", feature) == f"{feature} is on."
    assert switch("on", feature) == f"{feature} was on already."
    assert is_on(feature)
    assert logged() == [
        ("switched_off", "command line", f"{feature} (the feature {feature})", "an incident"),
        ("switched_on", "command line", feature, ""),
    ]


def test_a_chain_takes_its_tokens_along_and_a_token_only_itself(token: Token) -> None:
    other = Token.objects.create(
        chain=token.chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "11" * 20
    )
    switch("off", f"token:{token.pk}")
    assert (is_offered(token), is_offered(other)) == (False, True)
    switch("on", f"token:{token.pk}")
    switch("off", "chain:4244")
    assert (is_offered(token), is_offered(other)) == (False, False)
    switch("on", "chain:4244")
    assert (is_offered(token), is_offered(other)) == (True, True)


def test_a_number_with_zeros_in_front_names_the_same_switch(token: Token) -> None:
    assert switch("off", "chain:04244").startswith("chain:4244 is off")
    assert switch("on", "chain:04244") == "chain:4244 is on."
    assert is_offered(token)


@pytest.mark.parametrize(
    "name", ["", "swap", "chain:", "chain:7", "chain:1e3", "token:-1", "chain:" + "9" * 30]
)
def test_what_does_not_exist_is_refused_and_changes_nothing(name: str) -> None:
    for turn in ("off", "on"):
        with pytest.raises(CommandError):
            switch(turn, *([name] if name else []))
    assert not Switch.objects.exists()
    assert logged() == []


def test_list_shows_switch_with_time_user_and_reason() -> None:
    assert switch("list") == "Everything is on."
    switch("off", "swaps", "--reason", "LI.FI was attacked")
    text = switch("list")
    assert text.startswith("swaps  off since 20")
    assert text.endswith("UTC by command line  LI.FI was attacked")


def test_loading_the_catalogue_again_does_not_switch_anything_on(token: Token) -> None:
    switch("off", "chain:4244")
    Chain.objects.update_or_create(id=4_244, defaults={"is_active": True})
    assert not is_offered(token)


def test_doctor_and_metrics_remind_of_what_is_off() -> None:
    assert found(doctor.check_switches(), Level.OK) == ["switches: everything is on"]
    switch("off", "swaps", "--reason", "an incident")
    (summary,) = found(doctor.check_switches(), Level.WARNING)
    assert summary.endswith("by command line: an incident")

    assert 'quittance_switched_off{name="swaps"} 1.0' in Client().get("/metrics").content.decode()
