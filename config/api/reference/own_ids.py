"""Replace the chain and the token in the OpenAPI document's examples by those of this deployment."""

from collections.abc import Mapping
from typing import Any

_CHAIN_IDS = ("chain_id", "destination_chain_id")


def with_own_ids(
    document: Mapping[str, Any], chain: Mapping[str, Any], token: Mapping[str, Any]
) -> dict[str, Any]:
    schemas = document["components"]["schemas"]
    replacement = _Replacement(schemas["Chain"]["examples"][0], chain, schemas["Token"]["examples"][0], token)
    localized: dict[str, Any] = replacement.of(document)
    return localized


class _Replacement:
    def __init__(
        self,
        example_chain: Mapping[str, Any],
        chain: Mapping[str, Any],
        example_token: Mapping[str, Any],
        token: Mapping[str, Any],
    ) -> None:
        self._example_chain, self._chain = example_chain, chain
        self._example_token, self._token = example_token, token

    def of(self, node: Any, name: str = "") -> Any:
        if isinstance(node, list):
            return [self.of(item, name.removesuffix("s")) for item in node]
        if isinstance(node, Mapping):
            return {key: self.of(value, key) for key, value in {**node, **self._own(node)}.items()}
        if name in _CHAIN_IDS and node == self._example_chain["id"]:
            return self._chain["id"]
        if name == "token_id" and node == self._example_token["id"]:
            return self._token["id"]
        return node

    def _own(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """Return this deployment's values for `node` if it is the example chain or token, or else {}."""
        if "chain_type" in node and node.get("id") == self._example_chain["id"]:
            return {key: value for key, value in self._chain.items() if key in node}
        if node.get("contract_address") == self._example_token["contract_address"]:
            return {key: value for key, value in self._token.items() if key in node}
        return {}
