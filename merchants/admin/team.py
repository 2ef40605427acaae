"""The portal's pages for a merchant's team. Each change of rights needs a new second-factor code."""

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from config import mail
from config.admin import portal
from config.admin.cells import in_zone
from config.api.limits.client_address import client_identity
from merchants.admin.forms import ChoosesMerchant
from merchants.admin.fresh_code import FactorForm, is_code_right, is_confirmed, set_up_first
from merchants.models import Authenticator, Invitation, Merchant, StaffMembership
from merchants.sign_in import throttle, two_factor
from merchants.sign_in.views import TOO_MANY
from merchants.staff.roles import MANAGE_TEAM, MEMBER_ROLES, OPERATOR, OnlyOwner, Role, merchant_of
from merchants.staff.scope import MerchantScoped
from merchants.team.invitations import Invited, NotInvitable, invite, revoke, role_label, send
from merchants.team.members import MemberGone, change_role, remove_member

ROLE_TEXTS = {
    OPERATOR: "Operator: everything, for every merchant",
    Role.SUPPORT: "Support: reads every merchant’s data, retries payments and resends webhooks",
    Role.OWNER: "Owner: everything of the merchant, the team included",
    Role.DEVELOPER: "Developer: API keys and webhooks",
    Role.FINANCE: "Finance: payments, refunds and exports",
    Role.VIEWER: "Viewer: sees payments and webhooks, changes nothing",
}
ROLE_COLOURS = {"Operator": "info", "Support": "success", "Owner": "info", "No role": "warning"}


def _choices(*roles: str) -> list[tuple[str, str]]:
    return [(str(role), ROLE_TEXTS[role]) for role in roles]


class RoleForm(FactorForm):
    role = forms.ChoiceField(choices=_choices(*MEMBER_ROLES), widget=portal.Radios)
    field_order = ("role", "code")


class InviteForm(FactorForm):
    email = forms.EmailField(
        max_length=254,
        widget=portal.EmailInput(attrs={"autocomplete": "off", "autofocus": True}),
        help_text="The person gets a link that works once, within 7 days, and chooses a password there.",
    )
    role = forms.ChoiceField(choices=_choices(*MEMBER_ROLES), widget=portal.Radios)

    field_order = ("email", "role", "code")

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        return email.lower()


