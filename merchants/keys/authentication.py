"""API key authentication by the X-API-Key or Authorization header."""

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from config.api.errors import ApiError, ErrorCode
from config.api.limits.rate_limits import hit
from config.api.log_context import add_to_log_context
from merchants.models import ApiKey, Merchant
from merchants.services import authenticate_key

_BEARER = "bearer"


class ApiKeyAuthentication(BaseAuthentication):
    """Sets `request.user` to the Merchant and `request.auth` to the ApiKey."""

    def authenticate(self, request: Request) -> tuple[Merchant, ApiKey] | None:
        """Return the merchant and key, or None if no key was sent.

        Raises ApiError: 401 for an invalid key, and 429 if the key is over its rate limit.
        """
        sent = set(_sent_keys(request))
        if not sent:
            return None
        if len(sent) > 1:
            message = "X-API-Key and Authorization contain different keys; send one."
            raise ApiError(ErrorCode.API_KEY_INVALID, message)
        key = authenticate_key(sent.pop())
        error = hit("api-key", str(key.pk), settings.RATE_LIMIT_API)
        if error is not None:
            add_to_log_context(merchant_id=key.merchant_id)
            raise error.as_error()
        return key.merchant, key

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the DRF interface
        """Return the WWW-Authenticate challenge. Without it, DRF would respond with 403 to a missing key."""
        return 'ApiKey realm="api"'


def _sent_keys(request: Request) -> list[str]:
    key = request.headers.get("X-API-Key", "").strip()
    authorization = request.headers.get("Authorization", "").strip()
    scheme, _, credential = authorization.partition(" ")
    credential = credential.strip()
    is_bearer = scheme.lower() == _BEARER
    if authorization and key and not is_bearer:
        message = (
            "X-API-Key contains a key and Authorization another scheme than Bearer; send only X-API-Key."
        )
        raise ApiError(ErrorCode.API_KEY_INVALID, message)
    if authorization and not key and not (is_bearer and credential):
        raise ApiError(ErrorCode.API_KEY_MISSING, "Send the key as: Authorization: Bearer <API_KEY>.")
    return [sent for sent in (key, credential) if sent]


def actor_of(request: Request) -> str:
    """Return the actor for history entries. The actor contains the key's prefix, never the whole key."""
    return f"api key {request.auth.prefix}" if isinstance(request.auth, ApiKey) else "api"


def merchant_of(request: Request) -> Merchant:
    """Return the authenticated merchant. A call may only look up objects that belong to this merchant."""
    merchant: object = request.user
    if not isinstance(merchant, Merchant):
        raise ApiError(ErrorCode.API_KEY_MISSING, "Send your API key in the X-API-Key header.")
    return merchant
