"""Commands that change a merchant's security take effect completely or not at all. The security log records them."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from merchants.models import AllowedRecipient, ApiKey, AuditEntry, Merchant

WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
SECOND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SOLANA_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def stored() -> list[Any]:
    return [
        [*model.objects.order_by("pk").values()] for model in (Merchant, AllowedRecipient, AuditEntry, ApiKey)
    ]


def recipients() -> list[tuple[str, str]]:
    return [*AllowedRecipient.objects.values_list("chain_type", "address")]


def log() -> list[tuple[str, str, str, str]]:
    return [*AuditEntry.objects.order_by("pk").values_list("what", "actor", "subject", "detail")]


@pytest.mark.parametrize("written", [WALLET, WALLET.lower(), "0x" + WALLET[2:].upper(), f" {WALLET} "])
def test_an_address_is_allowed_in_its_canonical_form(merchant: Merchant, written: str) -> None:
    assert run("set_merchant", merchant.name, "--allow-recipient", written) == ""
    assert recipients() == [("evm", WALLET)]
    assert log() == [("recipient_allowed", "command line", merchant.name, f"EVM {WALLET}")]


def test_a_solana_address_is_known_by_its_form(merchant: Merchant) -> None:
    run("set_merchant", str(merchant.pk), "--allow-recipient", SOLANA_WALLET)
    assert recipients() == [("solana", SOLANA_WALLET)]


def test_allowing_an_address_again_changes_nothing(merchant: Merchant) -> None:
    run("set_merchant", merchant.name, "--allow-recipient", WALLET)
    before = stored()
    run("set_merchant", merchant.name, "--allow-recipient", WALLET.lower())
    assert stored() == before


def test_a_disallowed_address_is_off_the_list(merchant: Merchant) -> None:
    run("set_merchant", merchant.name, "--allow-recipient", WALLET, "--allow-recipient", SECOND)
    assert run("set_merchant", merchant.name, "--disallow-recipient", WALLET.lower()) == ""
    assert recipients() == [("evm", SECOND)]
    assert log()[-1] == ("recipient_disallowed", "command line", merchant.name, f"EVM {WALLET}")


def test_disallowing_last_address_warns_that_any_is_accepted(merchant: Merchant) -> None:
    run("set_merchant", merchant.name, "--allow-recipient", WALLET)
    assert "can pay any address" in run("set_merchant", merchant.name, "--disallow-recipient", WALLET)
    assert recipients() == []


@pytest.mark.parametrize(
    "wrong",
    [
        ["--allow-recipient", "0x8Ba1f109551bD432803012645Ac136ddd64DBA72"],  # a wrong checksum
        ["--allow-recipient", "0x" + "0" * 40],
        ["--allow-recipient", WALLET[:-1]],
        ["--allow-recipient", "alice.eth"],
        ["--allow-recipient", ""],
        ["--allow-recipient", "11111111111111111111111111111111"],
        ["--allow-recipient", SECOND, "--allow-recipient", "nonsense"],
        ["--allow-recipient", SECOND, "--disallow-recipient", WALLET],
        ["--disallow-recipient", SECOND],
        ["--disallow-recipient", SOLANA_WALLET],
        ["--disallow-recipient", WALLET, "--disallow-recipient", SECOND],
        ["--references", "off", "--allow-recipient", "nonsense"],
        ["--references", "off", "--disallow-recipient", SECOND],
        ["--allow-recipient", SECOND, "--embed-origin", "nonsense"],
    ],
)
def test_what_can_not_be_done_whole_is_not_done_at_all(merchant: Merchant, wrong: list[str]) -> None:
    run("set_merchant", merchant.name, "--allow-recipient", WALLET)
    before = stored()
    with pytest.raises(CommandError):
        run("set_merchant", merchant.name, *wrong)
    assert stored() == before


def test_lists_of_merchants_are_apart(merchant: Merchant, other_merchant: Merchant) -> None:
    run("set_merchant", merchant.name, "--allow-recipient", WALLET)
    with pytest.raises(CommandError):
        run("set_merchant", other_merchant.name, "--disallow-recipient", WALLET)
    run("set_merchant", other_merchant.name, "--allow-recipient", WALLET)
    assert len(recipients()) == 2


def test_a_key_made_on_the_command_line_is_in_the_security_log(merchant: Merchant) -> None:
    key = run("create_api_key", merchant.name, "--permissions", "create_payments", "--name", "till").strip()
    ((what, actor, subject, detail),) = log()
    assert (what, actor) == ("key_issued", "command line")
    assert subject == f"{key[:12]}… till"
    assert detail == f"{merchant.name}: create_payments"
    assert key not in str(stored())


def test_a_key_that_is_not_made_is_not_in_the_security_log(merchant: Merchant) -> None:
    with pytest.raises(CommandError):
        run("create_api_key", merchant.name, "--permissions", "print_money")
    assert log() == []


def test_a_new_merchant_and_its_settings_are_in_the_security_log(db: None) -> None:
    id_ = run("create_merchant", "Harbour Coffee").strip()
    run("set_merchant", id_, "--references", "off", "--embed-origin", "https://shop.example")
    assert log() == [
        ("merchant_created", "command line", "Harbour Coffee", id_),
        (
            "merchant_changed",
            "command line",
            "Harbour Coffee",
            "references: off; embed_origins: https://shop.example",
        ),
    ]


def test_a_command_that_changes_nothing_writes_nothing(merchant: Merchant) -> None:
    before = stored()
    run("set_merchant", merchant.name)
    assert stored() == before