class OperatorsInviteForm(ChoosesMerchant, InviteForm):
    role = forms.ChoiceField(choices=_choices(*ROLE_TEXTS), widget=portal.Radios)
    merchant = forms.ModelChoiceField(
        Merchant.objects.all(), required=False, help_text="The merchant, if this is a merchant’s role."
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.order_fields(("email", "role", "merchant", "code"))
        chosen: Any = self.fields["merchant"]
        chosen.widget = AutocompleteSelect(StaffMembership._meta.get_field("merchant"), admin.site)
        chosen.widget.choices = chosen.choices

    def clean(self) -> dict[str, Any]:
        """Require a merchant for roles within a merchant. For other roles, clear the merchant."""
        cleaned = super().clean() or {}
        is_member = cleaned.get("role") in MEMBER_ROLES
        if is_member and cleaned.get("merchant") is None and "merchant" not in self.errors:
            self.add_error("merchant", "Choose the merchant.")
        if not is_member:
            cleaned["merchant"] = None
        return cleaned


@admin.register(StaffMembership)
class MemberAdmin(MerchantScoped, portal.ReadOnly, portal.ShowsMore, portal.ModelAdmin[StaffMembership]):
    """The members of a team, with pages that change a role and remove a member."""

    change_form_template = "admin/acting_change_form.html"
    change_list_template = "admin/merchants/staffmembership/change_list.html"
    list_display = ("account", "role_badge", "email", "second_factor", "last_seen", "merchant")
    list_select_related = ("user", "merchant")
    list_per_page = 50
    search_fields = ("user__username", "user__email", "merchant__name")
    search_help_text = "User name, email or merchant"
    ordering = ("merchant__name", "user__username")
    fields = readonly_fields = (
        "account",
        "email",
        "role_badge",
        "merchant",
        "second_factor",
        "last_seen",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[StaffMembership]:
        """Return the members of merchants. Users with the support role are on the users' page."""
        members: QuerySet[StaffMembership] = super().get_queryset(request).exclude(merchant=None)
        return members.annotate(has_factor=Exists(Authenticator.objects.filter(user=OuterRef("user"))))

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<int:member_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"merchants_staffmembership_{name}",
            )
            for name, view in (("role", self.role_view), ("remove", self.remove_view))
        ]
        return [*own, *super().get_urls()]

    def beside(self, request: HttpRequest, member: StaffMembership | None) -> dict[str, Any]:
        offered = []
        if member is not None and request.user.has_perm(MANAGE_TEAM):
            offered = [
                {"label": label, "icon": icon, "url": _url(member, name)}
                for label, icon, name in (
                    ("Change the role", "badge", "role"),
                    ("Remove", "person_remove", "remove"),
                )
            ]
        return {**super().beside(request, member), "offered": offered}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        may_invite = request.user.has_perm(MANAGE_TEAM)
        invite_url = reverse("admin:merchants_invitation_add") if may_invite else ""
        return super().changelist_view(request, {"invite_url": invite_url, **(extra_context or {})})

    def role_view(self, request: HttpRequest, member_id: int) -> HttpResponse:
        member = self._member(request, member_id)
        if member is None:
            return _gone(request)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "changing a role")
        form = RoleForm(request.POST or None, initial={"role": member.role})
        if is_confirmed(request, form):
            role = form.cleaned_data["role"]
            done = f"{member.user} has the role {role_label(role).lower()} now."
            return self._change(request, lambda: change_role(member, role, request=request), done)
        return portal.confirmation(
            request,
            member,
            self,
            title=f"Change the role of {member.user}",
            explanation="The new role takes effect at once, also in open sessions.",
            button="Change the role",
            form=form,
        )

    def remove_view(self, request: HttpRequest, member_id: int) -> HttpResponse:
        member = self._member(request, member_id)
        if member is None:
            return _gone(request)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "removing a member")
        form = FactorForm(request.POST or None)
        if is_confirmed(request, form):
            done = f"{member.user} was removed."
            return self._change(request, lambda: remove_member(member, request=request), done)
        return portal.confirmation(
            request,
            member,
            self,
            title=f"Remove {member.user}",
            explanation=(
                f"The sessions of {member.user} end at once, and the account can’t sign in any more. API keys stay "
                "valid: rotate those that this member knew. You can invite the person again."
            ),
            button="Remove the member",
            form=form,
            dangerous=True,
        )

    def _member(self, request: HttpRequest, member_id: int) -> StaffMembership | None:
        portal.demand(request.user.has_perm(MANAGE_TEAM))
        member: StaffMembership | None = self.get_object(request, str(member_id))
        return member

    def _change(self, request: HttpRequest, change: Callable[[], None], done: str) -> HttpResponse:
        try:
            change()
        except OnlyOwner as error:
            messages.error(request, str(error))
        except MemberGone:
            return _gone(request)
        else:
            messages.success(request, done)
        # Owners who gave up their own role can't see the team any more.
        gave_up = StaffMembership.objects.filter(user=request.user.pk).exclude(role=Role.OWNER).exists()
        return HttpResponseRedirect(reverse("admin:index") if gave_up else _list_url())

    @admin.display(description="User name", ordering="user__username")
    def account(self, member: StaffMembership) -> str:
        return member.user.get_username()

    @admin.display(description="Role", ordering="role")
    def role_badge(self, member: StaffMembership) -> str:
        return portal.badge(role_label(member.role), ROLE_COLOURS)

    @admin.display(description="Email", ordering="user__email")
    def email(self, member: StaffMembership) -> str:
        return member.user.email or "—"

    @admin.display(description="Two-factor", boolean=True)
    def second_factor(self, member: StaffMembership) -> bool:
        return bool(getattr(member, "has_factor", False))

    @admin.display(description=in_zone("Last sign-in"), ordering="user__last_login")
    def last_seen(self, member: StaffMembership) -> str:
        if not member.user.is_active:
            return "deactivated"
        return portal.moment(member.user.last_login, "never")


