"""Load a catalogue file into the database, all or nothing."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from chains.currencies import is_currency
from chains.families import AddressError, families, family_of
from chains.lookup import LARGEST_ID
from chains.models import Chain, Token
from config.api.nesting import is_deeper_than
from config.api.serializers import has_unsafe_characters

_CHAIN_FIELDS = {
    "id", "name", "chain_type", "network", "is_active", "rpc_urls", "ws_urls", "wallet_rpc_url", "explorer_url",
    "native_symbol", "confirmations", "confirmations_fallback", "block_time_ms", "routers", "feeds", "l1_fee_oracle",
    "min_tip_wei", "tokens",
}  # fmt: skip
_TOKEN_FIELDS = {
    "symbol",
    "name",
    "decimals",
    "contract_address",
    "is_active",
    "tags",
    "trailing_data",
    "price_as",
    "authorization",
}
_AUTHORIZATION_FIELDS = {"name", "version"}
_ENV_URL = re.compile(r"env:[A-Z][A-Z0-9_]*")
_COIN = re.compile(r"[A-Z0-9]{2,16}")
_PAIR = re.compile(r"[A-Z0-9]{2,16}/USD")
_LONGEST_HEARTBEAT = 7 * 24 * 3600
_SHORTEST_KEY = 20
_OWN_MACHINE = ("localhost", "127.0.0.1")
_MAX_DECIMALS = 36
_MAX_CONFIRMATIONS = 100_000
_MAX_TIP_WEI = 10**15
_LONGEST_URL = 500
_LONGEST_WORD = 32
_DEEPEST = 20


class CatalogueError(ValueError):
    """An invalid catalogue file; the message names the entry and the reason. Nothing was stored."""


def read_catalogue(path: Path) -> list[dict[str, Any]]:
    """Parse and validate the file; return its chains. Raises CatalogueError."""
    try:
        text = path.read_text(encoding="utf-8")
        if is_deeper_than(_DEEPEST, text):
            raise ValueError("it is nested too deep")
        content = json.loads(text, object_pairs_hook=_unique_names)
    except (OSError, ValueError) as error:
        raise CatalogueError(f"{path} can't be read as JSON: {error}") from error
    chains = content.get("chains") if isinstance(content, dict) and set(content) == {"chains"} else None
    if not isinstance(chains, list):
        raise CatalogueError('the file should be {"chains": [...]}')
    checked = [_checked_chain(chain) for chain in chains]
    ids = [chain["id"] for chain in checked]
    if len(set(ids)) != len(ids):
        raise CatalogueError("the file lists a chain twice")
    return checked


@transaction.atomic
def store_catalogue(chains: list[dict[str, Any]]) -> tuple[int, int]:
    """Create or update these chains and tokens; return the number of each. Idempotent.

    Raises CatalogueError if `decimals` or `chain_type` changes, because this would alter the value of existing
    requests.
    """
    tokens = 0
    for entry in chains:
        fields = {name: value for name, value in entry.items() if name not in ("id", "tokens")}
        existing = Chain.objects.filter(pk=entry["id"]).first()
        if existing and existing.chain_type != entry["chain_type"]:
            raise CatalogueError(f"chain {entry['id']}: chain_type can't change from {existing.chain_type}")
        chain, _ = Chain.objects.update_or_create(pk=entry["id"], defaults=fields)
        for token in entry["tokens"]:
            _store_token(chain, token)
            tokens += 1
    return len(chains), tokens


def _store_token(chain: Chain, entry: Mapping[str, Any]) -> None:
    address = entry["contract_address"]
    existing = Token.objects.filter(chain=chain, contract_address=address).first()
    if existing and existing.decimals != entry["decimals"]:
        raise CatalogueError(
            f"{chain.name}, {existing.symbol}: decimals can't change from {existing.decimals}"
        )
    fields = {name: value for name, value in entry.items() if name != "contract_address"}
    Token.objects.update_or_create(chain=chain, contract_address=address, defaults=fields)


def _checked_chain(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise CatalogueError("a chain should be an object")
    where = f"chain {entry.get('name') or entry.get('id')}"
    _reject_unknown(entry, _CHAIN_FIELDS, where)
    chain_type = entry.get("chain_type")
    if not isinstance(chain_type, str) or chain_type not in families():
        raise CatalogueError(f"{where}: chain_type should be one of {', '.join(families())}")
    chain: dict[str, Any] = {
        "id": _whole(entry, "id", where, 1, LARGEST_ID),
        "name": _text(entry, "name", where),
        "chain_type": chain_type,
        "network": _text(entry, "network", where, default=""),
        "is_active": _flag(entry, "is_active", where),
        "rpc_urls": _node_urls(entry, "rpc_urls", ("http", "https"), where),
        "ws_urls": _node_urls(entry, "ws_urls", ("ws", "wss"), where),
        "wallet_rpc_url": _public_node(entry, where),
        "explorer_url": _explorer(entry, where),
        "native_symbol": _text(entry, "native_symbol", where, longest=16),
        "confirmations": _confirmations(entry.get("confirmations", "finalized"), chain_type, where),
        "confirmations_fallback": _fallback(entry, chain_type, where),
        "block_time_ms": _whole(entry, "block_time_ms", where, 1, 3_600_000, default=2000),
        "routers": _routers(entry.get("routers", {}), chain_type, where),
        "feeds": _feeds(entry.get("feeds", []), chain_type, where),
        "l1_fee_oracle": _oracle(entry.get("l1_fee_oracle", ""), chain_type, where),
        "min_tip_wei": _whole(entry, "min_tip_wei", where, 0, _MAX_TIP_WEI, default=0),
    }
    tokens = entry.get("tokens", [])
    if not isinstance(tokens, list):
        raise CatalogueError(f"{where}: tokens should be a list")
    chain["tokens"] = [_checked_token(token, chain_type, where) for token in tokens]
    addresses = [token["contract_address"] for token in chain["tokens"]]
    if len(set(addresses)) != len(addresses):
        raise CatalogueError(f"{where}: the file lists a token twice")
    return chain


def _checked_token(entry: Any, chain_type: str, chain: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise CatalogueError(f"{chain}: a token should be an object")
    where = f"{chain}, token {entry.get('symbol')}"
    _reject_unknown(entry, _TOKEN_FIELDS, where)
    address = entry.get("contract_address")
    if not isinstance(address, str):
        raise CatalogueError(f"{where}: contract_address should be text, empty for the native coin")
    tags = entry.get("tags", [])
    if not isinstance(tags, list) or not all(
        isinstance(tag, str) and _is_clean(tag, _LONGEST_WORD) for tag in tags
    ):
        raise CatalogueError(f"{where}: tags should be a list of words of at most {_LONGEST_WORD} characters")
    return {
        "authorization": _authorization(entry.get("authorization"), chain_type, address, where),
        "symbol": _text(entry, "symbol", where, longest=32),
        "name": _text(entry, "name", where),
        "decimals": _whole(entry, "decimals", where, 0, _MAX_DECIMALS),
        "contract_address": _address(chain_type, address, where) if address else "",
        "is_active": _flag(entry, "is_active", where),
        "tags": tags,
        "trailing_data": _flag(entry, "trailing_data", where),
        "price_as": _price_as(entry, where),
    }


def _authorization(value: Any, chain_type: str, address: str, where: str) -> dict[str, str] | None:
    """Return the token's validated `authorization`; None if the file has none."""
    if value is None:
        return None
    family, where = family_of(chain_type), f"{where}, authorization"
    rules = family.sponsoring
    if not isinstance(value, dict) or rules is None or not address:
        raise CatalogueError(
            f"{where}: only tokens with EIP-3009 on EVM chains and tokens on Solana have one; it is an object"
        )
    fields = _AUTHORIZATION_FIELDS if family.authorizations else set[str]()
    _reject_unknown(value, {"type", *fields}, where)
    if value.get("type") != rules.kind:
        raise CatalogueError(f"{where}: type should be {rules.kind}")
    return {"type": rules.kind, **{name: _text(value, name, where) for name in sorted(fields)}}


