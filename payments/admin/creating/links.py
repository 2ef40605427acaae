"""The portal's pages for payment links: list, create, share, rename, and switch on or off."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from config.admin import portal
from config.admin.actions import Action, ConfirmForm, WithActions
from config.admin.cells import copyable, exact_and_ago, in_zone, present, two_lines, when
from config.admin.filters import Autocompleted, Days
from merchants.staff.records import Records, found_by
from payments.admin.creating.pages import CreatesLinks
from payments.admin.creating.sharing import amount_of, share_of
from payments.admin.records import address_link
from payments.admin.timeline import named
from payments.links.services import change_link, with_catalogue
from payments.models import PaymentLink
from payments.requests.link_limits import Reason, payments_counts, why_page_closed

_CHANGE = "payments.change_paymentlink"
_WORDS = {
    None: "active",
    Reason.INACTIVE: "switched off",
    Reason.EXPIRED: "expired",
    Reason.USED_UP: "used up",
    Reason.UNAVAILABLE: "token inactive",
    Reason.RECIPIENT: "recipient not allowed",
}
_COLOURS = {
    "active": "success",
    "switched off": "danger",
    "expired": "warning",
    "used up": "warning",
    "token inactive": "danger",
    "recipient not allowed": "danger",
}


class _LinkAction(Action):
    permission = _CHANGE

    def lock(self, row: PaymentLink) -> PaymentLink:
        PaymentLink.objects.select_for_update(no_key=True).get(pk=row.pk)
        return with_catalogue(PaymentLink.objects.all()).get(pk=row.pk)

    def seen(self, row: PaymentLink) -> str:
        return f"{row.is_active} {row.name}"


class SwitchOff(_LinkAction):
    name, icon = "switch-off", "block"
    is_dangerous = True

    def label(self, row: PaymentLink) -> str:  # noqa: ARG002 - the action interface
        return "Switch off"

    def is_offered(self, row: PaymentLink) -> bool:
        return row.is_active

    def explanation(self, row: PaymentLink) -> str:
        return (
            f"The page of “{row}” then says that the link is no longer active. Payment requests that it created can "
            "still be paid until they expire, and money that arrives is credited. You can switch it on again."
        )

    def perform(self, row: PaymentLink, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        change_link(row, is_active=False, actor=actor)
        return "Switched off.", f"“{row}” is switched off."


class SwitchOn(_LinkAction):
    name, icon = "switch-on", "play_arrow"

    def label(self, row: PaymentLink) -> str:  # noqa: ARG002 - the action interface
        return "Switch on"

    def is_offered(self, row: PaymentLink) -> bool:
        return not row.is_active

    def explanation(self, row: PaymentLink) -> str:
        return f"Customers can pay with “{row}” again, to {row.recipient_address} on {row.chain}."

    def perform(self, row: PaymentLink, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        change_link(row, is_active=True, actor=actor)
        return "Switched on.", f"“{row}” is switched on."


class _NameForm(ConfirmForm):
    name = forms.CharField(max_length=100, widget=portal.TextInput(attrs={"autocomplete": "off"}))


class Rename(_LinkAction):
    name, icon = "rename", "edit"
    form = _NameForm

    def label(self, row: PaymentLink) -> str:  # noqa: ARG002 - the action interface
        return "Rename"

    def is_offered(self, row: PaymentLink) -> bool:  # noqa: ARG002 - the action interface
        return True

    def explanation(self, row: PaymentLink) -> str:  # noqa: ARG002 - the action interface
        return "The name is for you. Customers don't see it, and the link's address stays the same."

    def initial(self, row: PaymentLink) -> dict[str, str]:
        return {"name": row.name}

    def perform(self, row: PaymentLink, actor: str, answer: dict[str, Any]) -> tuple[str, str]:
        renamed = change_link(row, name=answer["name"], actor=actor)
        return f"Renamed to “{renamed}”.", f"The link is now called “{renamed}”."


class _LinkList(portal.RecordList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = _with_counts(list(self.result_list))


def _with_counts(links: list[PaymentLink]) -> list[PaymentLink]:
    counts = payments_counts(links)
    for link in links:
        link.__dict__["payments_count"] = counts[link.pk]
    return links


@admin.register(PaymentLink)
class PaymentLinkAdmin(CreatesLinks, WithActions, Records):
    change_form_template = "admin/payments/paymentlink/change_form.html"
    confirmed_actions = (SwitchOff(), SwitchOn(), Rename())
    list_display = ("label", "state", "asked", "used", "owner", "created")
    list_filter = ("is_active", ("merchant", Autocompleted), ("created_at", Days))
    list_select_related = ("merchant", "token", "chain")
    list_class = _LinkList
    ordering = ("-created_at", "-id")
    search_help_text = "The beginning of the name, the link's id or its code"
    fields = readonly_fields = ("redirect_url", "metadata")

    def get_fields(self, request: HttpRequest, obj: PaymentLink | None = None) -> Any:  # noqa: ARG002 - the admin interface
        return [name for name in self.readonly_fields if getattr(obj, name, None)]

    def found(self, rows: QuerySet[PaymentLink], text: str) -> QuerySet[PaymentLink]:
        links = PaymentLink.objects
        named = links.filter(pk__in=rows.filter(name__istartswith=text).values("pk"))
        return found_by(rows, [links.filter(pk=text), links.filter(code=text), named])

    def get_queryset(self, request: HttpRequest) -> QuerySet[PaymentLink]:
        return with_catalogue(super().get_queryset(request))

    def beside(self, request: HttpRequest, link: PaymentLink | None) -> dict[str, Any]:
        if link is None:
            return super().beside(request, link)
        _with_counts([link])
        reason = why_page_closed(link, timezone.now())
        return {
            **super().beside(request, link),
            "title": f"Payment link {link}",
            "amount": amount_of(link),
            "badges": portal.badge(_WORDS[reason], _COLOURS),
            "diagnosis": {
                "tone": "success" if reason is None else "warning",
                "sentence": _sentence(link, reason),
            },
            "facts": present(self._facts(link)),
            "share": None if reason else share_of(link),
            "changes": [
                {"what": change.what, "actor": named(change.actor), "created_at": change.created_at}
                for change in link.changes.all()
            ],
        }

    def _facts(self, link: PaymentLink) -> list[tuple[str, object]]:
        requests = f"{reverse('admin:payments_paymentrequest_changelist')}?payment_link={link.pk}"
        return [
            ("Payments", _used(link)),
            (
                "Requests",
                format_html("{} · {}", link.requests_count, portal.link(requests, "Show requests")),
            ),
            ("Merchant", portal.link(portal.change_url(link.merchant), str(link.merchant))),
            ("Link ID", copyable(link.pk)),
            ("Token", f"{link.token.name} ({link.token.symbol}) on {link.chain}"),
            (
                "Paid to",
                copyable(link.recipient_address, address_link(link.chain, link.recipient_address)),
            ),
            ("Description", link.description),
            ("Expires", exact_and_ago(link.expires_at)),
            ("Page", copyable(link.url, portal.link(link.url, link.url))),
            ("Created", exact_and_ago(link.created_at)),
            ("Created by", named(link.created_by)),
        ]

    @admin.display(description="Payment link", ordering="name")
    def label(self, link: PaymentLink) -> str:
        return two_lines(link.name, link.url)

    @admin.display(description="Status")
    def state(self, link: PaymentLink) -> str:
        return portal.badge(_WORDS[why_page_closed(link, timezone.now())], _COLOURS)

    @admin.display(description="Amount")
    def asked(self, link: PaymentLink) -> str:
        return two_lines(
            format_html('<span class="q-amount">{}</span>', amount_of(link)),
            f"{link.token.symbol} on {link.chain}",
        )

    @admin.display(description="Payments")
    def used(self, link: PaymentLink) -> str:
        return f"{_used(link)} paid"

    @admin.display(description="Merchant")
    def owner(self, link: PaymentLink) -> str:
        return portal.link(portal.change_url(link.merchant), str(link.merchant))

    @admin.display(description=in_zone("Created"), ordering="created_at")
    def created(self, link: PaymentLink) -> str:
        return when(link.created_at)


def _used(link: PaymentLink) -> str:
    count = link.__dict__["payments_count"]
    return f"{count:,} of {link.max_payments:,}" if link.max_payments else f"{count:,}"


def _sentence(link: PaymentLink, reason: Reason | None) -> str:
    match reason:
        case Reason.INACTIVE:
            return "The link is switched off. Its page says so, and creates no payment requests."
        case Reason.EXPIRED:
            return "The link has expired. Create a new one to take more payments."
        case Reason.USED_UP:
            return f"The link has reached its limit of {link.max_payments} payments. Create a new one to take more."
        case Reason.UNAVAILABLE:
            return "The link's token or chain is no longer active. Create a link for another token."
        case Reason.RECIPIENT:
            return (
                "The link's wallet is not one of the merchant's allowed recipients, so its page creates no payment "
                "requests. Allow this wallet, or create a link for an allowed one."
            )
    return "Customers can pay with this link."
