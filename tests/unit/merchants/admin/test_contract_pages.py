"""In the portal, contract recipients are confirmed only with a new code of the second factor."""

import pytest

from merchants.models import AuditEntry, Authenticator, ContractRecipient, Merchant
from tests.support.portal.staff import Staff

SAFE = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
SECOND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def alice(merchant: Merchant) -> Staff:
    """A member of Alice's staff."""
    return Staff("alice", "merchant", merchant)


def page(merchant: Merchant, name: str) -> str:
    return f"/admin/merchants/merchant/{merchant.pk}/{name}/"


def confirmed() -> list[tuple[str, str]]:
    return [*ContractRecipient.objects.values_list("address", "confirmed_by")]


def events() -> list[tuple[str, str, str, str]]:
    written = AuditEntry.objects.filter(what__startswith="contract_").order_by("pk")
    return [*written.values_list("what", "actor", "subject", "detail")]


def confirmation(alice: Staff, **changed: str) -> dict[str, str]:
    return {"address": SAFE, "is_controlled": "on", "code": alice.code(), **changed}


def listed(merchant: Merchant, address: str) -> ContractRecipient:
    return ContractRecipient.objects.create(
        merchant=merchant, chain_type="evm", address=address, confirmed_by="alice"
    )


def test_owner_confirms_contract_by_a_code(merchant: Merchant, alice: Staff) -> None:
    shown = alice.client.get(page(merchant, "confirm-contract"))
    assert "anyone can sweep the money there to this address" in shown.content.decode()
    sent = confirmation(alice, address=f" {SAFE.lower()} ")
    answer = alice.client.post(page(merchant, "confirm-contract"), sent)
    assert answer["Location"] == page(merchant, "change")
    assert confirmed() == [(SAFE, "alice")]
    assert events() == [("contract_confirmed", "alice", merchant.name, f"EVM {SAFE}")]
    text = alice.client.get(page(merchant, "change")).content.decode()
    assert SAFE in text
    assert "confirmed by alice" in text


def test_operators_name_is_in_the_log_alone(merchant: Merchant) -> None:
    olga = Staff("olga", "operator")
    olga.client.post(page(merchant, "confirm-contract"), confirmation(olga))
    assert confirmed() == [(SAFE, "the operator")]
    assert events() == [("contract_confirmed", "olga", merchant.name, f"EVM {SAFE}")]


def test_owner_withdraws_confirmation_by_a_code(merchant: Merchant, alice: Staff) -> None:
    row = listed(merchant, SAFE)
    listed(merchant, SECOND)
    sent = {"contract": row.pk, "code": alice.code()}
    assert alice.client.post(page(merchant, "withdraw-contract"), sent).status_code == 302
    assert confirmed() == [(SECOND, "alice")]
    assert events() == [("contract_withdrawn", "alice", merchant.name, f"EVM {SAFE}")]


def test_without_fresh_code_no_confirmation_changes(merchant: Merchant, alice: Staff) -> None:
    row = listed(merchant, SECOND)
    Authenticator.objects.update(throttling_failure_timestamp=None)
    for name, sent in (
        ("confirm-contract", {"address": SAFE, "is_controlled": "on"}),
        ("withdraw-contract", {"contract": row.pk}),
    ):
        answer = alice.client.post(page(merchant, name), {**sent, "code": alice.used})
        assert answer.status_code == 200
        assert answer.context["form"].errors.keys() == {"code"}
    assert confirmed() == [(SECOND, "alice")]
    assert events() == []


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"is_controlled": ""}, "is_controlled"),
        ({"address": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"}, "address"),
    ],
)
def test_incomplete_confirmation_is_rejected_and_uses_no_code(
    merchant: Merchant, alice: Staff, changed: dict[str, str], field: str
) -> None:
    sent = confirmation(alice)
    answer = alice.client.post(page(merchant, "confirm-contract"), {**sent, **changed})
    assert answer.context["form"].errors.keys() == {field}
    assert (confirmed(), events()) == ([], [])
    assert alice.client.post(page(merchant, "confirm-contract"), sent).status_code == 302
    assert confirmed() == [(SAFE, "alice")]
