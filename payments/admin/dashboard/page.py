"""The admin's dashboard: daily statistics, chain health, and what needs attention.

The dashboard is fast: it reads only small tables and indexes, queries no node and counts no large table.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from chains.health import NEEDS_ATTENTION, Health, evaluate
from chains.models import Chain
from merchants.models import ApiKey, Merchant
from merchants.staff.roles import merchant_of
from payments.admin.dashboard import plots, sponsoring
from payments.attention import MAX_LISTED, Matter, count_payments, count_requests
from payments.models import Payment, PaymentRequest
from payments.staging import has_sandbox
from payments.stats import queries
from payments.stats.queries import Period
from webhooks import attention as webhook_attention
from webhooks.models import Delivery, Endpoint

PERIODS = (7, 30, 90)
USUAL_PERIOD = 30
_STATISTICS_PERMISSIONS = ("payments.view_paymentrequest", "payments.view_payment")
_LOOK = ("display_name", "logo_url", "accent_colour", "support_url", "support_email")
# Sorted: the worst health first.
_HEALTH_COLOURS = {
    Health.DOWN: "danger",
    Health.STALLED: "danger",
    Health.NOT_FINALIZING: "danger",
    Health.IMPAIRED: "warning",
    Health.UNKNOWN: "",
    Health.WORKING: "success",
}


@dataclass(frozen=True)
class Concern:
    """One line of *Needs attention*: a problem, the number of rows that have it, and the list of those rows."""

    title: str
    explanation: str
    icon: str
    number: int
    url: str
    is_urgent: bool = False

    @property
    def count(self) -> str:
        return f"{MAX_LISTED:,}+" if self.number >= MAX_LISTED else f"{self.number:,}"


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Fill the index page's context with the sections that the user may see.

    A user who belongs to a merchant sees that merchant's data only.
    """
    context["title"] = "Dashboard"
    try:
        merchant = merchant_of(request.user)
    except PermissionDenied:
        return context
    now = timezone.now()
    user = request.user
    context["merchant"] = merchant
    sees_chains = user.has_perm("chains.view_chain")
    context["sponsors"] = sponsoring.sponsors(now) if merchant is None and sees_chains else []
    context["concerns"] = concerns(user, merchant, now, context["sponsors"])
    context["chains"] = chains(now) if sees_chains else []
    if not user.has_perms(_STATISTICS_PERMISSIONS):
        return context
    period = Period(now.date(), _days(request))
    context["first_steps"] = first_steps(user, merchant)
    context["periods"] = [{"days": days, "is_chosen": days == period.days} for days in PERIODS]
    if context["first_steps"] is None:
        context |= plots.statistics(merchant, period, with_webhooks=user.has_perm("webhooks.view_delivery"))
        context["fees"] = sponsoring.fee_cards(merchant, period)
        context["known_until"] = queries.known_until()
        context["has_sandbox"] = has_sandbox()
    return context


def concerns(
    user: User | AnonymousUser, merchant: Merchant | None, now: datetime, sponsors: list[dict[str, Any]]
) -> list[Concern]:
    """Return the problems that the user may see, the most urgent first."""
    payments = _of(merchant, Payment.objects.all(), "request__merchant")
    requests = _of(merchant, PaymentRequest.objects.all(), "merchant")
    items = []
    if user.has_perm("payments.view_payment"):
        items += [_about_payments(matter, payments, now) for matter in _PAYMENT_MATTERS]
    if user.has_perm("payments.view_paymentrequest"):
        items += [_about_requests(matter, requests, now) for matter in _REQUEST_MATTERS]
    if user.has_perm("webhooks.view_endpoint"):
        items += _about_webhooks(user, merchant, now)
    if merchant is None and user.has_perm("chains.view_chain"):
        items += [_about_chains(now), _about_sponsors(sponsors)]
    return sorted((each for each in items if each.number), key=lambda concern: not concern.is_urgent)


