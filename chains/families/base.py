"""What makes a family of chains: everything that differs between one kind of chain and another, as one `Family`.

Pure data and pure functions, apart from `make_client`. The rest of the product asks a chain's family and never which
family it is, so that a new family is a new folder beside `evm` and `solana`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from chains.client import ChainClient

LONGEST_SIGNATURE = 10_000


class AddressError(ValueError):
    """An address that no payment may go to; the message says why."""


class HashError(ValueError):
    """A text that is no transaction hash of its chain."""


class SignatureError(ValueError):
    """A text that is no signature of its family of chains; the message says what would be one."""


@dataclass(frozen=True)
class Network:
    """One chain as a client needs it: its catalogue number, cluster name (Solana), nodes, and allowed lag in blocks."""

    chain_id: int
    name: str
    urls: tuple[str, ...]
    head_allowance: int


@dataclass(frozen=True)
class CallRules:
    """How a routing provider's id is read from the calls of a transaction.

    `selector_bytes`: the id's first bytes follow directly after so many bytes of a call; None: they may be anywhere in
    it. `payer_signs_all`: the payer signs every call of a transaction, so that none is a stranger's addition.
    """

    selector_bytes: int | None
    payer_signs_all: bool


@dataclass(frozen=True, kw_only=True)
class PaymentAsk:
    """What a payment link asks a wallet for: `units` in base units, `amount` the same as decimal text.

    `token` is empty for the native coin, `reference` None where the request has none.
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
class PaymentLinks:
    """The links that wallets open to pay. `bind`: a transfer made from a link carries the reference in it."""

    make: Callable[[PaymentAsk], str]
    bind: bool


@dataclass(frozen=True, kw_only=True)
class Wording:
    """The checkout's words for this family, as keys of `checkout/messages`; the defaults are true of any chain.

    `sign_method` names how a wallet signs a text, for people with tools of their own. An empty `signature_hint` is
    left out.
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
    - `key` is what the database and the API call it, and the name of its folder. `label` is for people.

    Amounts:
    - `native_decimals` are those of the native coin of each of its chains; fees are counted in it.
    - `largest_amount` is what one amount can hold, in base units; at most 2^256 - 1, the database's own limit.

    Catalogue:
    - `confirmation_tags` are the words that a chain's `confirmations` may be (of `safe`, `confirmed`, `finalized`);
      `counts_confirmations` says whether it may be a number of blocks as well.

    Texts; each function returns the canonical form and raises the error of its kind:
    - `normalise_address`, `normalise_transaction_hash`, and `read_signature`, which takes what `normalise_signature`
      found in the text that it was given.
    - `address_mark` is how each address begins and those of other families don't, in lower case; empty if there is no
      such beginning.
    - `find_address` returns the address that a pasted text spells, in any case and payable or not; else "".
    - `address_bytes` returns a canonical address as calls hold it. `reference_text` writes a reference as explorers
      show it.

    Signing and paying:
    - `account_name` and `chain_reference(chain id, cluster name)` go into the text that proves a wallet (EIP-4361).
    - `actions` are the classes of `chains.client.Action` that its wallets sign. Without any, a customer can only send
      by hand.
    - `links` are None where wallets know no payment links. `call_rules` read a provider's id from calls.
    - `native_alias` is how routing providers write the native coin; empty where none does.

    Sandbox:
    - `sandbox_payers` are two addresses that have no known owner. `make_hash` makes a hash that begins with the bytes
      given, of random ones otherwise.
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
    find_address: Callable[[str], str]
    address_bytes: Callable[[str], bytes]
    reference_text: Callable[[bytes], str]
    account_name: str
    chain_reference: Callable[[int, str], str]
    call_rules: CallRules
    sandbox_payers: tuple[str, str]
    make_hash: Callable[[bytes], str]
    wording: Wording
    address_mark: str = ""
    native_alias: str = ""
    actions: tuple[type, ...] = ()
    links: PaymentLinks | None = None

    @property
    def address_hint(self) -> str:
        """How its addresses begin, as a sentence; empty where they have no beginning of their own."""
        article = "An" if self.label[0] in "AEIO" else "A"
        return f"{article} {self.label} address begins with {self.address_mark}." if self.address_mark else ""

    def normalise_signature(self, text: str) -> str:
        """Return the signature in `text` in the form that the family's client takes. Raises SignatureError.

        Blanks and quotation marks around it are dropped. Some tools give JSON that names it `sig` or `signature`,
        beside what was signed; only the signature is read from that.
        """
        if len(text) > LONGEST_SIGNATURE:
            raise SignatureError(f"A signature has {LONGEST_SIGNATURE} characters at most.")
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
