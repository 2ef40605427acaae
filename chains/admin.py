"""Admin pages for chains and tokens: read, switch on or off, and see each chain's health.

`load_catalogue` creates and validates the rows. Health comes from the status that a worker stored (`chains.health`);
no page queries a node.
"""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe

from chains.client import NodeState
from chains.health import Health, evaluate
from chains.models import LISTED, Chain, ChainStatus, Token
from config.admin import portal
from config.admin.cells import NOTHING, ago, clipped, exact_and_ago, outside, two_lines
from config.admin.filters import Choices, Related

HEALTH_COLOURS = {
    Health.WORKING.value: "success",
    Health.IMPAIRED.value: "warning",
    Health.STALLED.value: "danger",
    Health.NOT_FINALIZING.value: "danger",
    Health.DOWN.value: "danger",
    Health.UNKNOWN.value: "",
}
SENTENCES = {
    Health.WORKING: "All nodes respond, and there are new blocks.",
    Health.IMPAIRED: "Enough nodes respond, but not all of them.",
    Health.STALLED: "The nodes respond, but there is no new block. Payments wait.",
    Health.NOT_FINALIZING: "There are new blocks, but none is marked as final. Payments wait for it or the fallback.",
    Health.DOWN: "Too few nodes respond. Payments wait; none fails because of it.",
    Health.UNKNOWN: "No worker has checked the nodes in the last five minutes.",
}
_TONES = {
    Health.WORKING: "success",
    Health.IMPAIRED: "warning",
    Health.STALLED: "danger",
    Health.NOT_FINALIZING: "danger",
    Health.DOWN: "danger",
    Health.UNKNOWN: "info",
}
_NODE_COLOURS = {NodeState.ANSWERING.value: "success", NodeState.LAGGING.value: "warning"}


class _FromTheCatalogue(portal.NeverDeleted):
    """Rows that only `load_catalogue` creates. A field is read-only if a change would alter the value of existing
    requests.
    """

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the admin interface
        return False


@admin.register(Chain)
class ChainAdmin(portal.ShowsMore, _FromTheCatalogue, portal.ModelAdmin[Chain]):
    """Chains. Only users who may change a chain see its node URLs, which may contain an access key."""

    change_form_template = "admin/chains/chain/change_form.html"
    list_display = ("label", "health", "head", "answering", "tokens", "is_active", "depth")
    list_filter = ("is_active", ("chain_type", Choices))
    list_filter_sheet = True
    list_select_related = ("last_status",)
    search_fields = ("name", "=id")
    search_help_text = "Name or chain id"
    settings_of_nodes = ("nodes", "routers")
    readonly_fields: ClassVar[Any] = (
        "id",
        "chain_type",
        "network",
        "native_symbol",
        "confirmations",
        "confirmations_fallback",
        "explorer_url",
        "wallet_rpc_url",
        "price_feeds",
        "l1_fee_oracle",
        "min_tip_wei",
        *settings_of_nodes,
    )
    fields: ClassVar[Any] = ("name", "is_active", "block_time_ms", *readonly_fields)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        options["labels"] = {"is_active": "Active", "block_time_ms": "Block time (ms)"}
        return super().get_form(request, obj, change, **options)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chain]:
        """Annotate each chain with its token counts. Tokens that only a routing provider lists don't count."""
        chains: QuerySet[Chain] = super().get_queryset(request)
        enabled = Count("tokens", filter=Q(tokens__is_active=True))
        own = Count("tokens", filter=Q(tokens__is_active=True) | ~Q(tokens__tags__contains=[LISTED]))
        return chains.annotate(token_count=own, enabled_count=enabled)

    def get_fields(self, request: HttpRequest, obj: Chain | None = None) -> Any:
        if self.has_change_permission(request, obj):
            return self.fields
        return [name for name in self.fields if name not in self.settings_of_nodes]

    def beside(self, request: HttpRequest, chain: Chain | None) -> dict[str, Any]:
        if chain is None:
            return super().beside(request, chain)
        status, health = status_of(chain), health_of(chain)
        return {
            **super().beside(request, chain),
            "amount": chain.name,
            "badges": self.health(chain),
            "diagnosis": {"sentence": SENTENCES[health], "tone": _TONES[health]},
            "facts": [
                ("Latest block", f"{status.head:,}" if status and status.head is not None else NOTHING),
                ("Block first seen", exact_and_ago(status.head_since if status else None)),
                ("Nodes last checked", exact_and_ago(status.looked_at if status else None)),
                ("Nodes responding", self.answering(chain)),
                ("Enabled tokens", self.tokens(chain)),
                ("Confirmations", self.depth(chain)),
                *(
                    [(f"Latest {chain.finality_tag} block", self.final_block(chain))]
                    if chain.finality_tag
                    else []
                ),
            ],
            "looks": [_line(node) for node in (status.nodes if status else [])],
        }

    @admin.display(description="Chain", ordering="name")
    def label(self, chain: Chain) -> str:
        return two_lines(chain.name, f"{chain.chain_type} {chain.pk}")

    @admin.display(description="Health")
    def health(self, chain: Chain) -> str:
        if not chain.is_active:
            return portal.badge("off", {})
        return portal.badge(health_of(chain).value, HEALTH_COLOURS)

    @admin.display(description="Latest block")
    def head(self, chain: Chain) -> str:
        status = status_of(chain)
        if status is None or status.head is None:
            return NOTHING
        return two_lines(f"{status.head:,}", ago(status.head_since) if status.head_since else "")

    @admin.display(description="Nodes")
    def answering(self, chain: Chain) -> str:
        status = status_of(chain)
        if status is None:
            return NOTHING
        good = sum(node["state"] == NodeState.ANSWERING for node in status.nodes)
        lag = max((node["behind"] or 0 for node in status.nodes), default=0)
        return two_lines(
            f"{good} of {len(status.nodes)} respond", f"{lag:,} blocks behind at most" if lag else ""
        )

    @admin.display(description="Tokens", ordering="enabled_count")
    def tokens(self, chain: Chain) -> str:
        return f"{getattr(chain, 'enabled_count', 0)} of {getattr(chain, 'token_count', 0)}"

    @admin.display(description="Confirmations", ordering="confirmations")
    def depth(self, chain: Chain) -> str:
        if chain.finality_tag is None:
            return f"{chain.confirmations} blocks"
        fallback = chain.confirmations_fallback
        return f"{chain.finality_tag} or {fallback} blocks" if fallback else chain.finality_tag

    def final_block(self, chain: Chain) -> str:
        """Return the height of the latest block with the chain's finality tag, and when it last grew."""
        status = status_of(chain)
        if chain.finality_tag is None or status is None or status.finality_since is None:
            return NOTHING
        block = f"{status.finality_block:,}" if status.finality_block is not None else "none"
        return f"{block}, since {exact_and_ago(status.finality_since)}"

    @admin.display(description="Price feeds")
    def price_feeds(self, chain: Chain) -> str:
        lines = [
            (
                feed["pair"],
                clipped(feed["address"], outside(chain.explorer_url, f"address/{feed['address']}")),
                f"at least every {feed['heartbeat']:,} s",
            )
            for feed in chain.feeds
        ]
        return format_html_join(mark_safe("<br>"), "{} · {} · {}", lines) or "none"

    @admin.display(description="Nodes, in order")
    def nodes(self, chain: Chain) -> str:
        return "\n".join(chain.rpc_urls)