def _reject_unknown(entry: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(entry) - known)
    if unknown:
        raise CatalogueError(f"{where}: unknown field {unknown[0]}")


def _text(
    entry: Mapping[str, Any], name: str, where: str, *, default: str | None = None, longest: int = 100
) -> str:
    value = entry.get(name, default)
    missing = default is None and (not isinstance(value, str) or not value.strip())
    if not isinstance(value, str) or not _is_clean(value, longest) or missing:
        raise CatalogueError(f"{where}: {name} should be text of at most {longest} characters")
    return value


def _is_clean(text: str, longest: int) -> bool:
    return len(text) <= longest and not has_unsafe_characters(text)


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has the same key twice")
    return result


def _whole(
    entry: Mapping[str, Any], name: str, where: str, minimum: int, maximum: int, *, default: int | None = None
) -> int:
    value = entry.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise CatalogueError(f"{where}: {name} should be a whole number from {minimum} to {maximum}")
    return value


def _flag(entry: Mapping[str, Any], name: str, where: str) -> bool:
    value = entry.get(name, True)
    if not isinstance(value, bool):
        raise CatalogueError(f"{where}: {name} should be true or false")
    return value


def _node_urls(entry: Mapping[str, Any], name: str, schemes: tuple[str, ...], where: str) -> list[str]:
    urls = entry.get(name, [])
    if not isinstance(urls, list):
        raise CatalogueError(f"{where}: {name} should be a list")
    for url in urls:
        if not isinstance(url, str) or not (_ENV_URL.fullmatch(url) or _is_address(url, schemes)):
            kind = "http(s)" if "http" in schemes else "ws(s)"
            raise CatalogueError(
                f"{where}: {'a' if name[0] == 'w' else 'an'} {name[:-1]} should be {kind}://… or env:NAME"
            )
    return urls


