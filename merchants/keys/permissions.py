"""Key permissions. Views require a key by default; a public view must declare itself public."""

from typing import TYPE_CHECKING, ClassVar

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config.api.errors import ApiError, ErrorCode
from merchants.models import ApiKey, Permission

if TYPE_CHECKING:
    # The framework's views read the setting that names this module, so they can't be imported here at run time.
    from rest_framework.views import APIView


class HasApiKey(BasePermission):
    """Requires an active key; subclasses may require a permission as well."""

    permission: ClassVar[Permission | None] = None

    def has_permission(self, request: Request, view: "APIView") -> bool:  # noqa: ARG002 - the DRF interface
        """Return True, or raise ApiError (401 or 403)."""
        if not isinstance(request.auth, ApiKey):
            raise ApiError(ErrorCode.API_KEY_MISSING, "Send your API key in the X-API-Key header.")
        if self.permission is not None and self.permission.value not in request.auth.permissions:
            message = f"This API key lacks the permission {self.permission.value}."
            raise ApiError(ErrorCode.PERMISSION_DENIED, message)
        return True


class CanCreatePayments(HasApiKey):
    """Requires `create_payments`."""

    permission = Permission.CREATE_PAYMENTS


class CanCreateRefunds(HasApiKey):
    """Requires `create_refunds`: a refund can name any address."""

    permission = Permission.CREATE_REFUNDS


class CanManageWebhooks(HasApiKey):
    """Requires `manage_webhooks`."""

    permission = Permission.MANAGE_WEBHOOKS