_PAYMENT_MATTERS = {
    Matter.REORGED: (
        "Reversed after completion",
        "A chain reorganisation reversed a payment that was reported to the merchant as completed.",
        "undo",
        True,
    ),
    Matter.UNANSWERED: (
        "Verification stalled",
        "No node has returned a usable response for more than an hour.",
        "hourglass_disabled",
        True,
    ),
    Matter.NOT_BOUND: (
        "Payments that can be accepted",
        "Funds may have arrived, but nothing links these transactions to their request, which is "
        "still unpaid.",
        "link_off",
        False,
    ),
}
_REQUEST_MATTERS = {
    Matter.AFTER_PRICE: (
        "Paid after the price expired",
        "Paid in full at an old rate. Accept the payment or refund it.",
        "currency_exchange",
        True,
    ),
    Matter.UNDECIDED: (
        "Paid in full, not completed",
        "A refund was cancelled or failed, or a reversed payment came back. Accept the last payment or refund it.",
        "rule",
        True,
    ),
    Matter.OVERPAID: (
        "Overpaid requests",
        "The customer paid more than requested and may be owed a refund.",
        "price_change",
        False,
    ),
    Matter.AFTER_REFUND: (
        "Paid again after a refund",
        "A payment arrived for a completed request after a refund. Refund it, or deliver again.",
        "replay",
        False,
    ),
    Matter.BEYOND_LINK: (
        "Paid beyond the link's limit",
        "More requests of a payment link were paid than it allows. Deliver, or refund the newest ones.",
        "link_off",
        False,
    ),
    Matter.PARTLY_PAID: (
        "Closed with money paid",
        "Expired partly paid, or cancelled after a payment. Refund it if you don't deliver.",
        "timelapse",
        False,
    ),
}


def _about_payments(matter: Matter, payments: QuerySet[Payment], now: datetime) -> Concern:
    title, explanation, icon, is_urgent = _PAYMENT_MATTERS[matter]
    number = count_payments(payments, matter, now)
    return Concern(title, explanation, icon, number, _list("payments_payment", matter), is_urgent)


def _about_requests(matter: Matter, requests: QuerySet[PaymentRequest], now: datetime) -> Concern:
    title, explanation, icon, is_urgent = _REQUEST_MATTERS[matter]
    number = count_requests(requests, matter, now)
    return Concern(title, explanation, icon, number, _list("payments_paymentrequest", matter), is_urgent)


def _about_webhooks(user: User | AnonymousUser, merchant: Merchant | None, now: datetime) -> list[Concern]:
    endpoints = webhook_attention.in_trouble(_of(merchant, Endpoint.objects.all(), "merchant"), now)
    items = [
        Concern(
            "Endpoints that can't receive",
            "Disabled by the service, or failing for more than a day.",
            "webhook",
            endpoints.count(),
            _list("webhooks_endpoint", "yes", by="trouble"),
            is_urgent=True,
        )
    ]
    if user.has_perm("webhooks.view_delivery"):
        deliveries = _of(merchant, Delivery.objects.all(), "merchant")
        items.append(
            Concern(
                "Failed deliveries",
                "Every attempt failed, within the last week. You can send them again.",
                "outgoing_mail",
                webhook_attention.count_failed(deliveries, now),
                _list("webhooks_delivery", "given_up"),
            )
        )
    return items


def _about_chains(now: datetime) -> Concern:
    number = sum(health in NEEDS_ATTENTION for _, health in _health_of_chains(now))
    return Concern(
        "Chains in trouble",
        "Too few nodes respond, or there is no new or no final block. Payments on these chains wait.",
        "hub",
        number,
        reverse("admin:chains_chain_changelist"),
        is_urgent=True,
    )


def _about_sponsors(sponsors: list[dict[str, Any]]) -> Concern:
    return Concern(
        "Sponsored payments in trouble",
        "A transaction is stuck, or the account’s balance or the day’s budget is nearly used up. "
        "Customers can still pay the network fee themselves.",
        "local_gas_station",
        sponsoring.count_troubled(sponsors),
        f"{reverse('admin:index')}#d-sponsors",
    )


