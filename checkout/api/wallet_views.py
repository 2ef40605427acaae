"""The checkout's endpoints for wallets: balances and token approvals."""

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
    """Public calls about a wallet's balances and approvals. These calls request no quotes."""

    authentication_classes = ()
    permission_classes = ()

    @operation(
        "checkout.essential_balances",
        tag="Checkout",
        summary="Retrieve a wallet's main balances",
        description=(
            "Lists a wallet's balances: the requested token, and each chain's native coin and stablecoins. "
            "`unavailable` lists the chains that did not respond within a few seconds."
        ),
        path={"id": "The payment request's `id` or its `shortcode`."},
        body=WalletSerializer,
        errors=[ErrorCode.ADDRESS_INVALID, ErrorCode.CHAIN_UNKNOWN],
        answers={200: OpenApiResponse(EssentialBalances, "The balances.")},
    )
    def essential(self, request: Request, id: str) -> Response:
        payment_request = find_request(id)
        body = validated(WalletSerializer, request)
        refunded_on = payment_request.chain_id if payment_request.is_refund else None
        wallet = find_wallet(body["wallet_address"], body.get("chain_ids"), refunded_on=refunded_on)
        count_expensive(request, payment_request.pk)
        fetched = essential(payment_request, wallet)
        balances = [essential_balance(held) for held in fetched.held]
        return Response(
            EssentialBalances(balances=balances, unavailable=unavailable_chains(fetched.unavailable))
        )

    @operation(
        "checkout.discover_wallet_tokens",
        tag="Checkout",
        summary="Find a wallet's tokens",
        description=(
            "Lists the tokens that a wallet holds, the most valuable first. Only tokens of the catalogue and of the "
            "routing providers' lists are included. `unavailable` lists the chains that did not respond. If the "
            "providers' lists are unavailable, the result has only tokens of the catalogue."
        ),
        body=WalletSerializer,
        errors=[ErrorCode.ADDRESS_INVALID, ErrorCode.CHAIN_UNKNOWN],
        answers={200: OpenApiResponse(WalletTokens, "The tokens.")},
    )
    def discover(self, request: Request) -> Response:
        body = validated(WalletSerializer, request)
        wallet = find_wallet(body["wallet_address"], body.get("chain_ids"))
        count_expensive(request, "")
        fetched = discover(wallet)
        tokens = [held_token(held) for held in fetched.held]
        return Response(WalletTokens(tokens=tokens, unavailable=unavailable_chains(fetched.unavailable)))

    @operation(
        "checkout.check_approval",
        tag="Checkout",
        summary="Check a route's approval",
        description=(
            "Returns whether the wallet allows the route's router to spend enough of the token. If it doesn't, "
            "`transactions` contains the unsigned approvals to send first. Direct routes, native coin and Solana need "
            "no approval."
        ),
        body=CheckApprovalSerializer,
        errors=[
            ErrorCode.RESOURCE_MISSING,
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.ROUTE_EXPIRED,
            ErrorCode.INSUFFICIENT_GAS,
            ErrorCode.TRANSACTION_WOULD_FAIL,
            ErrorCode.NODE_UNAVAILABLE,
            ErrorCode.ROUTING_UNAVAILABLE,
        ],
        answers={
            200: OpenApiResponse(ApprovalObject, "The current allowance, and the transactions to send.")
        },
    )
    def approval(self, request: Request) -> Response:
        body = validated(CheckApprovalSerializer, request)
        route = find_route(body["route_id"])
        count_expensive(request, route.request_id)
        approval = check_approval(route)
        decimals = route.token.decimals
        return Response(
            ApprovalObject(
                approval_required=approval.is_required,
                spender=approval.spender,
                token=RouteToken.of(route.token),
                allowance=AmountObject.of(approval.allowance, decimals),
                required=AmountObject.of(approval.needed, decimals),
                transactions=list(approval.transactions),
            )
        )
