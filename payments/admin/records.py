"""What the pages of requests, payments and their records share."""

from datetime import UTC
from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from chains.amounts import display_amount
from chains.models import Token
from config import portal
from merchants.portal import MerchantScoped
from payments.models import Transition

REQUEST_COLOURS = {"active": "info", "completed": "success", "expired": "warning", "cancelled": "danger"}
PAYMENT_COLOURS = {"pending": "info", "processing": "info", "completed": "success", "failed": "danger"}


def in_token(raw: int | None, token: Token | None) -> str:
    """Return base units as people write them, with the symbol: `10.50 USDC`."""
    return "—" if raw is None or token is None else f"{display_amount(raw, token.decimals)} {token.symbol}"


def ends(transaction_hash: str) -> str:
    """Return a hash's first and last characters."""
    return f"{transaction_hash[:10]}…{transaction_hash[-6:]}"


class Records(MerchantScoped, portal.ReadOnly, portal.ModelAdmin[Any]):
    """Rows by the million: never all counted, found by exact values that have an index."""

    show_full_result_count = False
    paginator = portal.BoundedPaginator
    list_per_page = 50
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[portal.RecordList]:  # noqa: ARG002 - the admin interface
        """Return the kind of list."""
        return portal.RecordList

    def matching(self, text: str) -> Q:
        """Return what `text` may mean."""
        raise NotImplementedError

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - the admin interface
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that `search_term` names exactly."""
        text = search_term.strip()
        return (queryset.filter(self.matching(text)) if text else queryset), False


class TransitionInline(MerchantScoped, portal.ReadOnly, portal.TabularInline[Transition, Any]):
    """What happened, in order: each change, by whom and why."""

    merchant_path = "request__merchant"
    model = Transition
    extra = 0
    fields = readonly_fields = ("at", "subject", "change", "actor", "reason")
    verbose_name_plural = "History"
    hide_title = True

    @admin.display(description="When (UTC)")
    def at(self, transition: Transition) -> str:
        """Return when, to the second."""
        return f"{transition.created_at.astimezone(UTC):%-d %b %Y, %H:%M:%S}"

    @admin.display(description="What")
    def subject(self, transition: Transition) -> str:
        """Return what changed."""
        return transition.payment_id or "the request"

    @admin.display(description="Change")
    def change(self, transition: Transition) -> str:
        """Return from what to what."""
        return str(transition)


def may(request: HttpRequest, action: str) -> bool:
    """Return whether this member of staff's role has this action, such as `retry_payment` (see merchants.staff)."""
    return request.user.has_perm(f"payments.{action}")


def actor_of(request: HttpRequest) -> str:
    """Return the name under which the history knows this member of staff."""
    return f"admin {request.user.get_username()}"[:100]


def not_there(request: HttpRequest, model: str, key: object) -> HttpResponse:
    """Return to the list, saying that there is no such object."""
    messages.error(request, f"There is nothing with the id {key}.")
    return HttpResponseRedirect(reverse(f"admin:{model}_changelist"))
