"""The public catalogue: active chains and tokens, as plain arrays."""

from django.utils.cache import patch_cache_control
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from chains.api.objects import ChainObject, TokenObject
from chains.lookup import find_chain
from chains.models import Chain, Token
from chains.switches import offered_chains, offered_tokens
from config.api.objects import ObjectMissing
from config.api.schema.operations import ArrayOf, operation

_CACHE_SECONDS = 60


class CatalogueViewSet(viewsets.ViewSet):
    authentication_classes = ()
    permission_classes = ()

    @operation(
        "chains.list",
        tag="Catalogue",
        summary="List chains",
        description="Lists the active chains as a plain array. Caches can keep the response for a minute.",
        answers={200: OpenApiResponse(ArrayOf(ChainObject), "The active chains.")},
    )
    def list(self, request: Request) -> Response:  # noqa: ARG002 - the viewset interface
        chains = offered_chains(Chain.objects.filter(is_active=True))
        return _cacheable(Response([ChainObject.of(chain) for chain in chains]))

    @operation(
        "tokens.list",
        tag="Catalogue",
        summary="List a chain's tokens",
        description=(
            "Lists the active tokens of an active chain as a plain array. Caches can keep the response for "
            "a minute. A token's `id` differs between deployments: find your token by its `contract_address`."
        ),
        parameters=[
            OpenApiParameter(
                "chain_id",
                {"type": "integer", "minimum": 0},
                OpenApiParameter.PATH,
                description="The chain's `id`.",
            )
        ],
        answers={200: OpenApiResponse(ArrayOf(TokenObject), "The chain's active tokens.")},
    )
    def tokens(self, request: Request, chain_id: int) -> Response:  # noqa: ARG002 - the viewset interface
        chain = find_chain(chain_id)
        if chain is None:
            raise ObjectMissing("active chain", str(chain_id))
        tokens = offered_tokens(Token.objects.filter(chain=chain, is_active=True))
        return _cacheable(Response([TokenObject.of(token) for token in tokens]))


def _cacheable(response: Response) -> Response:
    patch_cache_control(response, public=True, max_age=_CACHE_SECONDS)
    return response
