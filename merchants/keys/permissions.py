"""Key permissions. A view requires a key unless it declares that it is public."""

from typing import TYPE_CHECKING, ClassVar

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config.api.errors import ApiError, ErrorCode
from merchants.models import ApiKey, Permission

if TYPE_CHECKING:
    # At run time, this import would be circular: DRF's views import this module because of a setting.
    from rest_framework.views import APIView


class HasApiKey(BasePermission):
    """Requires an active key. Subclasses may also require a permission."""

    permission: ClassVar[Permission | None] = None

    def has_permission(self, request: Request, view: "APIView") -> bool:  # noqa: ARG002 - the DRF interface
        if not isinstance(request.auth, ApiKey):
            raise ApiError(ErrorCode.API_KEY_MISSING, "Send your API key in the X-API-Key header.")
        if self.permission is not None and self.permission.value not in request.auth.permissions:
            message = f"This API key lacks the permission {self.permission.value}."
            raise ApiError(ErrorCode.PERMISSION_DENIED, message)
        return True


class CanCreatePayments(HasApiKey):
    permission = Permission.CREATE_PAYMENTS


class CanCreateRefunds(HasApiKey):
    """Creating refunds requires a separate permission, because a refund can pay any address."""

    permission = Permission.CREATE_REFUNDS


class CanManageWebhooks(HasApiKey):
    permission = Permission.MANAGE_WEBHOOKS
