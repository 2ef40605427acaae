"""Simulate a missing rate for one new request with a price."""

from config.api.errors import ApiError, ErrorCode
from payments.requests.creation import NewRequest
from payments.staging import has_sandbox

# A new request with this entry in its metadata simulates the outage.
METADATA_KEY = "simulate"
METADATA_VALUE = "rate_unavailable"
_RETRY_SECONDS = 5


def require_rate(order: NewRequest) -> None:
    """On staging, raise ApiError `rate_unavailable` if the new request's metadata has the entry `METADATA_KEY`."""
    is_simulated = order.metadata.get(METADATA_KEY) == METADATA_VALUE
    if has_sandbox() and is_simulated and order.price is not None:
        message = f"Simulated: there is no reliable rate. Remove {METADATA_KEY} from the metadata to get one."
        raise ApiError(ErrorCode.RATE_UNAVAILABLE, message, retry_after=_RETRY_SECONDS)
