"""Restrict members of a merchant to that merchant's rows, on every portal page."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.db.models import Model, QuerySet
from django.db.models.fields.related import RelatedField
from django.http import Http404, HttpRequest, HttpResponse

from merchants.models import Merchant
from merchants.staff.roles import merchant_of, sees_every_merchant, visible_to

if TYPE_CHECKING:
    from django.contrib.admin.options import BaseModelAdmin

    _AdminClass = BaseModelAdmin[Any]
else:
    _AdminClass = object

_MERCHANT_COLUMNS = ("merchant", "owner")


class MerchantScoped(_AdminClass):
    """Mixin for pages and inlines whose rows belong to merchants. Users see only the rows of their merchant.

    `merchant_path` is the lookup from a row to its merchant: `merchant`, `request__merchant`, or `pk` for the merchant
    itself. In a class's bases, put this mixin before the admin class.

    Lists, objects, searches, autocompletion, choices, actions and history all start from `get_queryset`. So none of
    them can reach another merchant's row.
    """

    merchant_path: ClassVar[str] = "merchant"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return visible_to(request.user, super().get_queryset(request), self.merchant_path)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and self.is_within_reach(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and self.is_within_reach(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and self.is_within_reach(request, obj)

    def is_within_reach(self, request: HttpRequest, obj: Model | None) -> bool:
        """Whether this user may see the merchant of `obj`.

        For an inline, `obj` is the parent object, which was already checked.
        """
        try:
            merchant = merchant_of(request.user)
        except PermissionDenied:
            return False
        own_model: Any = self.model
        owner: Any = obj
        if merchant is None or not isinstance(owner, own_model) or owner._state.adding:
            return True
        for step in self.merchant_path.split("__"):
            owner = getattr(owner, step)
        return (owner.pk if isinstance(owner, Merchant) else owner) == merchant.pk

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Limit the choices to rows that this user may see."""
        related: Any = self.admin_site._registry.get(db_field.remote_field.model)
        if isinstance(related, MerchantScoped) and "queryset" not in options:
            options["queryset"] = related.get_queryset(request)
        return super().formfield_for_foreignkey(db_field, request, **options)

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str
    ) -> HttpResponse:
        """Return 404 for an unknown object to members of a merchant. Django would redirect with a message."""
        if not sees_every_merchant(request.user):
            raise Http404
        page: Any = super()
        response: HttpResponse = page._get_obj_does_not_exist_redirect(request, opts, object_id)
        return response

    def get_list_display(self, request: HttpRequest) -> Any:
        """Hide the column of merchants from members of a merchant.

        The first column always stays, because it links to the row's page.
        """
        page: Any = super()
        columns = page.get_list_display(request)
        if sees_every_merchant(request.user):
            return columns
        return [name for name in columns if name == columns[0] or name not in _MERCHANT_COLUMNS]

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Hide filters that list merchants or their objects from members of a merchant."""
        page: Any = super()  # only a ModelAdmin has this method; inlines have no filters
        filters = page.get_list_filter(request)
        try:
            if merchant_of(request.user) is None:
                return filters
        except PermissionDenied:
            return ()
        return [chosen for chosen in filters if not self._lists_what_merchants_own(chosen)]

    def _lists_what_merchants_own(self, chosen: Any) -> bool:
        path = chosen[0] if isinstance(chosen, tuple | list) else chosen
        if not isinstance(path, str):
            return bool(getattr(path, "for_every_merchant", False))
        model: Any = self.model
        for step in path.split("__"):
            try:
                field = model._meta.get_field(step)
            except FieldDoesNotExist:
                return False
            if not isinstance(field, RelatedField):
                return False
            model = field.related_model
            if model is Merchant or isinstance(self.admin_site._registry.get(model), MerchantScoped):
                return True
        return False
