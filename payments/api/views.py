"""The merchant's endpoints for payment requests and their payments."""

import uuid
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse
from rest_framework import status, viewsets
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from chains.switches import require_offered
from config.api.errors import ErrorCode
from config.api.log_context import add_to_log_context
from config.api.objects import ObjectMissing, find_object
from config.api.paging import conditions, edge_of, list_answer, page_by, page_of, read_query
from config.api.schema.operations import list_of, operation
from config.api.serializers import demand_no_parameters
from merchants.keys.authentication import actor_of, merchant_of
from merchants.keys.idempotency import Effect, idempotent
from merchants.keys.permissions import CanCreatePayments, HasApiKey
from payments.api.link_serializers import new_request_order
from payments.api.objects import (
    PaymentObject,
    PaymentRequestDetail,
    PaymentRequestObject,
    payment_object,
    request_detail,
    request_object,
    request_objects,
)
from payments.api.serializers import (
    AcceptPaymentSerializer,
    CreateRequestSerializer,
    RequestListQuery,
    SimulatedListQuery,
    SubmitTransactionSerializer,
)
from payments.models import Payment, PaymentRequest
from payments.prices.pricing import with_amount
from payments.requests.creation import create_request
from payments.requests.lifecycle import cancel_request
from payments.requests.reading import find_own, list_own
from payments.sandbox.rates import require_rate
from payments.submission.hashes import retry_payment, sight_for_merchant, submit_for_merchant
from payments.submission.merchant_acceptance import accept_payment

_FILTERS = {
    "status": "status",
    "external_id": "external_id",
    "token_id": "token_id",
    "chain_id": "chain_id",
    "payment_link": "payment_link_id",
    "created_after": "created_at__gt",
    "created_before": "created_at__lt",
    "is_simulated": "is_simulated",
}


_REQUEST = {"id": "The payment request's `id`, a UUID."}
_PAYMENT = {**_REQUEST, "payment_id": "The payment's `id`."}


class OwnRequestsViewSet(viewsets.GenericViewSet[PaymentRequest]):
    """The merchant's own payment requests. Another merchant's request is a 404."""

    queryset = PaymentRequest.objects.none()
    lookup_field = "id"
    writing_needs: ClassVar[type[HasApiKey]] = CanCreatePayments

    def get_queryset(self) -> QuerySet[PaymentRequest]:
        return merchant_of(self.request).payment_requests.filter(is_refund=False)

    def get_permissions(self) -> list[BasePermission]:
        """Any active key can read. To write, a key needs the permission `writing_needs`."""
        return [HasApiKey() if self.request.method in SAFE_METHODS else self.writing_needs()]

    def find(self, id: str) -> PaymentRequest:
        """Raises ObjectMissing."""
        try:
            request_id = uuid.UUID(id)
        except ValueError:
            raise ObjectMissing("payment request", id) from None
        payment_request = find_own(merchant_of(self.request).pk, request_id)
        if payment_request is None:
            raise ObjectMissing("payment request", id)
        add_to_log_context(payment_request_id=payment_request.pk)
        return payment_request

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """Forbid caching, since the response is only for the holder of this API key."""
        final: Response = super().finalize_response(request, response, *args, **kwargs)
        final["Cache-Control"] = "no-store"
        return final


