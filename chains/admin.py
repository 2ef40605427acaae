"""The catalogue, to look at and to switch; what is in it comes from `load_catalogue`, which checks it."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from chains.models import Chain, Token
from config import portal


class _FromTheCatalogue(portal.NeverDeleted):
    """Made by `load_catalogue` alone; what would re-value existing requests never changes."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the admin interface
        """Nobody may."""
        return False


@admin.register(Chain)
class ChainAdmin(_FromTheCatalogue, portal.ModelAdmin[Chain]):
    """Chains. Node URLs are for those alone who may change them: they may hold a provider's key."""

    list_display = ("name", "id", "chain_type", "network", "is_active", "confirmations", "tokens")
    list_filter = ("is_active", "chain_type")
    search_fields = ("name", "=id")
    search_help_text = "Name or chain id"
    settings_of_nodes = ("nodes", "routers")
    readonly_fields = (
        "id",
        "chain_type",
        "network",
        "native_symbol",
        "confirmations",
        "explorer_url",
        *settings_of_nodes,
    )
    fields = ("name", "is_active", "block_time_ms", *readonly_fields)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chain]:
        """Count each chain's tokens along."""
        chains: QuerySet[Chain] = super().get_queryset(request).annotate(token_count=Count("tokens"))
        return chains

    def get_fields(self, request: HttpRequest, obj: Chain | None = None) -> Any:
        """Leave out the nodes for those who only look."""
        if self.has_change_permission(request, obj):
            return self.fields
        return [name for name in self.fields if name not in self.settings_of_nodes]

    @admin.display(description="Tokens", ordering="token_count")
    def tokens(self, chain: Chain) -> int:
        """Return how many tokens the catalogue has on it."""
        return int(getattr(chain, "token_count", 0))

    @admin.display(description="Nodes, in the order in which they are asked")
    def nodes(self, chain: Chain) -> str:
        """Return the node URLs, one per line."""
        return "\n".join(chain.rpc_urls)


@admin.register(Token)
class TokenAdmin(_FromTheCatalogue, portal.ModelAdmin[Token]):
    """Tokens, known by chain and contract."""

    list_display = ("symbol", "name", "chain", "decimals", "is_active", "contract")
    list_filter = ("is_active", "chain")
    list_select_related = ("chain",)
    search_fields = ("symbol", "name", "contract_address")
    search_help_text = "Symbol, name or contract"
    readonly_fields = ("id", "chain", "symbol", "decimals", "contract", "tags")
    fields = ("name", "is_active", "trailing_data", *readonly_fields)

    @admin.display(description="Contract", ordering="contract_address")
    def contract(self, token: Token) -> str:
        """Return the contract's address; a chain's own coin has none."""
        return token.contract_address or "the chain's own coin"
