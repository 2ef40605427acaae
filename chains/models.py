"""The catalogue: the chains and tokens a merchant can request."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from chains import families
from chains.facts.authorizations import TokenDomain


class Chain(models.Model):
    """One network. `id` is its EVM chain id, or LI.FI's number for Solana, which needs 64 bits.

    - `chain_type` is the key of its family (`chains.families`).
    - `confirmations` is a number of blocks or a block tag, as the family allows. If it is a tag, a payment also counts
      after `confirmations_fallback` blocks, because nodes may stop moving the tag.
    - `rpc_urls` are tried in order. `env:NAME` reads an environment variable.
    - `wallet_rpc_url` is a public node, for wallets that don't know the network.
    - `ws_urls` are WebSockets of nodes that announce new blocks. Without them, heads are only polled.
    - `feeds` are price feeds, such as `{"pair": "ETH/USD", "address", "heartbeat"}`, with the heartbeat in seconds.
    - `routers` lists, for each routing provider, the only contracts that its transactions may call.
    - `l1_fee_oracle` is the contract that returns the fee for a transaction's data (the OP stack).
    - `min_tip_wei` is the minimum tip for the chain's blocks.
    """

    id = models.BigIntegerField(primary_key=True)
    name = models.CharField(max_length=100)
    chain_type = models.CharField(max_length=16, choices=families.choices)
    network = models.CharField(max_length=32, blank=True, default="")
    is_active = models.BooleanField("active", default=True)
    rpc_urls = ArrayField(models.CharField(max_length=500), default=list, blank=True)
    ws_urls = ArrayField(
        models.CharField(max_length=500),
        verbose_name="WebSocket URLs",
        default=list,
        db_default=[],
        blank=True,
    )
    wallet_rpc_url = models.CharField("wallet RPC URL", max_length=500, blank=True, default="", db_default="")
    explorer_url = models.CharField("explorer URL", max_length=500, blank=True, default="")
    native_symbol = models.CharField(max_length=16)
    confirmations = models.CharField(max_length=16, default="finalized")
    confirmations_fallback = models.PositiveIntegerField(null=True, blank=True)
    block_time_ms = models.PositiveIntegerField(default=2000)
    routers = models.JSONField(default=dict, blank=True)
    feeds = models.JSONField("price feeds", default=list, db_default=[], blank=True)
    l1_fee_oracle = models.CharField("data fee oracle", max_length=64, blank=True, default="", db_default="")
    min_tip_wei = models.PositiveBigIntegerField("minimum tip (wei)", default=0, db_default=0)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.name

    @property
    def family(self) -> families.Family:
        """The chain family. Raises UnknownFamily if it is no longer installed."""
        return families.family_of(self.chain_type)

    @property
    def finality_tag(self) -> str | None:
        """The block tag that a payment's block must reach; None if the chain counts confirmations."""
        return None if self.confirmations.isdigit() else self.confirmations

    @property
    def is_installed(self) -> bool:
        """Whether the chain's family is installed. If it isn't, the chain's stored values can still be shown."""
        return self.chain_type in families.families()


LISTED = "listed"
"""The tag of a token that only a routing provider lists. Customers can pay with it, but merchants can't request it."""


class Token(models.Model):
    """One token on one chain. A token's key is (chain, address), never the symbol. The native coin has an empty
    address.

    - `contract_address` has its EIP-55 checksum on EVM; on Solana, it is the mint in base58.
    - `trailing_data` is false if the contract rejects data after a call's arguments. Transfers of such a token can't
      contain a reference.
    - `price_as` is the coin whose exchange rates are its price, such as USDC; empty for a token without a price.
    - `authorization` says how the operator can pay the network fee of its transfers: `{"type", "name", "version"}`, or
      on Solana `{"type"}`. `authorization` is null if the operator can't pay the fee.
    - An inactive token with the tag LISTED comes from a routing provider, not from the catalogue.
    """

    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="tokens")
    symbol = models.CharField(max_length=32)
    name = models.CharField(max_length=100)
    decimals = models.PositiveSmallIntegerField()
    contract_address = models.CharField(max_length=64, blank=True)
    is_active = models.BooleanField("active", default=True)
    tags = ArrayField(models.CharField(max_length=32), default=list, blank=True)
    trailing_data = models.BooleanField(default=True)
    price_as = models.CharField("priced as", max_length=16, blank=True, default="", db_default="")
    authorization = models.JSONField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("chain", "contract_address"), name="token_is_one_per_chain_and_address"
            ),
            models.CheckConstraint(condition=models.Q(decimals__lte=36), name="token_decimals_are_sane"),
        )

    def __str__(self) -> str:
        return f"{self.symbol} on {self.chain}"

    @property
    def is_native(self) -> bool:
        return self.contract_address == ""

    @property
    def authorization_domain(self) -> TokenDomain | None:
        """The EIP-712 domain of this token's authorizations; None if the token doesn't support authorizations."""
        rules = self.authorization
        if rules is None or "name" not in rules:
            return None
        return TokenDomain(self.chain_id, self.contract_address, rules["name"], rules["version"])

    @property
    def is_only_listed(self) -> bool:
        """Whether only a routing provider lists the token.

        Customers can then pay with it, but merchants can't request it.
        """
        return not self.is_active and LISTED in self.tags

    @property
    def is_payable(self) -> bool:
        """Whether customers can pay with the token. They can't pay with a token that the catalogue switches off."""
        return self.is_active or self.is_only_listed


class Switch(models.Model):
    """A feature, chain or token that an operator has switched off (`chains.switches`).

    `name` is the name of a feature, or `chain:ID` for a chain, or `token:ID` for a token.
    """

    name = models.CharField(primary_key=True, max_length=64, editable=False)
    off_at = models.DateTimeField(default=timezone.now, editable=False)
    actor = models.CharField(max_length=150, editable=False)
    reason = models.CharField(max_length=200, editable=False)

    class Meta:
        ordering = ("name",)
        verbose_name = "kill switch"
        verbose_name_plural = "kill switches"

    def __str__(self) -> str:
        return self.name


class ChainStatus(models.Model):
    """The result of the last check of a chain's nodes.

    `chains.health` writes and evaluates the rows. `head` is the highest block that enough nodes have reached;
    `head_since` is the time when it was first seen. `nodes` lists each node in the catalogue's order: its host (never
    its full URL), state, head, lag in blocks, last error, and the height of the chain's finality tag. `finality_block`
    is the highest tagged block that enough nodes have reached; `finality_since` is the time when it last moved.
    `finality_block` and `finality_since` are null if the chain counts confirmations.
    """

    chain = models.OneToOneField(
        Chain, on_delete=models.CASCADE, primary_key=True, related_name="last_status"
    )
    looked_at = models.DateTimeField()
    head = models.BigIntegerField(null=True)
    head_since = models.DateTimeField(null=True)
    nodes = models.JSONField(default=list)
    finality_block = models.BigIntegerField(null=True)
    finality_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.chain_id} at {self.head}"
