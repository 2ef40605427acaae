"""In the portal, allowed recipients are changed only with a new code of the second factor."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from merchants.models import AllowedRecipient, AuditEntry, Authenticator, Merchant
from merchants.staff.roles import Role
from tests.support.portal.payment_rows import asked
from tests.support.portal.phone import PASSWORD, enrolled
from tests.support.portal.staff import Staff, signed_in

WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
SECOND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SOLANA_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"


@pytest.fixture
def olga(merchant: Merchant) -> Staff:
    return Staff("olga", "operator")


@pytest.fixture
def alice(merchant: Merchant) -> Staff:
    """A member of Alice's staff."""
    return Staff("alice", "merchant", merchant)


def page(merchant: Merchant, name: str) -> str:
    return f"/admin/merchants/merchant/{merchant.pk}/{name}/"


def allowed() -> list[tuple[str, str]]:
    return [*AllowedRecipient.objects.values_list("chain_type", "address")]


def events() -> list[tuple[str, str, str, str]]:
    written = AuditEntry.objects.filter(what__startswith="recipient_").order_by("pk")
    return [*written.values_list("what", "actor", "subject", "detail")]


def listed(merchant: Merchant, *addresses: str) -> None:
    for address in addresses:
        AllowedRecipient.objects.create(merchant=merchant, chain_type="evm", address=address)


@pytest.mark.parametrize("name", ["olga", "alice"])
def test_a_wallet_is_allowed_by_a_code(merchant: Merchant, name: str, request: pytest.FixtureRequest) -> None:
    staff: Staff = request.getfixturevalue(name)
    answer = staff.client.post(
        page(merchant, "allow-recipient"), {"address": f" {WALLET.lower()} ", "code": staff.code()}
    )
    assert answer["Location"] == page(merchant, "change")
    assert allowed() == [("evm", WALLET)]
    assert events() == [("recipient_allowed", name, merchant.name, f"EVM {WALLET}")]
    assert WALLET in staff.client.get(page(merchant, "change")).content.decode()


def test_a_wallet_is_removed_by_a_code(merchant: Merchant, alice: Staff) -> None:
    listed(merchant, WALLET, SECOND)
    row = AllowedRecipient.objects.get(address=WALLET)
    answer = alice.client.post(
        page(merchant, "disallow-recipient"), {"recipient": row.pk, "code": alice.code()}
    )
    assert answer.status_code == 302
    assert allowed() == [("evm", SECOND)]
    assert events() == [("recipient_disallowed", "alice", merchant.name, f"EVM {WALLET}")]


@pytest.mark.parametrize("code", ["", "000000", "abcdef", "used"])
def test_without_a_fresh_code_nothing_changes(merchant: Merchant, alice: Staff, code: str) -> None:
    listed(merchant, WALLET)
    wrong = alice.used if code == "used" else code
    row = AllowedRecipient.objects.get()
    Authenticator.objects.update(throttling_failure_timestamp=None)
    for name, sent in (
        ("allow-recipient", {"address": SECOND}),
        ("disallow-recipient", {"recipient": row.pk}),
    ):
        answer = alice.client.post(page(merchant, name), {**sent, "code": wrong})
        assert answer.status_code == 200
        assert answer.context["form"].errors.keys() == {"code"}
    assert allowed() == [("evm", WALLET)]
    assert events() == []


def test_a_recovery_code_is_no_code_of_the_app(merchant: Merchant, olga: Staff) -> None:
    _, recovery_codes = enrolled(User.objects.get(username="olga"))
    olga.client.post("/admin/login/", {"username": "olga", "password": PASSWORD})
    olga.client.post("/admin/sign-in/code/?with=recovery", {"code": recovery_codes[0]})
    sent = {"address": WALLET, "code": recovery_codes[1]}
    assert olga.client.post(page(merchant, "allow-recipient"), sent).status_code == 200
    assert allowed() == []


def test_six_wrong_codes_are_the_last_for_a_while(merchant: Merchant, alice: Staff) -> None:
    for _ in range(5):
        alice.client.post(page(merchant, "allow-recipient"), {"address": WALLET, "code": "wrong"})
    answer = alice.client.post(page(merchant, "allow-recipient"), {"address": WALLET, "code": alice.code()})
    assert "Too many attempts" in answer.content.decode()
    assert allowed() == []


@pytest.mark.parametrize("name", ["allow-recipient", "disallow-recipient"])
def test_who_has_no_second_factor_is_led_to_setting_one_up(merchant: Merchant, name: str) -> None:
    """For everything else, a staging deployment requires only a password."""
    listed(merchant, WALLET)
    client = signed_in(Role.OWNER, merchant)
    row = AllowedRecipient.objects.get()
    for answer in (
        client.get(page(merchant, name)),
        client.post(page(merchant, name), {"address": SECOND, "recipient": row.pk, "code": "123456"}),
    ):
        assert answer["Location"].startswith("/admin/two-factor/?next=")
    assert allowed() == [("evm", WALLET)]
    assert events() == []


@pytest.mark.parametrize(
    "address",
    ["", "alice.eth", WALLET[:-1], "0x8Ba1f109551bD432803012645Ac136ddd64DBA72", "0x" + "0" * 40, "x" * 5000],
)
def test_invalid_wallet_is_rejected_without_using_a_code(
    merchant: Merchant, alice: Staff, address: str
) -> None:
    code = alice.code()
    answer = alice.client.post(page(merchant, "allow-recipient"), {"address": address, "code": code})
    assert answer.context["form"].errors.keys() == {"address"}
    assert allowed() == []
    sent = {"address": SOLANA_WALLET, "code": code}
    assert alice.client.post(page(merchant, "allow-recipient"), sent).status_code == 302
    assert allowed() == [("solana", SOLANA_WALLET)]


def test_a_form_that_is_sent_twice_acts_once(merchant: Merchant, alice: Staff) -> None:
    sent = {"address": WALLET, "code": alice.code()}
    for _ in range(2):
        assert alice.client.post(page(merchant, "allow-recipient"), sent).status_code == 302
    assert allowed() == [("evm", WALLET)]
    assert len(events()) == 1


def test_another_merchants_wallet_is_no_choice(merchant: Merchant, other_merchant: Merchant) -> None:
    listed(merchant, WALLET)
    listed(other_merchant, SECOND)
    staff = Staff("mallory", "merchant", other_merchant)
    foreign = merchant.allowed_recipients.get()
    sent: dict[str, Any] = {"recipient": foreign.pk, "code": staff.code()}
    assert staff.client.post(page(other_merchant, "disallow-recipient"), sent).status_code == 200
    assert staff.client.post(page(merchant, "disallow-recipient"), sent).status_code == 404
    assert sorted(allowed()) == [("evm", SECOND), ("evm", WALLET)]


def test_the_merchants_form_does_not_change_the_list(merchant: Merchant, olga: Staff) -> None:
    listed(merchant, WALLET)
    changed = {
        "name": "Alice & Sons",
        "default_language": "en",
        "references": "on",
        "reporting_currency": "USD",
        "recipient_list": SECOND,
        "allowed_recipients": SECOND,
    }
    forms = {"api_keys-TOTAL_FORMS": "0", "api_keys-INITIAL_FORMS": "0"}
    changed |= asked(olga.client, page(merchant, "change"))
    assert olga.client.post(page(merchant, "change"), {**changed, **forms}).status_code == 302
    assert allowed() == [("evm", WALLET)]
    assert AuditEntry.objects.filter(what="merchant_changed", actor="olga").get().detail.startswith("name: ")
