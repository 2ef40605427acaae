"""Only operators can turn kill switches in the portal, and only with a new code of the second factor."""

import pytest
from django.test import Client

from chains.models import Switch, Token
from merchants.models import AuditEntry, Merchant
from tests.support.portal.staff import Staff
from tests.unit.merchants.staff.estate import token

LIST, OFF = "/admin/chains/switch/", "/admin/chains/switch/add/"
ON = "/admin/chains/switch/swaps/change/"


@pytest.fixture
def olga(db: None) -> Staff:
    return Staff("olga", "operator")


def test_each_switch_change_requires_a_fresh_operator_code(olga: Staff) -> None:
    assert "Kill switches" in olga.client.get("/admin/").content.decode()
    used = olga.code()
    answer = olga.client.post(OFF, {"name": "swaps", "reason": "an incident", "code": used})
    assert answer["Location"] == LIST
    assert [*Switch.objects.values_list("name", "actor", "reason")] == [("swaps", "olga", "an incident")]
    assert "by olga: an incident" in olga.client.get(LIST).content.decode()
    assert "an incident" in olga.client.get(ON).content.decode()
    # The code that switched it off can't be used again.
    assert olga.client.post(ON, {"code": used}).status_code == 200
    assert Switch.objects.exists()
    olga.user.authenticator_set.update(last_step=-1, throttling_failure_count=0)
    assert olga.client.post(ON, {"code": olga.code()})["Location"] == LIST
    assert not Switch.objects.exists()
    logged = AuditEntry.objects.filter(what__startswith="switched_").order_by("pk")
    assert [*logged.values_list("what", "actor")] == [("switched_off", "olga"), ("switched_on", "olga")]


def test_without_the_right_code_nothing_is_switched(olga: Staff) -> None:
    answer = olga.client.post(OFF, {"name": "swaps", "reason": "an incident", "code": "000000"})
    assert answer.status_code == 200
    assert not Switch.objects.exists()


@pytest.mark.parametrize("form", [{"name": "nothing", "reason": "why"}, {"name": "swaps", "reason": ""}])
def test_what_does_not_exist_or_has_no_reason_is_not_switched(olga: Staff, form: dict[str, str]) -> None:
    assert olga.client.post(OFF, {**form, "code": olga.code()}).status_code == 200
    assert not Switch.objects.exists()


def test_an_operator_without_a_second_factor_sets_one_up_first(admin_client: Client) -> None:
    assert admin_client.get(OFF)["Location"].startswith("/admin/two-factor/?next=")
    Switch.objects.create(name="swaps", actor="olga", reason="an incident")
    assert admin_client.post(ON, {"code": "123456"})["Location"].startswith("/admin/two-factor/?next=")
    assert Switch.objects.exists()


@pytest.mark.parametrize("role", ["support", "merchant"])
def test_no_other_role_switches(merchant: Merchant, role: str) -> None:
    staff = Staff("bob", role, merchant if role == "merchant" else None)
    form = {"name": "swaps", "reason": "an incident", "code": staff.code()}
    assert staff.client.post(OFF, form).status_code == 403
    assert staff.client.get(LIST).status_code == 403
    assert not Switch.objects.exists()


def test_switch_already_turned_on_redirects_without_error(olga: Staff) -> None:
    assert olga.client.get(ON)["Location"] == LIST


def lines(staff: Staff) -> dict[str, tuple[str, str]]:
    """Return each line's button and the button's URL."""
    groups = staff.client.get(LIST).context["groups"]
    return {line["label"]: (line["button"], line["url"]) for _, found in groups for line in found}


def test_page_lists_each_feature_chain_and_token_with_one_button(olga: Staff) -> None:
    coin = token()
    Token.objects.create(chain=coin.chain, symbol="OLD", name="Old", decimals=6, is_active=False)
    shown = lines(olga)
    assert list(shown) == [
        "Payments with other tokens (swaps)",
        "Refunds",
        "Prices and exchange rates",
        "Embedded checkouts",
        "Deposit addresses",
        "Base",
        str(coin),
    ]
    assert {button for button, _ in shown.values()} == {"Switch off"}
    for label, name in (
        ("Refunds", "refunds"),
        ("Base", f"chain:{coin.chain_id}"),
        (str(coin), f"token:{coin.pk}"),
    ):
        page = olga.client.get(shown[label][1])
        assert page.context["form"]["name"].value() == name
        Switch.objects.create(name=name, actor="olga", reason="an incident")
        button, url = lines(olga)[label]
        assert button == "Switch on"
        assert olga.client.post(url, {"code": olga.fresh_code()})["Location"] == LIST
        assert not Switch.objects.filter(name=name).exists()


def test_switch_of_a_former_token_can_be_switched_on(olga: Staff) -> None:
    Switch.objects.create(name="token:4711", actor="olga", reason="an incident")
    button, url = lines(olga)["token:4711"]
    assert button == "Switch on"
    olga.client.post(url, {"code": olga.fresh_code()})
    assert not Switch.objects.exists()