def chains(now: datetime) -> list[dict[str, Any]]:
    """Return each active chain with its last known health, the worst first."""
    shown = []
    for chain, health in _health_of_chains(now):
        status = getattr(chain, "last_status", None)
        nodes = status.nodes if status else []
        shown.append(
            {
                "name": chain.name,
                "health": health.value,
                "colour": _HEALTH_COLOURS[health],
                "head": f"{status.head:,}" if status and status.head is not None else None,
                "age": plots.duration((status.looked_at - status.head_since).total_seconds() * 1000)
                if status and status.head_since
                else None,
                "lag": max((node["behind"] or 0 for node in nodes), default=0),
                "answering": sum(node["state"] == "answering" for node in nodes),
                "nodes": len(nodes),
                "looked_at": status.looked_at if status else None,
                "order": list(_HEALTH_COLOURS).index(health),
            }
        )
    return sorted(shown, key=lambda each: (each["order"], each["name"]))


def _health_of_chains(now: datetime) -> list[tuple[Chain, Health]]:
    active = Chain.objects.filter(is_active=True).select_related("last_status")
    return [(chain, evaluate(chain, getattr(chain, "last_status", None), now)) for chain in active]


def first_steps(user: User | AnonymousUser, merchant: Merchant | None) -> list[dict[str, Any]] | None:
    """Return the set-up steps, done or not. Return None if a payment request exists: set-up is then over."""
    if _of(merchant, PaymentRequest.objects.all(), "merchant").exists():
        return None
    steps: list[dict[str, Any]] = []
    if merchant is None:
        steps += [
            {
                "title": "Load the catalogue",
                "text": "The chains and tokens you accept, and the nodes that verify payments on them.",
                "command": "python manage.py load_catalogue chains/catalogues/mainnet.json",
                "done": Chain.objects.exists(),
            },
            {
                "title": "Create a merchant",
                "text": "A name, and how the checkout page looks.",
                "url": _add(user, "merchants_merchant"),
                "button": "Create a merchant",
                "done": Merchant.objects.exists(),
            },
        ]
    elif user.has_perm("merchants.change_merchant"):
        steps.append(
            {
                "title": "Choose how your checkout looks",
                "text": "The name, logo and colours that customers see, and where they get help.",
                "url": reverse("admin:merchants_merchant_change", args=[merchant.pk]),
                "button": "Edit the checkout",
                "done": any(getattr(merchant, field) for field in _LOOK),
            }
        )
    key_url = _add(user, "merchants_apikey")
    request_url = _add(user, "payments_paymentrequest") if merchant else None
    if request_url or not (merchant is None or key_url):
        steps.append(
            {
                "title": "Request the first payment",
                "text": (
                    "Enter an amount, a token and your wallet. You get a link, a QR code and a page to print; "
                    "you need no developer."
                    if request_url
                    else "Owners and members with the role finance create payment requests."
                ),
                "url": request_url,
                "button": "Request a payment",
                "done": False,
            }
        )
    if merchant is None or key_url:
        steps += _steps_with_api(key_url, _of(merchant, ApiKey.objects.all(), "merchant").exists())
    return steps


def _steps_with_api(key_url: str | None, has_key: bool) -> list[dict[str, Any]]:
    return [
        {
            "title": "Issue an API key",
            "text": "For a shop whose backend creates payment requests. The key is shown once.",
            "url": key_url,
            "button": "Issue a key",
            "done": has_key,
        },
        {
            "title": "Create a payment request with the API",
            "text": "Send an amount, a token, a chain and a wallet. The response contains the checkout page's URL.",
            "command": "POST /api/payment-requests",
            "url": reverse("reference"),
            "button": "Open the API reference",
            "done": False,
        },
    ]


def _add(user: User | AnonymousUser, model: str) -> str | None:
    return reverse(f"admin:{model}_add") if user.has_perm(model.replace("_", ".add_")) else None


def _list(model: str, chosen: str, *, by: str = "attention") -> str:
    return f"{reverse(f'admin:{model}_changelist')}?{by}={chosen}"


def _of(merchant: Merchant | None, rows: QuerySet[Any], path: str) -> QuerySet[Any]:
    return rows if merchant is None else rows.filter(**{path: merchant})


def _days(request: HttpRequest) -> int:
    days_text = request.GET.get("days", "")
    return int(days_text) if days_text in {str(days) for days in PERIODS} else USUAL_PERIOD
