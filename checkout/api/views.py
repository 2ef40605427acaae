"""The checkout's public endpoints. Everyone who knows a request's id or shortcode may call them."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from chains.client import ChainClient
from chains.families import HashError, get_client
from chains.models import Chain
from checkout.api.built_objects import BuiltTransaction, PayerProofObject, TransferProofOrder
from checkout.api.checkout_object import Checkout, checkout_object, details_etag, with_server_time
from checkout.api.deposit_objects import DepositAddressObject
from checkout.api.network_fees import account_deposit, usual_fee
from checkout.api.route_objects import NoRouteReason, Routes, route_object
from checkout.api.route_warnings import route_warnings
from checkout.api.serializers import (
    AuthorizationSerializer,
    BuildTransactionSerializer,
    PayerProofSerializer,
    ProofMessageSerializer,
    RoutesSerializer,
    SubmitPaymentSerializer,
)
from checkout.lookup import (
    chain_of,
    find_payment,
    find_request,
    find_route,
    token_of,
    validated,
    wallet_of,
)
from config.api.errors import ApiError, ErrorCode
from config.api.limits.client_address import client_digest, client_identity
from config.api.limits.public_limits import count_expensive
from config.api.schema.operations import operation
from config.api.serializers import demand_no_parameters, required_timestamp
from payments.api.objects import PaymentObject, submitted_payment
from payments.deposits.showing import show_address
from payments.models import PaymentRequest
from payments.models.route import PaymentType
from payments.proofs.afterwards import offer_message, store_transfer_proof
from payments.proofs.storing import store_proof
from payments.routes.authorizing import accept
from payments.routes.routes import NoRoute, build_transaction, find_routes, require_binding
from payments.submission.hashes import submit_hash

_REQUEST = {"id": "The payment request's `id` or its `shortcode`."}


class CheckoutViewSet(viewsets.ViewSet):
    """Needs no credentials."""

    authentication_classes = ()
    permission_classes = ()

    @operation(
        "checkout.retrieve",
        tag="Checkout",
        summary="Retrieve a checkout",
        description=(
            "Returns the customer's view of a payment request. Poll it with `If-None-Match` at the "
            "interval in `poll_in_ms`."
        ),
        path=_REQUEST,
        parameters=[
            OpenApiParameter(
                "If-None-Match",
                str,
                OpenApiParameter.HEADER,
                description=(
                    "The `ETag` of an earlier response. If nothing has changed, the response is 304."
                ),
            )
        ],
        answers={
            200: OpenApiResponse(Checkout, "The request, with its payments."),
            304: OpenApiResponse(None, "Nothing has changed since that `ETag`."),
        },
        answer_headers={200: ["ETag"], 304: ["ETag"]},
    )
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """Return the checkout, or 304 if the client already has this version (ETag)."""
        checkout = checkout_object(find_request(id))
        etag = details_etag(checkout)
        if etag in (
            part.strip().removeprefix("W/") for part in request.headers.get("If-None-Match", "").split(",")
        ):
            response = HttpResponse(status=status.HTTP_304_NOT_MODIFIED)
        else:
            response = Response(with_server_time(checkout))
        response["ETag"] = etag
        response["Cache-Control"] = "private, no-cache"
        return response

    @operation(
        "checkout.events",
        tag="Checkout",
        summary="Stream a checkout's changes",
        description=(
            "Streams server-sent events. An `update` comes at the start and after each change: its `id` is the "
            "`ETag`, and its `data` is the checkout. A comment comes every 15 seconds. If the call returns 404 (the "
            "deployment has no `events` process) or 503 (too many streams are open), poll the checkout instead."
        ),
        path=_REQUEST,
        answers={(200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, "The stream.")},
    )
    def events(self, request: Request, id: str) -> Response:  # noqa: ARG002 - the view interface
        """Return 404.

        The `events` process serves streams. A call arrives here only if the proxy doesn't forward this path to that
        process.
        """
        find_request(id)
        message = "Changes are not streamed here. Poll the payment request instead."
        raise ApiError(ErrorCode.RESOURCE_MISSING, message)

    @operation(
        "checkout.list_routes",
        tag="Checkout",
        summary="List routes",
        description=(
            "Lists the routes by which one wallet can pay the remaining amount with one token. For the requested "
            "token, the list has one `direct` route. If there are no routes, the response is 200 with a `reason`."
        ),
        path=_REQUEST,
        body=RoutesSerializer,
        errors=[
            ErrorCode.CHAIN_UNKNOWN,
            ErrorCode.TOKEN_UNKNOWN,
            ErrorCode.ADDRESS_INVALID,
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.PAYMENT_IN_PROGRESS,
            ErrorCode.NODE_UNAVAILABLE,
            ErrorCode.ROUTING_UNAVAILABLE,
        ],
        answers={200: OpenApiResponse(Routes, "The routes.")},
    )
    def routes(self, request: Request, id: str) -> Response:
        payment_request = find_request(id)
        body = validated(RoutesSerializer, request)
        # A refund may use an inactive token.
        active_only = not payment_request.is_refund
        chain = chain_of(body["chain_id"], active_only=active_only)
        wallet_address = wallet_of(chain, body["wallet_address"])

        def counted(chain: Chain) -> ChainClient:
            count_expensive(request, payment_request.pk)
            return get_client(chain)

        token = token_of(chain, body, active_only=active_only, client=counted)
        count_expensive(request, payment_request.pk)
        routes = find_routes(
            payment_request,
            wallet_address=wallet_address,
            token=token,
            allow_parallel=bool(body.get("allow_parallel")),
            asked_by=client_identity(request),
        )
        if isinstance(routes, NoRoute):
            reason = NoRouteReason(code=routes.code, message=routes.message)
            return Response(Routes(routes=[], reason=reason))
        warnings = route_warnings(chain, wallet_address)
        is_direct = any(route.type == PaymentType.DIRECT for route in routes)
        fee = usual_fee(token) if is_direct else None
        deposit = account_deposit(token, payment_request.recipient_address) if is_direct else None
        return Response(Routes(routes=[route_object(route, warnings, fee, deposit or 0) for route in routes]))

    @operation(
        "checkout.build_transaction",
        tag="Checkout",
        summary="Build a route's transaction",
        description=(
            "Returns the unsigned transaction of a route, for the customer's wallet to sign. The "
            "transaction is simulated first; if it would fail, the call is rejected with the reason."
        ),
        body=BuildTransactionSerializer,
        errors=[
            ErrorCode.RESOURCE_MISSING,
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.PAYMENT_IN_PROGRESS,
            ErrorCode.ROUTE_EXPIRED,
            ErrorCode.RECIPIENT_INVALID,
            ErrorCode.INSUFFICIENT_FUNDS,
            ErrorCode.INSUFFICIENT_GAS,
            ErrorCode.TRANSACTION_WOULD_FAIL,
            ErrorCode.BATCH_UNAVAILABLE,
            ErrorCode.NODE_UNAVAILABLE,
            ErrorCode.ROUTING_UNAVAILABLE,
        ],
        answers={200: OpenApiResponse(BuiltTransaction, "The unsigned transaction.")},
    )
    def build(self, request: Request) -> Response:
        body = validated(BuildTransactionSerializer, request)
        route = find_route(body["route_id"])
        binding = body.get("binding")
        require_binding(route, binding)
        count_expensive(request, route.request_id)
        built = build_transaction(
            route,
            binding=binding,
            is_batch=bool(body["batch"]),
            allow_parallel=bool(body["allow_parallel"]),
            asked_by=client_identity(request),
        )
        return Response(BuiltTransaction.of(route, built))

    @operation(
        "checkout.prove_payer",
        tag="Checkout",
        summary="Prove who pays",
        description=(
            "Submits the wallet's signature, which binds a transfer that contains no reference.\n\nBefore the "
            "transfer is sent, use `route_id`: a transfer from this wallet counts for the request if it is mined "
            "within 60 minutes after the route was built.\n\nAfter the transfer, use `payment_id`: the request is "
            "credited with the wallet's transfers in that payment's transaction, up to the remaining amount. Submit "
            "the proof within 60 minutes of the transaction's block and before the request ends. The time of the "
            "proof counts as the time of payment. A later proof only sets `sender_signed_at`; the merchant can then "
            "accept the payment."
        ),
        path=_REQUEST,
        body=PayerProofSerializer,
        errors=[
            ErrorCode.ADDRESS_INVALID,
            ErrorCode.SIGNATURE_INVALID,
            ErrorCode.ROUTE_EXPIRED,
            ErrorCode.TRANSACTION_NOT_BOUND,
            ErrorCode.TRANSACTION_ALREADY_USED,
            ErrorCode.NODE_UNAVAILABLE,
        ],
        answers={200: OpenApiResponse(PayerProofObject, "The verified proof.")},
    )
    def prove(self, request: Request, id: str) -> Response:
        payment_request = find_request(id)
        body = validated(PayerProofSerializer, request)
        if "payment_id" in body:
            return self._prove_transfer(request, payment_request, body)
        route = find_route(body["route_id"], of=payment_request)
        wallet_address = wallet_of(route.chain, body["wallet_address"])
        count_expensive(request, payment_request.pk)
        proof = store_proof(route, wallet_address=wallet_address, signature=body["signature"])
        return Response(
            PayerProofObject(
                route_id=route.id,
                payment_id=None,
                wallet_address=proof.address,
                verified_at=required_timestamp(proof.verified_at),
            )
        )

    def _prove_transfer(
        self, request: Request, payment_request: PaymentRequest, body: dict[str, Any]
    ) -> Response:
        payment = find_payment(body["payment_id"], of=payment_request)
        wallet_address = wallet_of(payment.chain, body["wallet_address"])
        count_expensive(request, payment_request.pk)
        proof = store_transfer_proof(payment, wallet_address=wallet_address, signature=body["signature"])
        return Response(
            PayerProofObject(
                route_id=None,
                payment_id=payment.id,
                wallet_address=proof.address,
                verified_at=required_timestamp(proof.given_at),
            )
        )

    @operation(
        "checkout.proof_message",
        tag="Checkout",
        summary="Get the message that proves a transfer",
        description=(
            "Returns a message for the wallet that sent an unbound payment. The signature binds the payment to the "
            "request: submit it to `payer-proof`. By signing, the sender declares that the transfer pays this order "
            "and no other. If another visitor submitted the transaction, show the order before you open the wallet."
        ),
        path={**_REQUEST, "payment_id": "The payment's `id`."},
        body=ProofMessageSerializer,
        errors=[
            ErrorCode.ADDRESS_INVALID,
            ErrorCode.TRANSACTION_NOT_BOUND,
            ErrorCode.TRANSACTION_ALREADY_USED,
            ErrorCode.NODE_UNAVAILABLE,
        ],
        answers={200: OpenApiResponse(TransferProofOrder, "The message to sign.")},
    )
    def proof_message(self, request: Request, id: str, payment_id: str) -> Response:
        payment_request = find_request(id)
        payment = find_payment(payment_id, of=payment_request)
        body = validated(ProofMessageSerializer, request)
        wallet_address = wallet_of(payment.chain, body["wallet_address"])
        count_expensive(request, payment_request.pk)
        proof = offer_message(payment, wallet_address=wallet_address)
        return Response(
            TransferProofOrder(message=proof.message, expires_at=required_timestamp(proof.expires_at))
        )

    @operation(
        "checkout.show_deposit_address",
        tag="Checkout",
        summary="Show the deposit address",
        description=(
            "Returns the request's deposit address: an EVM address that can only forward to the request's recipient. "
            "Customers send the requested token to it, on the requested chain, from any wallet or exchange. The "
            "transfer counts for this request and needs no reference. The service watches the address from the first "
            "call on. Later calls return the same address, even after the request has ended.\n\n"
            "Before the first call returns, nodes simulate a payment to the address and its sweep to the recipient. "
            "Tokens that take fees or change balances have no deposit address. If the recipient is a contract, first "
            "confirm it in the portal. Native coin has no deposit address then, even after you have confirmed it."
        ),
        path=_REQUEST,
        errors=[
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.DEPOSIT_ADDRESS_UNAVAILABLE,
            ErrorCode.NODE_UNAVAILABLE,
        ],
        answers={200: OpenApiResponse(DepositAddressObject, "The deposit address.")},
    )
    def deposit_address(self, request: Request, id: str) -> Response:
        demand_no_parameters(request)
        payment_request = find_request(id)
        deposit = show_address(
            payment_request, before_check=lambda: count_expensive(request, payment_request.pk)
        )
        return Response(DepositAddressObject.of(deposit))

    @operation(
        "checkout.authorize_payment",
        tag="Checkout",
        summary="Submit a signed transfer",
        description=(
            "Submits the wallet's signature for a sponsored route: of the route's `typed_data` on EVM, of its "
            "`transaction` on Solana. The operator's account sends the transfer and pays the network fee. The service "
            "simulates and stores the transfer before it sends it. If you submit the signature again, you get the "
            "same payment. The call also works if another account has sent the transfer meanwhile.\n\n"
            "On Solana, the customer's wallet signs the transaction but doesn't send it; the operator's account signs "
            "last. The wallet may change the limit and the price of compute units, and add assertions of the "
            "Lighthouse program. A transaction with any other change is rejected with `signature_invalid`.\n\n"
            "If the error is `sponsoring_unavailable`, offer the other direct route, for which the customer pays the "
            "fee."
        ),
        path=_REQUEST,
        body=AuthorizationSerializer,
        errors=[
            ErrorCode.SIGNATURE_INVALID,
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.PAYMENT_IN_PROGRESS,
            ErrorCode.ROUTE_EXPIRED,
            ErrorCode.SPONSORING_UNAVAILABLE,
            ErrorCode.INSUFFICIENT_FUNDS,
            ErrorCode.TRANSACTION_WOULD_FAIL,
            ErrorCode.NODE_UNAVAILABLE,
        ],
        answers={
            200: OpenApiResponse(PaymentObject, "The existing payment. `from_address` is null."),
            201: OpenApiResponse(PaymentObject, "The new payment. `from_address` is null."),
        },
    )
    def authorize(self, request: Request, id: str) -> Response:
        payment_request = find_request(id)
        body = validated(AuthorizationSerializer, request)
        payment, is_new = accept(
            payment_request,
            find_route(body["route_id"], of=payment_request),
            signature=body.get("signature"),
            text=body.get("transaction"),
            submitter=client_digest(request),
            before_check=lambda: count_expensive(request, payment_request.pk),
        )
        return Response(submitted_payment(payment), status=201 if is_new else 200)

    @operation(
        "checkout.submit_payment",
        tag="Checkout",
        summary="Submit a transaction",
        description=(
            "Submits the hash that the wallet returned. Verification starts within about a second. Submitting a hash "
            "again changes nothing. If the transaction is a speed-up of an earlier one, that payment continues with "
            "the new hash.\n\n"
            "For each request, a client address can have at most 5 open payments. A request accepts at most 30 public "
            "submissions in total; hashes that no node knows and transactions older than the request don't count. "
            "Neither limit rejects a mined transaction that is bound to the request.\n\n"
            "The wallet of a contract account, such as a Safe, can return an id instead of a hash. Send this id with "
            "the `route_id`: the service waits until the account executes the transaction. A request can have 3 such "
            "ids at a time."
        ),
        path=_REQUEST,
        body=SubmitPaymentSerializer,
        errors=[
            ErrorCode.CHAIN_UNKNOWN,
            ErrorCode.TRANSACTION_HASH_INVALID,
            ErrorCode.TRANSACTION_ALREADY_USED,
            ErrorCode.TOO_MANY_OPEN_PAYMENTS,
            ErrorCode.TOO_MANY_PAYMENTS,
            ErrorCode.NODE_UNAVAILABLE,
        ],
        answers={
            200: OpenApiResponse(PaymentObject, "The existing payment. `from_address` is null."),
            201: OpenApiResponse(PaymentObject, "The new payment. `from_address` is null."),
        },
    )
    def submit(self, request: Request, id: str) -> Response:
        """Submit a transaction. The status is 201 for a new payment, and 200 if the payment already exists."""
        payment_request = find_request(id)
        body = validated(SubmitPaymentSerializer, request)
        chain = chain_of(body["chain_id"], active_only=False)
        try:
            transaction_hash = chain.family.normalise_transaction_hash(body["transaction_hash"])
        except HashError as error:
            raise ApiError(ErrorCode.TRANSACTION_HASH_INVALID, str(error), "transaction_hash") from error
        payment, is_new = submit_hash(
            payment_request,
            chain=chain,
            transaction_hash=transaction_hash,
            route_id=body.get("route_id"),
            actor="checkout",
            submitter=client_digest(request),
            before_extra_lookup=lambda: count_expensive(request, payment_request.pk),
        )
        return Response(submitted_payment(payment), status=201 if is_new else 200)
