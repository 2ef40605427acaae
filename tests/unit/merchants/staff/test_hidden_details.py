"""Lists and histories of the portal don't show by another way what their pages hide."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.sites import site
from django.test import Client

from chains.models import Chain, Token
from config.admin import portal
from merchants.models import AuditEntry, Merchant, StaffMembership
from merchants.staff.roles import Role
from merchants.team.members import remove_member
from tests.support.portal.staff import Staff, signed_in

pytestmark = pytest.mark.django_db

LOG = "/admin/merchants/auditentry/"
CHAINS = "/admin/chains/chain/"


@pytest.fixture
def chain() -> Chain:
    return Chain.objects.create(
        id=10,
        name="Optimism",
        chain_type="evm",
        native_symbol="ETH",
        rpc_urls=["https://node.example/v2/key"],
        ws_urls=["wss://node.example/v2/key"],
        confirmations="5",
    )


def history(client: Client, row: Merchant | Token) -> str:
    return client.get(f"/admin/{row._meta.label_lower.replace('.', '/')}/{row.pk}/history/").content.decode()


@pytest.mark.parametrize("field", ["rpc_urls", "ws_urls", "routers"])
def test_support_cannot_find_node_urls_by_a_lookup(chain: Chain, field: str) -> None:
    support = signed_in(Role.SUPPORT)
    for lookup in (f"{field}__0__startswith", f"{field}__icontains", field):
        assert support.get(CHAINS, {lookup: "https://node.example/v2/k"}).status_code == 400
    assert support.get(CHAINS, {"is_active__exact": "1", "chain_type__exact": "evm"}).status_code == 200


def test_owner_cannot_find_an_operators_name_or_address(merchant: Merchant) -> None:
    AuditEntry.objects.create(
        what=AuditEntry.What.MERCHANT_CHANGED,
        actor="quentin",
        address="10.0.0.1",
        merchant=merchant,
        by_operator=True,
    )
    owner = signed_in(Role.OWNER, merchant)
    for hidden in ({"actor__startswith": "q"}, {"address__startswith": "10."}, {"by_operator__exact": "1"}):
        assert owner.get(LOG, hidden).status_code == 400
    listed = owner.get(LOG, {"what__exact": AuditEntry.What.MERCHANT_CHANGED})
    assert [entry.actor for entry in listed.context["cl"].queryset] == ["quentin"]
    assert "quentin" not in listed.content.decode()


def test_all_lists_allow_lookups_by_their_filters_alone(merchant: Merchant) -> None:
    request = signed_in(Role.SUPPORT).get("/admin/").wsgi_request
    for model, page in site._registry.items():
        assert isinstance(page, portal.ModelAdmin)
        paths = [each[0] if isinstance(each, tuple) else each for each in page.get_list_filter(request)]
        offered = {each.split("__")[0] for each in paths if isinstance(each, str)} | {*page.linked_by}
        for field in model._meta.concrete_fields:
            allowed = page.lookup_allowed(f"{field.name}__exact", "1", request)
            assert allowed == (field.name in offered), f"{model.__name__}.{field.name}"


def test_history_names_members_but_no_operator(merchant: Merchant, usdc: Token) -> None:
    olga, otto = Staff("olga", Role.OWNER, merchant), Staff("otto", Role.OWNER, merchant)
    support = Staff("sue", Role.SUPPORT)
    root = Staff("root", "operator")
    root.user.first_name, root.user.last_name = "Rita", "Root"
    root.user.save()
    for user in (olga.user, otto.user, support.user, root.user):
        for row in (merchant, usdc):
            LogEntry.objects.log_actions(user.pk, [row], 2, change_message="Changed", single_object=True)
    remove_member(
        StaffMembership.objects.get(user=otto.user), request=root.client.get("/admin/").wsgi_request
    )
    for row in (merchant, usdc):
        shown = history(olga.client, row).partition("<tbody>")[2].partition("</tbody>")[0]
        assert shown.count("the operator") == 2
        assert ("olga" in shown, "otto" in shown) == (True, True)
        assert not any(name in shown for name in ("root", "Rita", "sue"))
        assert "root (Rita Root)" in history(root.client, row)
        assert "root (Rita Root)" in history(support.client, row)