def _public_node(entry: Mapping[str, Any], where: str) -> str:
    """Return the public node URL offered to wallets, or "". Rejects URLs that may contain an access key."""
    url = _text(entry, "wallet_rpc_url", where, default="", longest=_LONGEST_URL)
    parts = urlsplit(url) if _is_web_address(url) else None
    is_open = parts is not None and not (parts.query or parts.fragment or "@" in parts.netloc)
    has_key = parts is not None and any(len(word) >= _SHORTEST_KEY for word in parts.path.split("/"))
    is_safe = parts is not None and (parts.scheme == "https" or parts.hostname in _OWN_MACHINE)
    if url and (has_key or not (is_open and is_safe)):
        raise CatalogueError(
            f"{where}: wallet_rpc_url is public: use https://… without credentials, key or query"
        )
    return url


def _explorer(entry: Mapping[str, Any], where: str) -> str:
    url = _text(entry, "explorer_url", where, default="", longest=_LONGEST_URL)
    if url and not _is_web_address(url):
        raise CatalogueError(f"{where}: explorer_url should be http(s)://…, or empty")
    return url


def _is_web_address(text: str) -> bool:
    return _is_address(text, ("http", "https"))


def _is_address(text: str, schemes: tuple[str, ...]) -> bool:
    if not _is_clean(text, _LONGEST_URL) or any(character.isspace() for character in text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _confirmations(value: Any, chain_type: str, where: str) -> str:
    family = family_of(chain_type)
    is_number = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MAX_CONFIRMATIONS
    if not (is_number and family.counts_confirmations) and value not in family.confirmation_tags:
        numbers = "a number of blocks, " if family.counts_confirmations else ""
        tags = " or ".join(family.confirmation_tags)
        raise CatalogueError(f"{where}: confirmations should be {numbers}{tags}")
    return str(value)


def _fallback(entry: Mapping[str, Any], chain_type: str, where: str) -> int | None:
    """Return how many blocks confirm a payment while the tag in `confirmations` doesn't advance; None if not set."""
    if entry.get("confirmations_fallback") is None:
        return None
    if not family_of(chain_type).counts_confirmations:
        raise CatalogueError(f"{where}: chains of this family have no confirmations_fallback; remove it")
    if entry.get("confirmations", "finalized") not in family_of(chain_type).confirmation_tags:
        raise CatalogueError(f"{where}: confirmations_fallback is for a tag in confirmations; remove it")
    return _whole(entry, "confirmations_fallback", where, 1, _MAX_CONFIRMATIONS)


def _routers(value: Any, chain_type: str, where: str) -> dict[str, list[str]]:
    if not isinstance(value, dict) or not all(isinstance(addresses, list) for addresses in value.values()):
        raise CatalogueError(f"{where}: routers should name a list of contracts for each provider")
    if not all(provider and _is_clean(provider, _LONGEST_WORD) for provider in value):
        raise CatalogueError(f"{where}: a provider's name should have at most {_LONGEST_WORD} characters")
    return {
        provider: [_address(chain_type, str(address), where) for address in addresses]
        for provider, addresses in value.items()
    }


def _feeds(value: Any, chain_type: str, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(feed, dict) for feed in value):
        raise CatalogueError(f"{where}: feeds should be a list of objects")
    if value and not family_of(chain_type).has_price_feeds:
        raise CatalogueError(f"{where}: chains of this family have no price feeds; remove them")
    feeds = [_checked_feed(feed, chain_type, where) for feed in value]
    if len({feed["pair"] for feed in feeds}) != len(feeds):
        raise CatalogueError(f"{where}: the file lists a feed of the same pair twice")
    return feeds


def _oracle(value: Any, chain_type: str, where: str) -> str:
    if value == "":
        return ""
    if not family_of(chain_type).has_data_fees:
        raise CatalogueError(f"{where}: chains of this family have no data fee; remove l1_fee_oracle")
    return _address(chain_type, str(value), where)


def _checked_feed(feed: Mapping[str, Any], chain_type: str, chain: str) -> dict[str, Any]:
    where = f"{chain}, feed {feed.get('pair')}"
    _reject_unknown(feed, {"pair", "address", "heartbeat"}, where)
    pair = feed.get("pair")
    if not isinstance(pair, str) or not _PAIR.fullmatch(pair):
        raise CatalogueError(
            f"{where}: pair should be a coin or currency against the dollar, such as ETH/USD"
        )
    return {
        "pair": pair,
        "address": _address(chain_type, str(feed.get("address")), where),
        "heartbeat": _whole(feed, "heartbeat", where, 1, _LONGEST_HEARTBEAT),
    }


def _price_as(entry: Mapping[str, Any], where: str) -> str:
    code = _text(entry, "price_as", where, default="", longest=16)
    if code and not _COIN.fullmatch(code):
        raise CatalogueError(f"{where}: price_as should be a coin's code, such as USDC")
    if is_currency(code):
        # A stablecoin is priced at its market rate, which may differ from its currency.
        raise CatalogueError(f"{where}: price_as should be a coin's code, such as USDC; {code} is a currency")
    return code


def _address(chain_type: str, text: str, where: str) -> str:
    try:
        return family_of(chain_type).normalise_address(text)
    except AddressError as error:
        raise CatalogueError(f"{where}: {text}: {error}") from error
