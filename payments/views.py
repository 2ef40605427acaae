"""The merchant's endpoints for payment requests (spec 4, contract 5 and 6)."""

import uuid
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from rest_framework import status, viewsets
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.paging import ListQuery, conditions, list_answer, page_of, read_query
from config.api.serializers import demand_no_parameters
from merchants.authentication import actor_of, merchant_of
from merchants.idempotency import Effect, keyed_post
from merchants.permissions import CanCreatePayments, HasApiKey
from payments.acceptance import accept_payment
from payments.models import Payment, PaymentRequest
from payments.representations import (
    PaymentRequestDetailSerializer,
    PaymentRequestSerializer,
    PaymentSerializer,
)
from payments.requests import cancel_request, create_request
from payments.serializers import AcceptPaymentSerializer, CreateRequestSerializer, RequestListQuery
from payments.submission import retry_payment

_READING = ("list", "retrieve", "payments")
_FILTERS = {
    "status": "status",
    "external_id": "external_id",
    "token_id": "token_id",
    "chain_id": "chain_id",
    "created_after": "created_at__gt",
    "created_before": "created_at__lt",
}


class PaymentRequestViewSet(viewsets.GenericViewSet[PaymentRequest]):
    """A merchant's own payment requests; another merchant's do not exist here."""

    queryset = PaymentRequest.objects.none()
    lookup_field = "id"

    def get_queryset(self) -> QuerySet[PaymentRequest]:
        """Start every look-up from the key's merchant."""
        return merchant_of(self.request).payment_requests.select_related("token", "chain", "merchant")

    def get_permissions(self) -> list[BasePermission]:
        """Reading needs any active key, changing `create_payments`."""
        return [HasApiKey() if self.action in _READING else CanCreatePayments()]

    def find(self, id: str) -> PaymentRequest:
        """Return the merchant's request with this id, or answer 404."""
        try:
            return self.get_queryset().get(pk=uuid.UUID(id))
        except (ValueError, PaymentRequest.DoesNotExist):
            raise Http404 from None

    def find_payment(self, id: str, payment_id: str) -> Payment:
        """Return the payment of the merchant's request, or answer 404."""
        payment = self.find(id).payments.filter(pk=payment_id).first()
        if payment is None:
            raise Http404
        return payment

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """Keep keyed answers out of every cache."""
        final: Response = super().finalize_response(request, response, *args, **kwargs)
        final["Cache-Control"] = "no-store"
        return final

    def list(self, request: Request) -> Response:
        """Return the merchant's payment requests, newest first, without their payments."""
        query = read_query(RequestListQuery, request)
        own = self.get_queryset()
        page = page_of(own.filter(**conditions(query, _FILTERS)), query, cursors=own)
        return list_answer(request, page, PaymentRequestSerializer(page.rows, many=True).data)

    @keyed_post
    def create(self, request: Request) -> Effect:
        """Create a payment request."""
        serializer = CreateRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        order = serializer.order()

        def effect() -> Response:
            created = create_request(merchant_of(request), order, actor=actor_of(request))
            return Response(PaymentRequestSerializer(created).data, status=status.HTTP_201_CREATED)

        return effect

    def retrieve(self, request: Request, id: str) -> Response:  # noqa: ARG002 - the viewset interface
        """Return a payment request with its newest payments."""
        return Response(PaymentRequestDetailSerializer(self.find(id)).data)

    def payments(self, request: Request, id: str) -> Response:
        """Return all payments of a request, newest first."""
        payments = self.find(id).payments.select_related("chain", "token", "request__token")
        page = page_of(payments, read_query(ListQuery, request), cursors=payments)
        return list_answer(request, page, PaymentSerializer(page.rows, many=True).data)

    @keyed_post
    def cancel(self, request: Request, id: str) -> Effect:
        """Cancel an active payment request; again is no error."""
        demand_no_parameters(request)
        found = self.find(id)

        def effect() -> Response:
            cancelled = cancel_request(found.pk, actor=actor_of(request))
            return Response(PaymentRequestDetailSerializer(cancelled).data)

        return effect

    @keyed_post
    def retry(self, request: Request, id: str, payment_id: str) -> Effect:
        """Look anew at a payment that failed for want of an answer."""
        demand_no_parameters(request)
        payment = self.find_payment(id, payment_id)
        return lambda: Response(PaymentSerializer(retry_payment(payment, actor=actor_of(request))).data)

    @keyed_post
    def accept(self, request: Request, id: str, payment_id: str) -> Effect:
        """Take a transaction that nothing binds to the request as its payment, with a reason that stays written."""
        payment = self.find_payment(id, payment_id)
        serializer = AcceptPaymentSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        reason = serializer.validated_data["reason"]

        def effect() -> Response:
            accepted = accept_payment(payment, reason=reason, actor=actor_of(request))
            return Response(PaymentSerializer(accepted).data)

        return effect
