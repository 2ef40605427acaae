"""Describe the status of endpoints and deliveries. Lists show a word, and pages show a sentence."""

from dataclasses import dataclass
from datetime import datetime

from config.admin.cells import ago, exact
from webhooks.models import Delivery, Endpoint

DELIVERY_COLOURS = {"delivered": "success", "pending": "info", "failed": "danger"}
ENDPOINT_COLOURS = {"enabled": "success", "failing": "warning", "disabled": "danger", "off": "", "no url": ""}

# The maximum number of deliveries to read. This number includes deliveries to payment requests' own URLs, which are
# then ignored.
_MAX_READ = 200


@dataclass(frozen=True)
class StatusText:
    """A sentence about the status. The tone is success, info, warning or danger."""

    sentence: str
    tone: str


def state_of(endpoint: Endpoint) -> str:
    """Return `enabled`, `failing`, `disabled` (by the service), `off` (by the merchant) or `no url`."""
    if endpoint.url is None:
        return "no url"
    if not endpoint.is_enabled:
        return "disabled" if endpoint.disabled_reason else "off"
    return "failing" if endpoint.failing_since else "enabled"


def of_endpoint(endpoint: Endpoint, now: datetime) -> StatusText:
    match state_of(endpoint):
        case "no url":
            return StatusText("No URL is set. Only requests with their own webhook URL send events.", "info")
        case "disabled":
            sentence = (
                f"Disabled by the service: {endpoint.disabled_reason} "
                "Pending deliveries wait until you enable it."
            )
            return StatusText(sentence, "danger")
        case "off":
            sentence = "Disabled by the merchant. Pending deliveries wait; new events create no deliveries."
            return StatusText(sentence, "warning")
        case "failing":
            since = endpoint.failing_since or now
            sentence = (
                f"Every attempt has failed since {exact(since)} ({ago(since, now)}). "
                "After five days the endpoint is disabled."
            )
            return StatusText(sentence, "warning")
    succeeded_at = _last_success(endpoint)
    if succeeded_at is None:
        return StatusText(
            "Enabled. Nothing was delivered to it in the last 30 days: send a test event to check it.", "info"
        )
    return StatusText(
        f"Enabled. The last successful delivery was {exact(succeeded_at)} ({ago(succeeded_at, now)}).",
        "success",
    )


def _last_success(endpoint: Endpoint) -> datetime | None:
    """Return the time of the last successful delivery to this endpoint.

    Test events count too. Only the newest `_MAX_READ` deliveries are read.
    """
    delivered = Delivery.objects.filter(merchant=endpoint.merchant_id, status=Delivery.Status.DELIVERED)
    newest = delivered.order_by("-created_at", "-id").values_list("url_override", "finished_at")[:_MAX_READ]
    return max((time for own_url, time in newest if not own_url and time is not None), default=None)


def of_delivery(delivery: Delivery, now: datetime) -> StatusText:
    tried = f"{delivery.attempts} attempt{'' if delivery.attempts == 1 else 's'}"
    if delivery.status == Delivery.Status.DELIVERED:
        return StatusText(f"Delivered, after {tried}.", "success")
    if delivery.status == Delivery.Status.FAILED and delivery.is_test:
        return StatusText(
            "The test event was not delivered. Test events are sent once; see the error below.", "danger"
        )
    if delivery.status == Delivery.Status.FAILED:
        return StatusText(f"Given up after {tried}. You can send it again.", "danger")
    if _is_held(delivery):
        return StatusText(
            "On hold: the endpoint is disabled or has no URL. It is sent when that changes.", "warning"
        )
    if delivery.lease_until and delivery.lease_until > now:
        return StatusText("An attempt is in progress.", "info")
    due = (
        "is due"
        if delivery.due_at is None or delivery.due_at <= now
        else f"is due {ago(delivery.due_at, now)}"
    )
    return StatusText(
        f"{tried} so far; the next {due}." if delivery.attempts else f"The first attempt {due}.", "info"
    )


def _is_held(delivery: Delivery) -> bool:
    if delivery.url_override:
        return False
    endpoint = Endpoint.objects.filter(merchant=delivery.merchant_id).first()
    return endpoint is None or not endpoint.is_reachable


def is_success(status_code: int | None, error: str) -> bool:
    return status_code is not None and 200 <= status_code < 300 and not error


def response_text(status_code: int | None, error: str | None) -> str:
    """Describe the result of an attempt: its status, its error, or that it is in progress."""
    return str(status_code) if status_code else (error or "in progress")
