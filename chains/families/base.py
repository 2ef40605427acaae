"""`Family`: everything that differs between kinds of chains.

All fields except `make_client` are data and pure functions. The rest of the product uses these fields and never
branches on the family itself. So a new family is a new folder next to `evm` and `solana`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chains.client import ChainClient, EvmCall, Mention
from chains.facts.authorizations import SignedTransaction, TokenDomain, TransferAuthorization
from chains.facts.cosigning import PayerSigned
from chains.facts.deposits import Deposit as Deposit

LONGEST_SIGNATURE = 10_000


class AddressError(ValueError):
    """An address that can't receive payments. The message is the reason."""


class HashError(ValueError):
    """An invalid transaction hash."""


class SignatureError(ValueError):
    """An invalid signature. The message describes the format of a valid one."""


@dataclass(frozen=True)
class Network:
    """The properties of a chain that its client needs.

    `name` is the cluster's name on Solana. `head_allowance` is the number of blocks that a node may be behind.
    `l1_fee_oracle` is the contract that returns the fee for a transaction's data; "" if there is none.
    """

    chain_id: int
    name: str
    urls: tuple[str, ...]
    head_allowance: int
    l1_fee_oracle: str = ""
    min_tip_wei: int = 0


@dataclass(frozen=True)
class CallRules:
    """How to find a routing provider's ID in the calls of a transaction.

    The ID starts after `selector_bytes` bytes of a call. If `selector_bytes` is None, the ID may be anywhere in the
    call. If `payer_signs_all`, the payer signs every call of a transaction, so a third party can't add one.
    """

    selector_bytes: int | None
    payer_signs_all: bool


@dataclass(frozen=True, kw_only=True)
class LinkTerms:
    """The content of a wallet link.

    `units` is the amount in base units, `amount` the same amount as a decimal string. `token` is empty for the native
    coin. `reference` is None if the request has none.
    """

    chain_id: int
    recipient: str
    token: str
    units: int
    amount: str
    reference: bytes | None
    label: str
    message: str


@dataclass(frozen=True, kw_only=True)
class WalletLinks:
    """Links that open a wallet to pay (EIP-681, Solana Pay).

    If `bind` is true, a transfer that a link opens contains the reference.
    """

    make: Callable[[LinkTerms], str]
    bind: bool


@dataclass(frozen=True)
class Sweep:
    """A token to sweep from a deposit address. `token` is empty for the native coin, `salt` is in hex."""

    recipient: str
    salt: str
    token: str


@dataclass(frozen=True, kw_only=True)
class DepositContracts:
    """The contracts behind deposit addresses.

    - `factory` is the factory's address, the same on every chain; `factory_code` is the code that should be at it.
    - `deployer` is the contract that `deployment` calls. The deployer must exist on the chain.
    - `deposit_of(recipient, payment request's ID)` and `sweep(sweeps)` need no network.
    """

    factory: str
    factory_code: bytes
    deployer: str
    deployment: Callable[[], EvmCall]
    deposit_of: Callable[[str, UUID], Deposit]
    sweep: Callable[[Sequence[Sweep]], EvmCall]