class PaymentRequestViewSet(OwnRequestsViewSet):
    def find_payment(self, id: str, payment_id: str) -> Payment:
        payments: QuerySet[Payment] = self.find(id).payments.all()
        return find_object(payments, "payment of this payment request", payment_id)

    @operation(
        "payment_requests.list",
        tag="Payment requests",
        summary="List payment requests",
        description="Lists your payment requests, newest first, without their payments.",
        query=RequestListQuery,
        errors=[ErrorCode.CHAIN_UNKNOWN, ErrorCode.TOKEN_UNKNOWN],
        answers={200: OpenApiResponse(list_of(PaymentRequestObject, "PaymentRequestList"), "One page.")},
    )
    def list(self, request: Request) -> Response:
        query = read_query(RequestListQuery, request)
        own = merchant_of(request).pk
        page = page_by(
            lambda cut: list_own(own, conditions(query, _FILTERS), cut),
            query,
            edge=edge_of(self.get_queryset(), query),
        )
        return list_answer(request, page, request_objects(page.rows))

    @idempotent
    @operation(
        "payment_requests.create",
        tag="Payment requests",
        summary="Create a payment request",
        description=(
            "Creates a payment request for an amount of a token, or for a price that is converted into the token. "
            "Send the customer to its `payment_url`. If you send `payment_link`, the link sets the token, chain, "
            "recipient and price."
        ),
        body=CreateRequestSerializer,
        errors=[
            ErrorCode.AMOUNT_INVALID,
            ErrorCode.AMOUNT_NOT_A_STRING,
            ErrorCode.AMOUNT_TOO_PRECISE,
            ErrorCode.AMOUNT_NOT_POSITIVE,
            ErrorCode.AMOUNT_TOO_LARGE,
            ErrorCode.CHAIN_UNKNOWN,
            ErrorCode.TOKEN_UNKNOWN,
            ErrorCode.TOKEN_NOT_ON_CHAIN,
            ErrorCode.ADDRESS_INVALID,
            ErrorCode.RECIPIENT_NOT_ALLOWED,
            ErrorCode.URL_INVALID,
            ErrorCode.URL_NOT_ALLOWED,
            ErrorCode.RATE_UNAVAILABLE,
            ErrorCode.RESOURCE_MISSING,
            ErrorCode.LINK_INACTIVE,
        ],
        answers={201: OpenApiResponse(PaymentRequestObject, "The new payment request.")},
    )
    def create(self, request: Request) -> Effect:
        merchant = merchant_of(request)
        order = new_request_order(request.data, merchant)
        require_offered(order.token)
        require_rate(order)
        order = with_amount(order)

        def effect() -> Response:
            created = create_request(merchant, order, actor=actor_of(request))
            add_to_log_context(payment_request_id=created.pk)
            return Response(request_object(created), status=status.HTTP_201_CREATED)

        return effect

    @operation(
        "payment_requests.retrieve",
        tag="Payment requests",
        summary="Retrieve a payment request",
        description=(
            "Returns a payment request with its newest 20 payments. To follow changes, use webhooks."
        ),
        path=_REQUEST,
        answers={200: OpenApiResponse(PaymentRequestDetail, "The payment request.")},
    )
    def retrieve(self, request: Request, id: str) -> Response:  # noqa: ARG002 - the viewset interface
        return Response(request_detail(self.find(id)))

    @operation(
        "payments.list",
        tag="Payments",
        summary="List a request's payments",
        description="Lists all payments of a payment request, newest first.",
        path=_REQUEST,
        query=SimulatedListQuery,
        answers={200: OpenApiResponse(list_of(PaymentObject, "PaymentList"), "One page.")},
    )
    def payments(self, request: Request, id: str) -> Response:
        payments = self.find(id).payments.select_related(
            "chain", "token", "request__token", "request__chain", "lookup", "swap__delivery"
        )
        query = read_query(SimulatedListQuery, request)
        listed = payments.filter(**conditions(query, {"is_simulated": "is_simulated"}))
        page = page_of(listed, query, cursors=payments)
        return list_answer(request, page, [payment_object(row) for row in page.rows])

    @idempotent
    @operation(
        "payments.submit",
        tag="Payments",
        summary="Submit a transaction",
        description=(
            "Submits a transaction that your customer sent, for example if the checkout page was closed before it "
            "could submit the hash. The limits of the public endpoint don't apply. If the transaction already has a "
            "payment, that payment is returned. If that payment has failed and can be retried, this call retries it."
        ),
        path=_REQUEST,
        body=SubmitTransactionSerializer,
        errors=[
            ErrorCode.CHAIN_UNKNOWN,
            ErrorCode.TRANSACTION_HASH_INVALID,
            ErrorCode.TRANSACTION_ALREADY_USED,
        ],
        answers={
            200: OpenApiResponse(PaymentObject, "The known payment."),
            201: OpenApiResponse(PaymentObject, "The new payment."),
        },
    )
    def submit(self, request: Request, id: str) -> Effect:
        """Submit a transaction. Returns 201 for a new payment, 200 for a known transaction."""
        payment_request = self.find(id)
        serializer = SubmitTransactionSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        chain, transaction_hash = serializer.transaction()
        sighting = sight_for_merchant(payment_request, chain, transaction_hash)

        def effect() -> Response:
            payment, is_new = submit_for_merchant(
                payment_request,
                chain=chain,
                transaction_hash=transaction_hash,
                actor=actor_of(request),
                sighting=sighting,
            )
            code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
            return Response(payment_object(payment), status=code)

        return effect

    @idempotent
    @operation(
        "payment_requests.cancel",
        tag="Payment requests",
        summary="Cancel a payment request",
        description=(
            "Cancels an active payment request. If it is already cancelled, it is returned unchanged. "
            "Money that arrives later is still credited and sends an event."
        ),
        path=_REQUEST,
        errors=[ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, ErrorCode.PAYMENT_IN_PROGRESS],
        answers={200: OpenApiResponse(PaymentRequestDetail, "The payment request, cancelled.")},
    )
    def cancel(self, request: Request, id: str) -> Effect:
        """Cancel an active payment request. Cancelling it again succeeds."""
        demand_no_parameters(request)
        payment_request = self.find(id)

        def effect() -> Response:
            cancelled = cancel_request(payment_request.pk, actor=actor_of(request))
            return Response(request_detail(cancelled))

        return effect

    @idempotent
    @operation(
        "payments.retry",
        tag="Payments",
        summary="Retry a failed payment",
        description=(
            "Verifies a failed payment again, if the result can still change. It can change until the transaction's "
            "block is final. With some codes, such as `transaction_not_found`, it can also change later. If "
            "`retries_left` is 0, the call fails. A payment has three retries. Submitting its hash again also uses one."
        ),
        path=_PAYMENT,
        errors=[ErrorCode.RETRY_LIMIT_REACHED, ErrorCode.PAYMENT_NOT_RETRYABLE],
        answers={200: OpenApiResponse(PaymentObject, "The payment, `pending` again.")},
    )
    def retry(self, request: Request, id: str, payment_id: str) -> Effect:
        demand_no_parameters(request)
        payment = self.find_payment(id, payment_id)
        return lambda: Response(payment_object(retry_payment(payment, actor=actor_of(request))))

    @idempotent
    @operation(
        "payments.accept",
        tag="Payments",
        summary="Accept a payment",
        description=(
            "Accepts a payment that failed as `transaction_not_bound`, `transaction_ambiguous` or `not_verifiable`. "
            "Everything except the binding is verified as for any payment. Check that your customer sent the "
            "transaction, because the service can't. The reason is stored in the history.\n\n"
            "A request can be paid in full and still be active or expired. To complete it, accept one of its credited "
            "payments. This is needed in three cases: the payment arrived after the price had expired (you accept the "
            "old rate); a refund was cancelled or failed after the payment; or a reorganised payment is in the chain "
            "again. In all other cases, accepting a credited payment, or an accepted one again, changes nothing.\n\n"
            "The error is `payment_refunded` if the request would be paid in full without its refunds. It is "
            "`recipient_invalid` if another merchant used this recipient first, unless you have added the recipient "
            "to your allowed recipients."
        ),
        path=_PAYMENT,
        body=AcceptPaymentSerializer,
        errors=[
            ErrorCode.PAYMENT_NOT_RETRYABLE,
            ErrorCode.PAYMENT_REFUNDED,
            ErrorCode.RECIPIENT_INVALID,
        ],
        answers={
            200: OpenApiResponse(
                PaymentObject,
                "The payment: `pending` if it was unbound before, `completed` if it was credited.",
            )
        },
    )
    def accept(self, request: Request, id: str, payment_id: str) -> Effect:
        """Accept a transaction that nothing links to the request, or a late payment of a request that is paid in
        full.
        """
        payment = self.find_payment(id, payment_id)
        serializer = AcceptPaymentSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        reason = serializer.validated_data["reason"]

        def effect() -> Response:
            accepted = accept_payment(payment, reason=reason, actor=actor_of(request))
            return Response(payment_object(accepted))

        return effect
