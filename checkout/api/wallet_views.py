"""The checkout's endpoints about a wallet: what it holds, and what it has to allow before it can pay (contract 8)."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from chains.amounts import amount_object
from checkout.api.balance_reference import EssentialBalancesSerializer, WalletTokensSerializer
from checkout.api.built_reference import ApprovalSerializer
from checkout.api.representations import chain_object
from checkout.api.route_objects import token_object, usd_text
from checkout.api.serializers import CheckApprovalSerializer, WalletSerializer
from checkout.logos import token_logo_url
from checkout.lookup import find_request, find_route, validated
from checkout.wallets.balances import Held, discover, essential
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
            "does not answer within a few seconds is named in `unavailable`, and the others are told all the same."
        ),
        path={"id": "The payment request's `id` or its `shortcode`."},
        body=WalletSerializer,
        errors=[ErrorCode.ADDRESS_INVALID, ErrorCode.CHAIN_UNKNOWN],
        answers={200: OpenApiResponse(EssentialBalancesSerializer, "The balances.")},
    )
    def essential(self, request: Request, id: str) -> Response:
        """Return what the wallet has of what it most likely pays with."""
        payment_request = find_request(id)
        body = validated(WalletSerializer, request)
        wallet = find_wallet(body["wallet_address"], body.get("chain_ids"))
        count_expensive(request)
        found = essential(payment_request, wallet)
        balances = [
            {**_balance(held), "sufficient": held.is_sufficient, "is_requested": held.is_requested}
            for held in found.held
        ]
        return Response({"balances": balances, "unavailable": _unavailable(found.unavailable)})

    @operation(
        "checkout.discover_wallet_tokens",
        tag="Checkout",
        summary="Find a wallet's tokens",
        description=(
            "Every token of the catalogue and of the routing providers' lists that a wallet has some of, the most "
            "valuable first. One dead chain fails nothing; without the lists the catalogue's tokens are told."
        ),
        body=WalletSerializer,
        errors=[ErrorCode.ADDRESS_INVALID, ErrorCode.CHAIN_UNKNOWN],
        answers={200: OpenApiResponse(WalletTokensSerializer, "The tokens.")},
    )
    def discover(self, request: Request) -> Response:
        """Return all that is known of what the wallet has."""
        body = validated(WalletSerializer, request)
        wallet = find_wallet(body["wallet_address"], body.get("chain_ids"))
        count_expensive(request)
        found = discover(wallet)
        tokens = [
            {
                **_balance(held),
                "price_usd": None if held.price is None else f"{held.price:f}",
                "logo_url": token_logo_url(held.token, held.listed),
            }
            for held in found.held
        ]
        return Response({"tokens": tokens, "unavailable": _unavailable(found.unavailable)})

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
        answers={
            200: OpenApiResponse(ApprovalSerializer, "What may be taken, and what is still to be sent.")
        },
    )
    def approval(self, request: Request) -> Response:
        """Return what the route's wallet still has to approve."""
        body = validated(CheckApprovalSerializer, request)
        route = find_route(body["route_id"])
        count_expensive(request)
        found = check_approval(route)
        return Response(
            {
                "approval_required": found.is_required,
                "spender": found.spender,
                "token": token_object(route.token),
                "allowance": amount_object(found.allowance, route.token.decimals),
                "required": amount_object(found.needed, route.token.decimals),
                "transactions": list(found.transactions),
            }
        )


def _balance(held: Held) -> dict[str, Any]:
    token = held.token
    return {
        "chain_id": token.chain_id,
        "chain": chain_object(token.chain),
        "token": token_object(token),
        "balance": amount_object(held.balance, token.decimals),
        "usd": usd_text(held.usd),
    }


def _unavailable(chains: Mapping[int, ErrorCode]) -> list[dict[str, Any]]:
    return [{"chain_id": chain_id, "code": code.value} for chain_id, code in chains.items()]