@dataclass(frozen=True, kw_only=True)
class Authorizations:
    """Transfers that a payer only signs, and any account sends. All functions work offline.

    - `kind` is the type in the catalogue.
    - `nonce_of(reference, route ID)` is the nonce that binds an authorization to one route of a request.
    - `typed_data(authorization)` is the content for the wallet to sign.
    - `can_sign(code)` is whether an account with this code has a key of its own. `code` is empty for an account without
      a contract.
    - `read_signature(text)` returns the canonical form of a key's signature, or raises SignatureError.
      `is_signed(authorization, signature)` is whether the payer's own key made it.
    - `transfer_call(authorization, signature)` is the call that makes the transfer.
    - `domain_separator(domain)` is the value that the token's contract should return.
    - `is_ended_by(authorization, mentions)` is whether a log of the token shows that the authorization was used or
      cancelled.

    Functions for the operator's account, which sends the transaction:

    - `address_of(key)` and `sign(unsigned transaction, nonce, key)` need its private key.
    - `max_cost(unsigned transaction)` is the maximum cost in base units of the coin, without the chain's data fee.
    - `raised(unsigned transaction, same with current fees)` returns the transaction with higher fees, so that nodes
      replace the transaction that was sent.
    - `capped(unsigned transaction, cost)` returns the transaction with lower fees, so that it costs at most `cost`
      without the data fee. None if such a transaction would not be mined soon.
    - `is_ample(unsigned transaction, same with current fees)` is whether the fees are so high that higher fees would
      not help.
    - `empty_call(address)` is a call without effect, which replaces a transaction that is no longer needed.
    """

    kind: str
    nonce_of: Callable[[bytes, str], bytes]
    typed_data: Callable[[TransferAuthorization], dict[str, Any]]
    read_signature: Callable[[str], bytes]
    can_sign: Callable[[bytes], bool]
    is_signed: Callable[[TransferAuthorization, bytes], bool]
    transfer_call: Callable[[TransferAuthorization, bytes], EvmCall]
    domain_separator: Callable[[TokenDomain], bytes]
    is_ended_by: Callable[[TransferAuthorization, Iterable[Mention]], bool]
    address_of: Callable[[str], str]
    sign: Callable[[dict[str, Any], int, str], SignedTransaction]
    max_cost: Callable[[dict[str, Any]], int]
    raised: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
    capped: Callable[[dict[str, Any], int], dict[str, Any] | None]
    is_ample: Callable[[dict[str, Any], dict[str, Any]], bool]
    empty_call: Callable[[str], EvmCall]


