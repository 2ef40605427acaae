"""The catalogue: which chains and tokens a merchant may ask for (spec 2.1, 2.2; contract 4)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from chains import families


class Chain(models.Model):
    """One network. `id` is its EVM chain id, or LI.FI's number for Solana, which needs 64 bits.

    `chain_type` is the key of its family (`chains.families`). `confirmations` is a number of blocks, or the tag whose
    block has to be reached; its family says which of them it may be. `rpc_urls` are tried in order; `env:NAME` is read
    from the environment. `routers` holds, per routing provider, the only contracts that its transactions may call here.
    `wallet_rpc_url` is the one public node: wallets that don't know the network are offered it.
    """

    id = models.BigIntegerField(primary_key=True)
    name = models.CharField(max_length=100)
    chain_type = models.CharField(max_length=16, choices=families.choices)
    network = models.CharField(max_length=32, blank=True, default="")
    is_active = models.BooleanField(default=True)
    rpc_urls = ArrayField(models.CharField(max_length=500), default=list, blank=True)
    wallet_rpc_url = models.CharField(max_length=500, blank=True, default="", db_default="")
    explorer_url = models.CharField(max_length=500, blank=True, default="")
    native_symbol = models.CharField(max_length=16)
    confirmations = models.CharField(max_length=16, default="finalized")
    block_time_ms = models.PositiveIntegerField(default=2000)
    routers = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.name

    @property
    def family(self) -> families.Family:
        """What its kind of chain has of its own; raises UnknownFamily where that folder is gone."""
        return families.family_of(self.chain_type)


LISTED = "listed"
"""The tag of a token that only a routing provider lists: customers may pay with it, nobody can ask for it."""


class Token(models.Model):
    """One token on one chain; the empty address is the chain's native coin. Keyed by (chain, address), never by symbol.

    EVM addresses are stored with their EIP-55 checksum, Solana mints in base58. `trailing_data` is false for a token
    whose contract refuses bytes after its arguments, so that no reference can ride on its transfers. One that is tagged
    LISTED and inactive never came from the catalogue.
    """

    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="tokens")
    symbol = models.CharField(max_length=32)
    name = models.CharField(max_length=100)
    decimals = models.PositiveSmallIntegerField()
    contract_address = models.CharField(max_length=64, blank=True)
    is_active = models.BooleanField(default=True)
    tags = ArrayField(models.CharField(max_length=32), default=list, blank=True)
    trailing_data = models.BooleanField(default=True)

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
        """Whether this is the chain's own coin."""
        return self.contract_address == ""

    @property
    def is_only_listed(self) -> bool:
        """Whether it never came from the catalogue: good to pay with, and not to be asked for."""
        return not self.is_active and LISTED in self.tags

    @property
    def is_payable(self) -> bool:
        """Whether customers may pay with it: what is switched off in the catalogue is for nobody."""
        return self.is_active or self.is_only_listed


class ChainStatus(models.Model):
    """How a chain's nodes did when a worker last asked them; written and judged by `chains.health`.

    `head` is the highest block that an answering node told of, `head_since` when it was first seen. `nodes` holds, in
    the catalogue's order, each node's host (never its whole address), state, head, blocks behind the best, last error.
    """

    chain = models.OneToOneField(
        Chain, on_delete=models.CASCADE, primary_key=True, related_name="last_status"
    )
    looked_at = models.DateTimeField()
    head = models.BigIntegerField(null=True)
    head_since = models.DateTimeField(null=True)
    nodes = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.chain_id} at {self.head}"
