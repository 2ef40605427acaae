"""`Family`: everything that differs between kinds of chains.

Pure data and pure functions, apart from `make_client`. The rest of the product uses these fields and never branches on
the family itself, so a new family is a new folder next to `evm` and `solana`.
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
    """An address that can't receive payments; the message says why."""


class HashError(ValueError):
    """An invalid transaction hash."""


class SignatureError(ValueError):
    """An invalid signature; the message describes a valid one."""


@dataclass(frozen=True)
class Network:
    """A chain's catalogue ID, cluster name (Solana), node URLs, allowed lag in blocks, and rules of its fees (EVM).

    `l1_fee_oracle` is the contract that knows the fee for a transaction's data, "" without one. `min_tip_wei` is the
    minimum tip.
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

    `selector_bytes`: the ID starts after this many bytes of a call; None if it may be anywhere in it.
    `payer_signs_all`: the payer signs every call of a transaction, so a third party can't add one.
    """

    selector_bytes: int | None
    payer_signs_all: bool


@dataclass(frozen=True, kw_only=True)
class LinkTerms:
    """The content of a wallet link: `units` is in base units, `amount` the same as a decimal string.

    `token` is empty for the native coin, `reference` None if the request has none.
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
    """Links that open a wallet to pay (EIP-681, Solana Pay). `bind`: transfers from a link carry the reference."""

    make: Callable[[LinkTerms], str]
    bind: bool


@dataclass(frozen=True)
class Sweep:
    """One asset to sweep from a deposit address; `token` is empty for the native coin, `salt` is in hex."""

    recipient: str
    salt: str
    token: str


@dataclass(frozen=True, kw_only=True)
class DepositContracts:
    """The contracts behind deposit addresses.

    - `factory` is their factory's address on every chain, `factory_code` the code that a chain should have there.
    - `deployer` is the contract that `deployment` calls; it has to have code on the chain.
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
    """How a payer's signature alone moves a token. Any account can send the transaction. Works offline.

    - `kind` is the type in the catalogue.
    - `nonce_of(reference, route ID)` binds an authorization to one route of a request.
    - `typed_data(authorization)` is the content for the wallet to sign.
    - `can_sign(code)` is whether an account with this code, which is empty for most, has a key of its own.
    - `read_signature(text)` returns a key's signature in one form, and raises SignatureError;
      `is_signed(authorization, signature)` is whether the payer's own key made it.
    - `transfer_call(authorization, signature)` makes the transfer. Any account can send it.
    - `domain_separator(domain)` is what the token's contract should return.
    - `is_ended_by(authorization, mentions)` is whether one of the token's logs shows that it was used or cancelled.

    The account that sends the transaction, by its private key:

    - `address_of(key)`, and `sign(unsigned transaction, nonce, key)`.
    - `max_cost(unsigned transaction)` in base units of the coin, without the data fee of its chain.
    - `raised(unsigned transaction, current one)` returns the transaction with fees high enough for nodes to replace the
      current one.
    - `capped(unsigned transaction, cost)` returns the transaction with fees so low that it costs at most `cost`,
      without the data fee. None if it would then not be mined soon.
    - `is_ample(unsigned transaction, current one)` is whether the fees are so high that higher ones would not help.
    - `empty_call(address)` is a call without effect. It replaces a transaction that is no longer needed.
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
    """How the operator's account pays for a transaction that the payer signs. Works offline.

    - `kind` is the type in the catalogue.
    - `address_of(key)` is the address of the account with this private key.
    - `read_signed(built transaction, text, payer, sponsor)` parses what the wallet returned. It is accepted only if the
      payer signed what was built; the wallet may have added protections that cost the sponsor nothing. Raises
      SignatureError.
    - `fee_payer_of(transaction)` is the address of the account that pays for a transaction that we built.
    - `sign(payer-signed transaction, key)` adds the signature of the fee payer. The same transaction always has the
      same signature.
    """

    kind: str
    address_of: Callable[[str], str]
    read_signed: Callable[[bytes, str, str, str], PayerSigned]
    fee_payer_of: Callable[[bytes], str]
    sign: Callable[[bytes, str], SignedTransaction]


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The checkout's texts for this family, as keys of `checkout/messages`; the defaults suit any chain.

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
    - `confirmation_tags` are the block tags allowed in a chain's `confirmations` (of `safe`, `confirmed`, `finalized`);
      `counts_confirmations` is true if `confirmations` may also be a number of blocks.
    - `has_price_feeds` is true if its client reads price feeds, `has_data_fees` if its chains may charge for a
      transaction's data.

    Parsing; each function returns the canonical form and raises the matching error:
    - `normalise_address`, `normalise_transaction_hash`, and `read_signature`, which gets the signature
      that `normalise_signature` extracted.
    - `address_mark` is the prefix that only this family's addresses have, in lower case; empty if there is none.
    - `find_address` returns the address in a pasted text, in any letter case, whether payable or not; else "".
    - `address_bytes` returns an address as calls encode it. `reference_text` formats a reference as explorers
      show it.

    Signing and paying:
    - `is_signed_by_key(address, message, signature)`: whether this address's own key signed; offline.
    - `account_name` and `chain_reference(chain id, cluster name)` go into the sign-in message for a wallet (EIP-4361).
    - `actions` are the classes of `chains.client.Action` that its wallets sign. If empty, customers can only send
      manually.
    - `deposits` is None if the family has no deposit addresses. For sponsored payments, a family has `authorizations`
      (the payer signs a transfer), `cosigning` (the payer and the operator sign the transaction), or neither.
    - `links` is None if wallets support no such links. `call_rules` find a provider's ID in calls.
    - `native_alias` is the address routing providers use for the native coin; empty if there is none.

    New blocks:
    - `subscribe_heads` is the JSON-RPC method that subscribes to new blocks over a WebSocket, then its parameters.

    Sandbox:
    - `unowned_addresses` are two addresses without a known owner: simulated payments come from them, and none may be
      paid. An address whose number is `last_reserved` or less can't be paid either.
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
        """How the operator's account pays the network fee for others; None if it can't."""
        return self.authorizations or self.cosigning

    @property
    def address_hint(self) -> str:
        """A sentence on the prefix of its addresses; empty if they have none."""
        article = "An" if self.label[0] in "AEIO" else "A"
        return f"{article} {self.label} address begins with {self.address_mark}." if self.address_mark else ""

    def normalise_signature(self, text: str) -> str:
        """Extract the signature from `text` in the format of the family's client. Raises SignatureError.

        Surrounding whitespace and quotation marks are removed. From the JSON that some tools return, only `sig` or
        `signature` is read.
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