@admin.register(Token)
class TokenAdmin(_FromTheCatalogue, portal.ModelAdmin[Token]):
    list_display = ("label", "network", "health", "decimals", "is_active", "contract")
    list_filter = ("is_active", ("chain", Related))
    list_filter_sheet = True
    search_fields = ("symbol", "name", "contract_address")
    search_help_text = "Symbol, name or contract"
    readonly_fields = ("id", "network", "symbol", "decimals", "contract", "priced_as", "tags")
    fields = ("name", "is_active", "trailing_data", *readonly_fields)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        options["labels"] = {"is_active": "Active", "trailing_data": "Accepts a payment reference"}
        options["help_texts"] = {
            "trailing_data": "Switch off if the contract rejects transfers with data after their arguments."
        }
        return super().get_form(request, obj, change, **options)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Token]:
        """Leave out tokens that only a routing provider lists, and load each token's chain.

        The chain is needed because autocomplete lists use this query and show the chain's name.
        """
        tokens: QuerySet[Token] = super().get_queryset(request)
        only_listed = Q(is_active=False, tags__contains=[LISTED])
        return tokens.exclude(only_listed).select_related("chain__last_status")

    @admin.display(description="Token", ordering="symbol")
    def label(self, token: Token) -> str:
        return two_lines(token.symbol, token.name)

    @admin.display(description="Chain", ordering="chain")
    def network(self, token: Token) -> str:
        """Return the chain's name without a link: members can't open the chain's page."""
        return str(token.chain.name)

    @admin.display(description="Chain's health")
    def health(self, token: Token) -> str:
        if not token.chain.is_active:
            return portal.badge("off", {})
        return portal.badge(health_of(token.chain).value, HEALTH_COLOURS)

    @admin.display(description="Priced as")
    def priced_as(self, token: Token) -> str:
        return token.price_as or "no price: requests need an amount of the token"

    @admin.display(description="Contract", ordering="contract_address")
    def contract(self, token: Token) -> str:
        if token.is_native:
            return "native coin"
        return clipped(
            token.contract_address, outside(token.chain.explorer_url, f"address/{token.contract_address}")
        )


def status_of(chain: Chain) -> ChainStatus | None:
    """Return the last status that a worker stored; None if no worker has checked the nodes."""
    return getattr(chain, "last_status", None)


def health_of(chain: Chain) -> Health:
    return evaluate(chain, status_of(chain), timezone.now())


def _line(node: dict[str, Any]) -> dict[str, object]:
    return {
        "host": node["host"],
        "state": portal.badge(
            node["state"], {**_NODE_COLOURS, node["state"]: _NODE_COLOURS.get(node["state"], "danger")}
        ),
        "head": f"{node['head']:,}" if node["head"] is not None else "",
        "behind": f"{node['behind']:,}" if node["behind"] else "",
        "error": node["error"],
    }
