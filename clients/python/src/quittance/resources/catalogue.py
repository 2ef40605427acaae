"""The catalogue: chains, their tokens, and currencies."""

from quittance.objects import Chain, Currency, Token
from quittance.transport import Transport

_Chains = list[Chain]
_Currencies = list[Currency]
_Tokens = list[Token]  # `list` would be the method of `Chains`


class Chains:
    """The catalogue. Calls of the catalogue don't send the API key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> _Chains:
        """Return the active chains."""
        return [Chain.from_answer(each) for each in self._transport.request("GET", "/api/public/chains")]

    def tokens(self, chain_id: int) -> _Tokens:
        """Return the active tokens of a chain."""
        answer = self._transport.request("GET", f"/api/public/chains/{int(chain_id)}/tokens")
        return [Token.from_answer(each) for each in answer]


class Currencies:
    """The currencies for prices. Calls about currencies don't send the API key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> _Currencies:
        """Return the currencies. `is_available` says whether a currency can be used now."""
        answer = self._transport.request("GET", "/api/public/currencies")
        return [Currency.from_answer(each) for each in answer]
