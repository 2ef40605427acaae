"""The portal's users with their roles, and the security log."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path

from config.admin import portal
from config.admin.cells import in_zone
from merchants.admin.user_forms import NewStaffForm, StaffForm
from merchants.models import AuditEntry, Authenticator, Merchant, StaffMembership
from merchants.sign_in import two_factor
from merchants.staff import audit
from merchants.staff.roles import OPERATOR, assign_role, membership_of, role_of

_ROLE_WORDS = {"merchant": "merchant staff", "": "no role"}
_ROLE_COLOURS = {"operator": "info", "support": "success", "no role": "warning"}

admin.site.unregister((User, Group))


class RoleFilter(admin.SimpleListFilter):
    title = "role"
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the admin interface
        return [(OPERATOR, "Operator"), *StaffMembership.Role.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:  # noqa: ARG002 - the admin interface
        if self.value() == OPERATOR:
            return queryset.filter(is_superuser=True, membership=None)
        return queryset.filter(membership__role=self.value()) if self.value() else queryset


@admin.register(User)
class StaffAdmin(portal.ShowsMore, portal.NeverDeleted, UserAdmin[User], portal.ModelAdmin[User]):
    """Portal users. They are deactivated, not deleted, so that the security log keeps its actors."""

    form: Any = StaffForm
    add_form: Any = NewStaffForm
    change_password_form = portal.PasswordForm
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
    )
    add_fieldsets = (
        ("New user", {"fields": ("username", "email", "password1", "password2")}),
        ("Role", {"fields": ("role", "merchant")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        users: QuerySet[User] = super().get_queryset(request)
        return users.annotate(has_factor=Exists(Authenticator.objects.filter(user=OuterRef("pk"))))

    @admin.display(description="Email", ordering="email")
    def address(self, user: User) -> str:
        return user.email

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **options: Any
    ) -> type[ModelForm[User]]:
        form: Any = super().get_form(request, obj, change=change, **options)
        form.is_self = obj is not None and obj.pk == request.user.pk
        return form  # type: ignore[no-any-return]

    def get_urls(self) -> list[URLPattern]:
        reset = path(
            "<int:user_id>/reset-two-factor/",
            self.admin_site.admin_view(self.reset_view),
            name="auth_user_reset_two_factor",
        )
        return [reset, *super().get_urls()]

    def beside(self, request: HttpRequest, user: User | None) -> dict[str, Any]:
        may_reset = (
            user is not None
            and self._may_reset_two_factor(request, user)
            and two_factor.authenticator_of(user) is not None
        )
        return {**super().beside(request, user), "may_reset": may_reset}

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save the user with the chosen role and no other permissions."""
        before = _described(User.objects.get(pk=obj.pk)) if change else ""
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            if not change or {"role", "merchant"} & set(form.changed_data):
                assign_role(obj, form.cleaned_data["role"], form.cleaned_data["merchant"])
            self._note(request, obj, form, before)

    def _note(self, request: HttpRequest, user: User, form: Any, before: str) -> None:
        after = _described(User.objects.get(pk=user.pk))
        if not before:
            audit.note(request, audit.What.USER_MADE, subject=user, detail=after)
            return
        if after != before:
            audit.note(request, audit.What.ROLE_CHANGED, subject=user, detail=f"{before} → {after}")
        others = [name for name in form.changed_data if name not in ("role", "merchant")]
        if others:
            audit.note(request, audit.What.USER_CHANGED, subject=user, detail=", ".join(others))

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Set a user's password, which ends their sessions."""
        response = super().user_change_password(request, id, form_url)
        if request.method == "POST" and response.status_code == 302:
            audit.note(request, audit.What.PASSWORD_CHANGED, subject=User.objects.get(pk=id))
        return response

    def reset_view(self, request: HttpRequest, user_id: int) -> HttpResponse:
        user = self.get_object(request, str(user_id))
        if user is None or not self._may_reset_two_factor(request, user):
            raise PermissionDenied
        if two_factor.authenticator_of(user) is None:
            messages.info(request, f"{user} has no two-factor sign-in to reset.")
            return HttpResponseRedirect(portal.change_url(user))
        if request.method != "POST":
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
        return portal.badge(_ROLE_WORDS.get(role, role), _ROLE_COLOURS)

    @admin.display(description="Merchant")
    def merchant_name(self, user: User) -> Merchant | str:
        membership = membership_of(user)
        return membership.merchant if membership and membership.merchant else "—"

    @admin.display(description="Two-factor", boolean=True)
    def second_factor(self, user: User) -> bool:
        return bool(getattr(user, "has_factor", False))


@admin.register(AuditEntry)
class AuditEntryAdmin(portal.ReadOnly, portal.ModelAdmin[AuditEntry]):
    list_display = ("moment", "event", "actor", "subject", "detail", "address")
    list_display_links = None
    empty_value_display = ""
    list_filter = ("what",)
    search_fields = ("=actor", "=address", "subject")
    search_help_text = "User name, IP address, or the object that was changed"
    fields = readonly_fields = ("at", "what", "actor", "subject", "detail", "address")
    ordering = ("-id",)
    list_per_page = 50
    show_full_result_count = False
    paginator = portal.BoundedPaginator
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[portal.RecordList]:  # noqa: ARG002 - the admin interface
        """Return the list class without a "show all" link."""
        return portal.RecordList

    @admin.display(description=in_zone("When"), ordering="id")
    def moment(self, entry: AuditEntry) -> str:
        return portal.moment(entry.at)

    @admin.display(description="What", ordering="what")
    def event(self, entry: AuditEntry) -> str:
        return entry.get_what_display()


def _described(user: User) -> str:
    membership = membership_of(user)
    return str(membership) if membership else (role_of(user) or "no role")
