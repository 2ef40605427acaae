"""The portal's page of unswept amounts at deposit addresses, by chain and token.

Opening the page queries a node. Any account may sign the transactions that sweep the addresses. The signer pays the
gas, but the money can only go to the recipients of the requests.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.paginator import InvalidPage, Page, Paginator
from django.db.models import Count, Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from chains.models import Chain
from config.admin import portal
from merchants.identifiers import parse_uuid
from merchants.models import Merchant
from merchants.staff.roles import merchant_of
from merchants.staff.scope import MerchantScoped
from payments.admin.deposits.contents import contents_of
from payments.deposits.sweeping import addresses_of
from payments.models import DepositAddress

SWEEP = "payments.sweep_depositaddress"
ADDRESSES_AT_ONCE = 500
_MAX_MERCHANTS = 200


@admin.register(DepositAddress)
class DepositAddressAdmin(MerchantScoped, portal.ReadOnly, portal.ModelAdmin[DepositAddress]):
    merchant_path = "request__merchant"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:  # noqa: ARG002 - the admin interface
        """Show one merchant's unswept amounts on one chain, or let the user choose a merchant."""
        portal.demand(self.has_view_permission(request))
        merchant = self._merchant(request)
        if merchant is None:
            return self._page(
                request, "merchants.html", title="Deposit addresses", merchants=self._merchants()
            )
        counts = _counts(merchant)
        shown: dict[str, Any] = {"merchant": merchant, "title": f"Deposit addresses of {merchant}"}
        if counts:
            chain = _chosen(request, counts)
            page = _page_of(request, counts[chain])
            newest = slice((page.number - 1) * ADDRESSES_AT_ONCE, page.number * ADDRESSES_AT_ONCE)
            shown |= {
                "chain": chain,
                "chains": [
                    {"chain": each, "count": count, "url": _url(merchant, each), "is_chosen": each == chain}
                    for each, count in counts.items()
                ],
                "page": page,
                "earlier": _url(merchant, chain, page.number - 1) if page.has_previous() else "",
                "later": _url(merchant, chain, page.number + 1) if page.has_next() else "",
                "contents": contents_of(merchant, chain, newest),
                "may_sweep": request.user.has_perm(SWEEP),
                "wallet_chain": _for_wallets(chain),
            }
        return self._page(request, "waiting.html", **shown)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",  # noqa: ARG002 - the admin interface
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002 - the admin interface
    ) -> HttpResponse:
        """Redirect to the page of the address's request."""
        portal.demand(request.method != "POST")
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        portal.demand(self.has_view_permission(request, row))
        return HttpResponseRedirect(portal.change_url(row.request))

    def _page(self, request: HttpRequest, name: str, **shown: Any) -> TemplateResponse:
        context = {**self.admin_site.each_context(request), "opts": self.model._meta, **shown}
        return TemplateResponse(request, f"admin/payments/depositaddress/{name}", context)

    def _merchant(self, request: HttpRequest) -> Merchant | None:
        """Return the user's own merchant. Users who see all merchants choose one in the query string."""
        own = merchant_of(request.user)
        key = parse_uuid(request.GET.get("merchant", ""))
        if own is not None or key is None:
            return own
        merchant = Merchant.objects.filter(pk=key).first()
        if merchant is None:
            raise Http404
        return merchant

    def _merchants(self) -> list[dict[str, Any]]:
        addresses = DepositAddress.objects.filter(request__merchant=OuterRef("pk"))
        merchants = Merchant.objects.filter(Exists(addresses))[:_MAX_MERCHANTS]
        return [{"merchant": each, "url": _url(each)} for each in merchants]


def _counts(merchant: Merchant) -> dict[Chain, int]:
    rows = addresses_of(merchant).order_by().values_list("chain").annotate(Count("pk"))
    counts = dict(rows)
    return {chain: counts[chain.pk] for chain in Chain.objects.filter(pk__in=counts).order_by("name")}


def _chosen(request: HttpRequest, counts: dict[Chain, int]) -> Chain:
    """Return the chain in the query string. The default is the chain with the most addresses."""
    chosen = request.GET.get("chain", "")
    return next(
        (each for each in counts if str(each.pk) == chosen), max(counts, key=lambda each: counts[each])
    )


def _page_of(request: HttpRequest, count: int) -> Page[int]:
    pages = Paginator(range(count), ADDRESSES_AT_ONCE)
    try:
        return pages.page(request.GET.get("page", "1"))
    except InvalidPage:
        return pages.page(1)


def _url(merchant: Merchant, chain: Chain | None = None, page: int = 1) -> str:
    query: dict[str, object] = {"merchant": merchant.pk}
    if chain is not None:
        query["chain"] = chain.pk
    if page > 1:
        query["page"] = page
    return f"{reverse('admin:payments_depositaddress_changelist')}?{urlencode(query)}"


def _for_wallets(chain: Chain) -> dict[str, object]:
    return {
        "id": chain.pk,
        "name": chain.name,
        "chain_type": chain.chain_type,
        "network": chain.network,
        "native_symbol": chain.native_symbol,
        "explorer_url": chain.explorer_url or None,
        "wallet_rpc_url": chain.wallet_rpc_url or None,
    }