@admin.register(Invitation)
class InvitationAdmin(MerchantScoped, portal.NeverDeleted, portal.ShowsMore, portal.ModelAdmin[Invitation]):
    """Open and past invitations. A link is sent by e-mail. If e-mail isn't set up, the link is shown once."""

    change_form_template = "admin/acting_change_form.html"
    list_display = ("email", "role_name", "state", "inviter", "created", "expires", "merchant")
    list_select_related = ("merchant", "invited_by")
    list_per_page = 50
    search_fields = ("email", "merchant__name")
    search_help_text = "Email or merchant"
    fields = readonly_fields = ("email", "role_name", "merchant", "state", "inviter", "created", "expires")
    _STATES: ClassVar[dict[str, str]] = {"open": "info", "accepted": "success", "revoked": "danger"}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the admin interface
        return False

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("add/", self.admin_site.admin_view(self.invite_view), name="merchants_invitation_add"),
            path(
                "<int:invitation_id>/revoke/",
                self.admin_site.admin_view(self.revoke_view),
                name="merchants_invitation_revoke",
            ),
        ]
        return [*own, *super().get_urls()]

    def beside(self, request: HttpRequest, invitation: Invitation | None) -> dict[str, Any]:
        offered = []
        is_open = invitation is not None and invitation.is_open(timezone.now())
        if invitation is not None and is_open and request.user.has_perm(MANAGE_TEAM):
            offered = [{"label": "Revoke", "icon": "block", "url": _url(invitation, "revoke")}]
        return {**super().beside(request, invitation), "offered": offered}

    def invite_view(self, request: HttpRequest) -> HttpResponse:
        portal.demand(self.has_add_permission(request) and request.user.has_perm(MANAGE_TEAM))
        own = merchant_of(request.user)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "inviting")
        form_class = InviteForm if own is not None else OperatorsInviteForm
        form = form_class(request.POST or None, initial={"merchant": request.GET.get("merchant", "")})
        if request.method == "POST" and form.is_valid():
            invited = self._invite(request, form, own)
            if invited is not None:
                return self._deliver(request, invited)
        return portal.form_page(
            request,
            self,
            title=f"Invite to {own}" if own is not None else "Invite",
            explanation="If the address has an open invitation, the new one replaces it.",
            button="Send the invitation" if mail.is_configured() else "Create the invitation",
            form=form,
            back_url=_list_url() if own is not None else _list_url("invitation"),
        )

    def _invite(self, request: HttpRequest, form: InviteForm, own: Merchant | None) -> Invited | None:
        email, role = form.cleaned_data["email"], form.cleaned_data["role"]
        if not throttle.may_try(f"invitation of {email}", client_identity(request)):
            form.add_error("email", TOO_MANY)
            return None
        if not is_code_right(request, form):
            return None
        try:
            merchant = own if own is not None else form.cleaned_data["merchant"]
            return invite(email, role, merchant, request=request)
        except NotInvitable as error:
            form.add_error("email", str(error))
            return None

    def _deliver(self, request: HttpRequest, invited: Invited) -> HttpResponse:
        """Send the link, or show it if it can't be sent."""
        if mail.is_configured():
            try:
                send(invited)
            except OSError:
                messages.error(request, "The e-mail could not be sent. Pass the link on yourself.")
            else:
                messages.success(request, f"The invitation to {invited.invitation.email} was sent.")
                return HttpResponseRedirect(_list_url("invitation"))
        return portal.shown_once(
            request,
            self,
            title=f"Invitation for {invited.invitation.email}",
            text="Send this link to the person. It works once, within 7 days, and is shown only now.",
            secret=invited.link,
            back_url=_list_url("invitation"),
        )

    def revoke_view(self, request: HttpRequest, invitation_id: int) -> HttpResponse:
        portal.demand(request.user.has_perm(MANAGE_TEAM))
        invitation: Invitation | None = self.get_object(request, str(invitation_id))
        if invitation is None or not invitation.is_open(timezone.now()):
            messages.info(request, "This invitation is not open any more.")
            return HttpResponseRedirect(_list_url("invitation"))
        if request.method == "POST":
            if revoke(invitation, request=request):
                messages.success(request, f"The invitation of {invitation} was revoked.")
            return HttpResponseRedirect(_list_url("invitation"))
        return portal.confirmation(
            request,
            invitation,
            self,
            title=f"Revoke the invitation of {invitation}",
            explanation="Its link stops working at once.",
            button="Revoke the invitation",
            dangerous=True,
        )

    @admin.display(description="Role", ordering="role")
    def role_name(self, invitation: Invitation) -> str:
        return role_label(invitation.role)

    @admin.display(description="Status")
    def state(self, invitation: Invitation) -> str:
        return portal.badge(_state(invitation), self._STATES)

    @admin.display(description="Invited by")
    def inviter(self, invitation: Invitation) -> str:
        inviter = invitation.invited_by
        if inviter is None or (inviter.is_superuser and invitation.merchant is not None):
            return "the operator"
        return inviter.get_username()

    @admin.display(description=in_zone("Invited"), ordering="created_at")
    def created(self, invitation: Invitation) -> str:
        return portal.moment(invitation.created_at)

    @admin.display(description=in_zone("Expires"), ordering="expires_at")
    def expires(self, invitation: Invitation) -> str:
        return portal.moment(invitation.expires_at)


def _state(invitation: Invitation) -> str:
    if invitation.accepted_at:
        return "accepted"
    if invitation.revoked_at:
        return "revoked"
    return "open" if invitation.is_open(timezone.now()) else "expired"


def _gone(request: HttpRequest) -> HttpResponse:
    messages.info(request, "This member is not in the team any more.")
    return HttpResponseRedirect(_list_url())


def _url(row: Any, name: str) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{name}", args=(row.pk,))


def _list_url(model: str = "staffmembership") -> str:
    return reverse(f"admin:merchants_{model}_changelist")
