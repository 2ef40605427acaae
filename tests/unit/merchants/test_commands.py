"""The commands that create merchants and keys print the result, or fail and create nothing."""

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from merchants.models import ApiKey, AuditEntry, Merchant
from tests.conftest import Api


def run(name: str, *arguments: str) -> str:
    """Return the command's standard output."""
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def test_create_merchant_prints_the_id_alone(db: None) -> None:
    printed = run("create_merchant", "Alice's Bakery")
    merchant = Merchant.objects.get()
    assert printed == f"{merchant.id}\n"
    assert merchant.name == "Alice's Bakery"
    assert merchant.references


@pytest.mark.parametrize("name", ["", "n" * 101, "turn\u202earound"])
def test_an_unusable_name_makes_no_merchant(db: None, name: str) -> None:
    with pytest.raises(CommandError):
        run("create_merchant", name)
    assert Merchant.objects.count() == 0


@pytest.mark.parametrize("named_by", ["id", "name"])
def test_create_api_key_prints_the_key_alone(merchant: Merchant, named_by: str) -> None:
    printed = run(
        "create_api_key",
        str(getattr(merchant, named_by)),
        "--permissions",
        "create_payments,manage_webhooks",
        "--name",
        "web shop",
    )
    assert re.fullmatch(r"quitt_[0-9a-f]{40}\n", printed)
    row = ApiKey.objects.get()
    assert row.merchant == merchant
    assert (row.name, row.permissions) == ("web shop", ["create_payments", "manage_webhooks"])
    assert row.expires_at is None
    assert Api(printed.strip()).get("/api/webhooks").status_code == 200


@pytest.mark.parametrize(
    ("text", "length"),
    [("90d", timedelta(days=90)), ("12h", timedelta(hours=12)), ("30m", timedelta(minutes=30))],
)
def test_a_key_may_be_made_to_expire(merchant: Merchant, text: str, length: timedelta) -> None:
    before = timezone.now()
    run("create_api_key", merchant.name, "--permissions", "create_payments", "--expires-in", text)
    expires_at = ApiKey.objects.get().expires_at
    assert expires_at is not None
    assert before + length <= expires_at <= timezone.now() + length


@pytest.mark.parametrize(
    "wrong",
    [
        ["--permissions", "create_payments,print_money"],
        ["--expires-in", "soon"],
        ["--expires-in", "0d"],
        ["--expires-in", "90"],
        ["--expires-in", "999999d"],
        ["--name", "n" * 101],
        ["--name", "nul\0"],
    ],
)
def test_a_wrong_option_makes_no_key(merchant: Merchant, wrong: list[str]) -> None:
    with pytest.raises(CommandError):
        run("create_api_key", merchant.name, *wrong)
    assert ApiKey.objects.count() == 0


@pytest.mark.parametrize("name", ["Nobody", "01890000-0000-7000-8000-000000000000", "", "alice's bakery"])
def test_an_unknown_merchant_gets_no_key(merchant: Merchant, name: str) -> None:
    with pytest.raises(CommandError, match="no merchant"):
        run("create_api_key", name)
    assert ApiKey.objects.count() == 0


def test_an_ambiguous_name_gets_no_key(merchant: Merchant) -> None:
    twin = Merchant.objects.create(name=merchant.name)
    with pytest.raises(CommandError, match="more than one"):
        run("create_api_key", merchant.name)
    assert ApiKey.objects.count() == 0
    run("create_api_key", str(twin.id))
    assert ApiKey.objects.get().merchant == twin


def test_set_merchant_switches_references(merchant: Merchant) -> None:
    run("set_merchant", merchant.name, "--references", "off")
    merchant.refresh_from_db()
    assert not merchant.references
    run("set_merchant", str(merchant.id), "--references", "on")
    merchant.refresh_from_db()
    assert merchant.references


def test_set_merchant_names_who_may_frame_the_checkout(merchant: Merchant) -> None:
    run(
        "set_merchant",
        merchant.name,
        "--embed-origin",
        "https://Shop.Example.com/",
        "--embed-origin",
        "https://bücher.example:8443",
    )
    merchant.refresh_from_db()
    assert merchant.embed_origins == ["https://shop.example.com", "https://xn--bcher-kva.example:8443"]
    assert merchant.references


@pytest.mark.parametrize(
    "url",
    [
        "shop.example.com",
        "https://shop.example.com/cart",
        "https://a.example; script-src *",
        "https://*",
    ],
)
def test_what_is_no_origin_changes_nothing(merchant: Merchant, url: str) -> None:
    with pytest.raises(CommandError):
        run("set_merchant", merchant.name, "--references", "off", "--embed-origin", url)
    merchant.refresh_from_db()
    assert merchant.embed_origins == []
    assert merchant.references


def test_set_merchant_switches_deposit_addresses_and_logs_it(merchant: Merchant) -> None:
    assert not merchant.deposit_addresses
    for value in ("on", "off"):
        run("set_merchant", merchant.name, "--deposit-addresses", value)
        merchant.refresh_from_db()
        assert merchant.deposit_addresses is (value == "on")
        entry = AuditEntry.objects.order_by("-id")[0]
        assert (entry.what, entry.detail) == ("merchant_changed", f"deposit_addresses: {value}")


def test_set_merchant_sets_the_theme_under_the_rules_of_the_form(merchant: Merchant, settings: Any) -> None:
    settings.ALLOW_HTTP_URLS = False
    theme = ("--accent-colour", "#c8451f", "--logo-url", "https://shop.example/logo.svg")
    run("set_merchant", merchant.name, *theme, "--order-number", "on")
    merchant.refresh_from_db()
    assert (merchant.accent_colour, merchant.logo_url) == ("#c8451f", "https://shop.example/logo.svg")
    assert merchant.show_order_number
    with pytest.raises(CommandError, match="accent_colour: This should be a colour such as #1f6feb"):
        run("set_merchant", merchant.name, "--accent-colour", "red")
    for wrong in (("--accent-colour", "#fffff0"), ("--logo-url", "javascript:1")):
        with pytest.raises(CommandError, match=wrong[0].removeprefix("--").replace("-", "_")):
            run("set_merchant", merchant.name, *wrong)
    merchant.refresh_from_db()
    assert (merchant.accent_colour, merchant.logo_url) == ("#c8451f", "https://shop.example/logo.svg")


@pytest.mark.parametrize("code", ["", "eur", "EURO", "XXX"])
def test_a_reporting_currency_that_is_none_changes_nothing(merchant: Merchant, code: str) -> None:
    with pytest.raises(CommandError, match="reporting_currency"):
        run("set_merchant", merchant.name, "--reporting-currency", code, "--references", "off")
    merchant.refresh_from_db()
    assert (merchant.reporting_currency, merchant.references) == ("USD", True)


def test_set_merchant_switches_sponsored_payments_off(merchant: Merchant) -> None:
    assert merchant.sponsored_payments
    for value in ("off", "on"):
        call_command("set_merchant", str(merchant.pk), "--sponsored-payments", value)
        merchant.refresh_from_db()
        assert merchant.sponsored_payments is (value == "on")