@dataclass(frozen=True, kw_only=True)
class Cosigning:
    """Transactions that the payer signs and the operator's account pays for. All functions work offline.

    - `kind` is the type in the catalogue.
    - `address_of(key)` is the address of the account with this private key.
    - `read_signed(built transaction, text, payer, sponsor)` parses the transaction that the wallet returned. Raises
      SignatureError if the payer did not sign the built transaction. The wallet may have added protections that cost
      the sponsor nothing.
    - `fee_payer_of(transaction)` is the address of the fee payer, for a transaction that we built.
    - `sign(payer-signed transaction, key)` adds the fee payer's signature, which is always the same for the same
      transaction.
    """

    kind: str
    address_of: Callable[[str], str]
    read_signed: Callable[[bytes, str, str, str], PayerSigned]
    fee_payer_of: Callable[[bytes], str]
    sign: Callable[[bytes, str], SignedTransaction]


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The checkout's texts for this family, as keys of `checkout/messages`. The defaults fit any chain.

    `sign_method` names the signing method, for customers who sign with their own tools. An empty `signature_hint` is
    not shown.
    """

    shows_chain_id: bool = False
    contract: str = "page.tokenContract"
    transaction: str = "page.hash"
    transaction_hint: str = "page.hashHintRouted"
    reference: str = "page.reference"
    sign_method: str
    signature_hint: str = ""
    check_contract: str = "page.checkCoin"
    check_coin: str = "page.checkCoin"


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family of chains.

    Identity:
    - `key` is its identifier in the database and the API, and the folder's name. `label` is for display.

    Amounts:
    - `native_decimals` are the decimals of the native coin, which also pays the fees.
    - `largest_amount` is the largest amount in base units; at most 2^256 - 1, the database's limit.

    Catalogue:
    - `confirmation_tags` are the block tags that a chain's `confirmations` can name: `safe`, `confirmed`, `finalized`.
      If `counts_confirmations` is true, `confirmations` can also be a number of blocks.
    - `has_price_feeds` is true if its client reads price feeds. `has_data_fees` is true if its chains may charge for a
      transaction's data.

    Parsing. Each function returns the canonical form, or raises the error for its input:
    - `normalise_address`, `normalise_transaction_hash` and `read_signature`. `normalise_signature` extracts a signature
      from a text and passes it to `read_signature`.
    - `address_mark` is the prefix of this family's addresses, in lower case; empty if they have none.
    - `find_address` returns the address in a pasted text, or "". Any letter case is accepted, and so are addresses that
      can't be paid.
    - `address_bytes` returns the bytes that represent an address in a call. `reference_text` formats a reference as
      explorers show it.

    Signing and paying:
    - `is_signed_by_key(address, message, signature)` is whether this address's own key signed. It works offline.
    - `account_name` and `chain_reference(chain id, cluster name)` go into the sign-in message for a wallet (EIP-4361).
    - `actions` are the classes of `chains.client.Action` that its wallets sign. If empty, customers can only send
      manually.
    - `deposits` is None if the family has no deposit addresses. For sponsored payments, a family has at most one of
      two: `authorizations` (the payer signs a transfer) or `cosigning` (the payer and the operator sign the
      transaction).
    - `links` is None if wallets open no payment links. `call_rules` describe how to find a routing provider's ID in
      calls.
    - `native_alias` is the address that routing providers use for the native coin; empty if there is none.

    New blocks:
    - `subscribe_heads` is a JSON-RPC method and its parameters. The method subscribes to new blocks over a WebSocket.

    Sandbox:
    - `unowned_addresses` are two addresses without a known owner. Simulated payments come from them, and requests can't
      pay to them. Requests can't pay to the addresses from 0 to `last_reserved` either.
    - `make_hash` returns a random hash that starts with the given bytes.
    """

    key: str
    label: str
    native_decimals: int
    largest_amount: int
    confirmation_tags: tuple[str, ...]
    counts_confirmations: bool
    make_client: Callable[[Network], ChainClient]
    normalise_address: Callable[[str], str]
    normalise_transaction_hash: Callable[[str], str]
    read_signature: Callable[[str], str]
    is_signed_by_key: Callable[[str, str, str], bool]
    find_address: Callable[[str], str]
    address_bytes: Callable[[str], bytes]
    reference_text: Callable[[bytes], str]
    account_name: str
    chain_reference: Callable[[int, str], str]
    call_rules: CallRules
    unowned_addresses: tuple[str, str]
    make_hash: Callable[[bytes], str]
    wording: Wording
    address_mark: str = ""
    last_reserved: int = -1
    native_alias: str = ""
    actions: tuple[type, ...] = ()
    links: WalletLinks | None = None
    deposits: DepositContracts | None = None
    authorizations: Authorizations | None = None
    cosigning: Cosigning | None = None
    subscribe_heads: tuple[str, ...] = ()
    has_price_feeds: bool = False
    has_data_fees: bool = False

    @property
    def sponsoring(self) -> Authorizations | Cosigning | None:
        """The functions for sponsored payments; None if the family has no such payments."""
        return self.authorizations or self.cosigning

    @property
    def address_hint(self) -> str:
        """A sentence with the prefix of its addresses; empty if they have none."""
        article = "An" if self.label[0] in "AEIO" else "A"
        return f"{article} {self.label} address begins with {self.address_mark}." if self.address_mark else ""

    def normalise_signature(self, text: str) -> str:
        """Return the signature in a pasted text, in the format that the family's client expects. Raises SignatureError.

        Surrounding whitespace and quotation marks are removed. Some tools return JSON; only its `sig` or `signature` is
        read.
        """
        if len(text) > LONGEST_SIGNATURE:
            raise SignatureError(f"A signature has at most {LONGEST_SIGNATURE} characters.")
        return self.read_signature(_within_json(text.strip()).strip().strip("\"'"))


def _within_json(text: str) -> str:
    if not text.startswith("{"):
        return text
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return text
    signature = content.get("sig", content.get("signature"))
    return signature if isinstance(signature, str) else text
