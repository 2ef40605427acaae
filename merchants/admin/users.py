"""The portal's users with their roles."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from config import mail
from config.admin import portal
from merchants.admin.fresh_code import FactorForm, is_confirmed, set_up_first
from merchants.admin.team import ROLE_COLOURS
from merchants.admin.user_forms import NoSecondFactor, StaffForm
from merchants.models import Authenticator, Merchant, StaffMembership
from merchants.sign_in import two_factor
from merchants.sign_in.password_reset import reset_link, send_reset_link
from merchants.staff import audit
from merchants.staff.roles import (
    OPERATOR,
    OnlyOwner,
    Role,
    assign_role,
    lock_team,
    membership_of,
    require_other_owner,
    role_of,
)
from merchants.team.invitations import role_label

admin.site.unregister((User, Group))


class RoleFilter(admin.SimpleListFilter):
    title = "role"
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the admin interface
        return [(OPERATOR, "Operator"), *Role.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:  # noqa: ARG002 - the admin interface
        if self.value() == OPERATOR:
            return queryset.filter(is_superuser=True, membership=None)
        return queryset.filter(membership__role=self.value()) if self.value() else queryset


@admin.register(User)
class StaffAdmin(portal.ShowsMore, portal.NeverDeleted, UserAdmin[User], portal.ModelAdmin[User]):
    """Portal users. Users are deactivated, not deleted, because entries of the security log name them.

    Each change that could let another person sign in, or give more rights, needs a new second-factor code.
    """

    form: Any = StaffForm
    list_display = (
        "username",
        "role_badge",
        "merchant_name",
        "address",
        "second_factor",
        "is_active",
        "last_login",
    )
    list_filter = (RoleFilter, "is_active")
    list_select_related = ("membership__merchant",)
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "User name, name or email"
    readonly_fields = ("last_login", "date_joined", "second_factor")
    filter_horizontal = ()
    fieldsets = (
        ("Account", {"fields": ("username", "password", "is_active")}),
        ("Role", {"fields": ("role", "merchant")}),
        ("Person", {"fields": (("first_name", "last_name"), "email")}),
        ("Sign-in", {"fields": ("second_factor", "last_login", "date_joined")}),
        ("Confirmation", {"fields": ("code",)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        users: QuerySet[User] = super().get_queryset(request)
        return users.annotate(has_factor=Exists(Authenticator.objects.filter(user=OuterRef("pk"))))

    @admin.display(description="Email", ordering="email")
    def address(self, user: User) -> str:
        return user.email

    def invite_view(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the form that invites a user. Users choose their own passwords."""
        portal.demand(self.has_add_permission(request))
        return HttpResponseRedirect(reverse("admin:merchants_invitation_add"))

    def changeform_view(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        try:
            return super().changeform_view(request, *args, **options)
        except OnlyOwner as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(request.path)
        except NoSecondFactor:
            return set_up_first(request, "this change")

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Show the field `leaves_no_owner` if the user is a merchant's only owner."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not _is_only_owner(obj):
            return fieldsets
        (title, account), *others = fieldsets
        return ((title, {**account, "fields": (*account["fields"], "leaves_no_owner")}), *others)

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **options: Any
    ) -> type[ModelForm[User]]:
        form: Any = super().get_form(request, obj, change=change, **options)
        form.request = request
        form.is_self = obj is not None and obj.pk == request.user.pk
        return form  # type: ignore[no-any-return]

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("add/", self.admin_site.admin_view(self.invite_view), name="auth_user_add"),
            path(
                "<int:user_id>/reset-two-factor/",
                self.admin_site.admin_view(self.reset_view),
                name="auth_user_reset_two_factor",
            ),
        ]
        return [*own, *super().get_urls()]

    def beside(self, request: HttpRequest, user: User | None) -> dict[str, Any]:
        may_reset = (
            user is not None
            and self._may_reset_two_factor(request, user)
            and two_factor.authenticator_of(user) is not None
        )
        return {**super().beside(request, user), "may_reset": may_reset}

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save the user with the chosen role and no other permissions."""
        before = _described(User.objects.get(pk=obj.pk))
        with transaction.atomic():
            if "is_active" in form.changed_data and not obj.is_active:
                self._check_owner_remains(request, obj, form)
            super().save_model(request, obj, form, change)
            if {"role", "merchant"} & set(form.changed_data):
                assign_role(obj, form.cleaned_data["role"], form.cleaned_data["merchant"])
            self._note(request, obj, form, before)

    def _check_owner_remains(self, request: HttpRequest, user: User, form: Any) -> None:
        """Raise OnlyOwner if the merchant would lose its only owner.

        The operator can allow that with `leaves_no_owner`.
        """
        membership = StaffMembership.objects.filter(user=user).select_related("user", "merchant").first()
        if membership is None or membership.merchant is None:
            return
        lock_team(membership.merchant)
        try:
            require_other_owner(membership)
        except OnlyOwner as error:
            if not form.cleaned_data["leaves_no_owner"]:
                choice = form.fields["leaves_no_owner"].label
                raise OnlyOwner(f"{error} If the account is stolen, choose “{choice}”.") from error
            invite = portal.link(
                reverse("admin:merchants_invitation_add") + f"?merchant={membership.merchant_id}",
                "Invite another owner now",
            )
            messages.warning(
                request, format_html("{} has no owner who can sign in. {}.", membership.merchant, invite)
            )

    def _note(self, request: HttpRequest, user: User, form: Any, before: str) -> None:
        user = User.objects.get(pk=user.pk)
        after = _described(user)
        if after != before:
            audit.note(request, audit.What.ROLE_CHANGED, subject=user, detail=f"{before} → {after}")
        others = [name for name in form.changed_data if name not in ("role", "merchant", "leaves_no_owner")]
        if others:
            audit.note(request, audit.What.USER_CHANGED, subject=user, detail=", ".join(others))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: ARG002 - the admin interface
        """Send the user a link to set a new password. If e-mail isn't set up, show the link."""
        user = self.get_object(request, id)
        if user is None or not self.has_change_permission(request, user):
            raise PermissionDenied
        if not user.is_active or not user.is_staff:
            messages.error(request, f"{user} is not active and can’t sign in.")
            return HttpResponseRedirect(portal.change_url(user))
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "sending a link for a new password")
        form = FactorForm(request.POST or None)
        by_mail = bool(mail.is_configured() and user.email)
        way = f"Sends {user.email} a link" if by_mail else "Shows a link"
        if not is_confirmed(request, form):
            return portal.confirmation(
                request,
                user,
                self,
                title=f"A new password for {user}",
                explanation=(
                    f"{way} that works once, within an hour. The user chooses the password there. The second "
                    "factor stays. Verify who requests this first."
                ),
                button="Send the link" if by_mail else "Show the link",
                form=form,
            )
        audit.note(request, audit.What.RESET_REQUESTED, subject=user)
        link = reset_link(user)
        if by_mail:
            try:
                send_reset_link(user, link)
            except OSError:
                messages.error(request, "The e-mail could not be sent. Pass the link on yourself.")
            else:
                messages.success(request, f"The link was sent to {user.email}.")
                return HttpResponseRedirect(portal.change_url(user))
        return portal.shown_once(
            request,
            self,
            title=f"A new password for {user}",
            text="Send this link to the user. It works once, within an hour, and is shown only now.",
            secret=link,
            back_url=portal.change_url(user),
        )

    def reset_view(self, request: HttpRequest, user_id: int) -> HttpResponse:
        user = self.get_object(request, str(user_id))
        if user is None or not self._may_reset_two_factor(request, user):
            raise PermissionDenied
        if two_factor.authenticator_of(user) is None:
            messages.info(request, f"{user} has no two-factor sign-in to reset.")
            return HttpResponseRedirect(portal.change_url(user))
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "resetting a second factor")
        form = FactorForm(request.POST or None)
        if not is_confirmed(request, form):
            return portal.confirmation(
                request,
                user,
                self,
                title=f"Reset the two-factor sign-in of {user}",
                explanation=(
                    "Verify who requests this first, for example by phone. The user's sessions end, their "
                    "recovery codes stop working, and they need only their password to set up a new phone."
                ),
                button="Reset",
                form=form,
                dangerous=True,
            )
        with transaction.atomic():
            two_factor.remove(user)
            self.log_change(request, user, "Two-factor sign-in reset.")
            audit.note(request, audit.What.TWO_FACTOR_RESET, subject=user)
        messages.success(request, f"{user} can now sign in with the password and set up a new phone.")
        return HttpResponseRedirect(portal.change_url(user))

    def _may_reset_two_factor(self, request: HttpRequest, user: User) -> bool:
        return user.pk != request.user.pk and self.has_change_permission(request, user)

    @admin.display(description="Role")
    def role_badge(self, user: User) -> str:
        role = role_of(user)
        return portal.badge(role_label(role) if role else "No role", ROLE_COLOURS)

    @admin.display(description="Merchant")
    def merchant_name(self, user: User) -> Merchant | str:
        membership = membership_of(user)
        return membership.merchant if membership and membership.merchant else "—"

    @admin.display(description="Two-factor", boolean=True)
    def second_factor(self, user: User) -> bool:
        return bool(getattr(user, "has_factor", False))


def _is_only_owner(user: User) -> bool:
    membership = StaffMembership.objects.filter(user=user, user__is_active=True).first()
    if membership is None:
        return False
    try:
        require_other_owner(membership)
    except OnlyOwner:
        return True
    return False


def _described(user: User) -> str:
    membership = membership_of(user)
    return membership.position if membership else (role_of(user) or "no role")
