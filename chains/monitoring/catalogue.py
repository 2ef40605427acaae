"""Compare a catalogue with the nodes of its chains (`manage.py load_catalogue --verify`)."""

from collections.abc import Mapping
from typing import Any

from chains.catalogue import CatalogueError
from chains.client import ChainClient, ChainError
from chains.facts.authorizations import TokenDomain
from chains.families import clients_of_each_node, family_of
from chains.models import Chain


def verify_catalogue(chains: list[dict[str, Any]]) -> list[str]:
    """Compare the catalogue with every node of each active chain: chain ID, token decimals and symbols.

    A Solana mint has no symbol, so only its decimals are compared. If a token has an `authorization` on EVM, the
    token's contract should verify signatures for the domain that `authorization` names. On Solana, the token's
    transfers should run only the program SPL Token. If the factory of deposit addresses is deployed, it should have the
    shipped code.

    Return the names of the inactive chains, which are skipped. Raises CatalogueError for a mismatch, a token that can't
    be offered, a node that doesn't respond, or an active chain without nodes.
    """
    for entry in chains:
        if entry["is_active"]:
            _verify_chain(entry)
    return [entry["name"] for entry in chains if not entry["is_active"]]


def _verify_chain(entry: Mapping[str, Any]) -> None:
    chain = Chain(**{name: value for name, value in entry.items() if name != "tokens"})
    try:
        clients = clients_of_each_node(chain)
        if not clients:
            raise CatalogueError(f"{chain.name}: no node is configured. Set the variable its rpc_urls name.")
        for number, client in enumerate(clients, start=1):
            _verify_node(entry, client, f"{chain.name}, node {number}")
    except ChainError as error:
        raise CatalogueError(f"{chain.name}: {error}") from error


def _verify_node(entry: Mapping[str, Any], client: ChainClient, where: str) -> None:
    served = client.chain_id()
    if served != entry["id"]:
        raise CatalogueError(f"{where} serves chain {served}, not {entry['id']}")
    _verify_factory(entry["chain_type"], client, where)
    tokens = [token for token in entry["tokens"] if token["contract_address"]]
    onchain_tokens = client.token_metadata([token["contract_address"] for token in tokens])
    for token, metadata in zip(tokens, onchain_tokens, strict=True):
        if metadata.problem:
            raise CatalogueError(f"{where}: {token['contract_address']} can't be offered: {metadata.problem}")
        onchain = {"decimals": metadata.decimals, "symbol": metadata.symbol}
        for name, value in onchain.items():
            if value is not None and token[name] != value:
                address = token["contract_address"]
                raise CatalogueError(f"{where}: {address} has {name} {value}, but the file has {token[name]}")
    _verify_domains(entry, client, where)
    _verify_cosigned(entry, client, where)


def _verify_cosigned(entry: Mapping[str, Any], client: ChainClient, where: str) -> None:
    reader = client.cosigning
    tokens = [token["contract_address"] for token in entry["tokens"] if token["authorization"] is not None]
    if reader is None or not tokens:
        return
    for address, problem in zip(tokens, reader.token_problems(tokens), strict=True):
        if problem:
            raise CatalogueError(f"{where}: {address} can't have an authorization: {problem}. Remove it.")


def _verify_domains(entry: Mapping[str, Any], client: ChainClient, where: str) -> None:
    rules, reader = family_of(entry["chain_type"]).authorizations, client.authorizations
    tokens = [token for token in entry["tokens"] if token["authorization"] is not None]
    if rules is None or reader is None or not tokens:
        return
    separators = reader.domain_separators([token["contract_address"] for token in tokens])
    for token, separator in zip(tokens, separators, strict=True):
        address, named = token["contract_address"], token["authorization"]
        domain = TokenDomain(entry["id"], address, named["name"], named["version"])
        if separator != rules.domain_separator(domain):
            raise CatalogueError(
                f"{where}: {address} does not verify signatures for the name {named['name']} and the version "
                f"{named['version']} in its authorization. Take both from the contract, or remove the authorization."
            )


def _verify_factory(chain_type: str, client: ChainClient, where: str) -> None:
    deposits = family_of(chain_type).deposits
    if deposits and client.contract_code(deposits.factory) not in (b"", deposits.factory_code):
        raise CatalogueError(
            f"{where}: {deposits.factory}, the factory of deposit addresses, has other code than this release ships. "
            "Money sent to deposit addresses of this chain could be lost: remove the chain, or find out why."
        )
