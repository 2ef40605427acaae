"""The chain and token in the API reference's samples."""

from typing import Any

import msgspec

from chains.api.objects import ChainObject, TokenObject
from chains.models import Token
from chains.switches import offered_tokens


def example_chain_and_token() -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return a catalogue token that resembles the examples' token, with its chain. None if no token does."""
    chain_example, token_example = (vars(each)["schema_example"] for each in (ChainObject, TokenObject))
    # The examples' amounts fit this token's decimals, and their addresses have this chain's format.
    tokens = Token.objects.filter(
        is_active=True,
        decimals=token_example["decimals"],
        chain__is_active=True,
        chain__chain_type=chain_example["chain_type"],
    )
    candidates = offered_tokens(tokens.select_related("chain").order_by("chain_id", "id"))
    token = next(
        (each for each in candidates if each.symbol == token_example["symbol"]), next(iter(candidates), None)
    )
    if token is None:
        return None
    return msgspec.to_builtins(ChainObject.of(token.chain)), msgspec.to_builtins(TokenObject.of(token))
