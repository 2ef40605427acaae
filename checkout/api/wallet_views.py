"""The checkout's endpoints about a wallet: its balances, and the approvals that it needs before it can pay."""

from drf_spectacular.utils import OpenApiResponse
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from chains.api.objects import AmountObject
from checkout.api.balance_objects import (
    EssentialBalances,
    WalletTokens,
    essential_balance,
    held_token,
    unavailable_chains,
)
from checkout.api.built_objects import ApprovalObject
from checkout.api.route_objects import RouteToken
from checkout.api.serializers import CheckApprovalSerializer, WalletSerializer
from checkout.lookup import find_request, find_route, validated
from checkout.wallets.balances import discover, essential
from checkout.wallets.chains import find_wallet
from config.api.errors import ErrorCode
from config.api.limits.public_limits import count_expensive
from config.api.schema.operations import operation
from payments.routes.approvals import check_approval


class WalletViewSet(viewsets.ViewSet):
    """What the page asks once it knows a wallet. No credentials are read, and no provider is asked for a quote."""

    authentication_classes = ()
    permission_classes = ()

    @operation(
        "checkout.essential_balances",
        tag="Checkout",
        summary="Look at a wallet's main balances",
        description=(
            "What a wallet has of the requested token, and of the coin and the stablecoins of each chain. A chain that "
            "does not answer within a few seconds is named in `unavailable`, and the others' balances are returned."
        ),
        path={"id": "The payment request's `id` or its `shortcode`."},
        body=WalletSerializer,
        errors=[ErrorCode.ADDRESS_INVALID, ErrorCode.CHAIN_UNKNOWN],
        answers={200: OpenApiResponse(EssentialBalances, "The balances.")},
    )
    def essential(self, request: Request, id: str) -> Response:
        """Return what the wallet has of what it most likely pays with."""
        payment_request = find_request(id)
        body = validated(WalletSerializer, request)
        wallet = find_wallet(body["wallet_address"], body.get("chain_ids"))
        count_expensive(request)
        found = essential(payment_request, wallet)
        balances = [essential_balance(held) for held in found.held]
        return Response(
            EssentialBalances(balances=balances, unavailable=unavailable_chains(found.unavailable))
        )

    @operation(
        "checkout.discover_wallet_tokens",
        tag="Checkout",
        summary="Find a wallet's tokens",
        description=(
            "Every token of the catalogue and of the routing providers' lists that a wallet has some of, the most "
            "valuable first. One dead chain fails nothing; without the lists, the catalogue's tokens are returned."
        ),
        body=WalletSerializer,
        errors=[ErrorCode.ADDRESS_INVALID, ErrorCode.CHAIN_UNKNOWN],
        answers={200: OpenApiResponse(WalletTokens, "The tokens.")},
    )
    def discover(self, request: Request) -> Response:
        """Return all that is known of what the wallet has."""
        body = validated(WalletSerializer, request)
        wallet = find_wallet(body["wallet_address"], body.get("chain_ids"))
        count_expensive(request)
        found = discover(wallet)
        tokens = [held_token(held) for held in found.held]
        return Response(WalletTokens(tokens=tokens, unavailable=unavailable_chains(found.unavailable)))

    @operation(
        "checkout.check_approval",
        tag="Checkout",
        summary="Check a route's approval",
        description=(
            "Whether the route's router may take the token yet, and the unsigned transactions that let it. Nothing is "
            "to be approved for direct routes, for native coin, and on Solana."
        ),
        body=CheckApprovalSerializer,
        errors=[
            ErrorCode.RESOURCE_MISSING,
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.ROUTE_EXPIRED,
            ErrorCode.INSUFFICIENT_GAS,
            ErrorCode.TRANSACTION_WOULD_FAIL,
            ErrorCode.NODE_UNAVAILABLE,
        ],
        answers={200: OpenApiResponse(ApprovalObject, "What may be taken, and what is still to be sent.")},
    )
    def approval(self, request: Request) -> Response:
        """Return what the route's wallet still has to approve."""
        body = validated(CheckApprovalSerializer, request)
        route = find_route(body["route_id"])
        count_expensive(request)
        found = check_approval(route)
        decimals = route.token.decimals
        return Response(
            ApprovalObject(
                approval_required=found.is_required,
                spender=found.spender,
                token=RouteToken.of(route.token),
                allowance=AmountObject.of(found.allowance, decimals),
                required=AmountObject.of(found.needed, decimals),
                transactions=list(found.transactions),
            )
        )
