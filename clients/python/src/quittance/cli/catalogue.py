"""`quittance chains` and `quittance tokens`: list the ids for payment requests."""

import argparse

from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.settings import client_of


def add(commands: Commands) -> list[Parser]:
    """Describe the commands."""
    chains = commands.add_parser("chains", help="list the chains that you can request payments on")
    chains.set_defaults(run=_chains)
    tokens = commands.add_parser("tokens", help="list a chain's tokens")
    tokens.add_argument("chain_id", type=int, metavar="CHAIN_ID")
    tokens.set_defaults(run=_tokens)
    return [chains, tokens]


def _chains(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        chains = client.chains.list()
    rows = ((chain, (str(chain.id), chain.name, chain.chain_type)) for chain in chains)
    out.table(("CHAIN_ID", "NAME", "TYPE"), rows, "There is no active chain.")
    return 0


def _tokens(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        tokens = client.chains.tokens(options.chain_id)
    rows = (
        (token, (str(token.id), token.symbol, str(token.decimals), token.contract_address or "(native coin)"))
        for token in tokens
    )
    out.table(("TOKEN_ID", "SYMBOL", "DECIMALS", "CONTRACT"), rows, "There is no active token on this chain.")
    return 0
