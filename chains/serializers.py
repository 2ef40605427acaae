"""How chains, tokens and amounts look from outside (spec 2.1, 2.2, 2.3)."""

from rest_framework import serializers

from chains.models import Chain, Token


class ChainSerializer(serializers.ModelSerializer[Chain]):
    """A chain of the public catalogue."""

    class Meta:
        model = Chain
        fields = ("id", "name", "chain_type", "is_active")


class TokenSerializer(serializers.ModelSerializer[Token]):
    """A token of the public catalogue; `contract_address` is empty for a chain's native coin."""

    class Meta:
        model = Token
        fields = ("id", "symbol", "name", "decimals", "contract_address")
