"""Build the transaction with which a merchant sends a refund."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from chains.switches import Feature, require_on
from checkout.api.built_objects import BuiltTransaction
from config.api.errors import ErrorCode
from config.api.schema.operations import operation
from merchants.keys.authentication import actor_of
from merchants.keys.idempotency import never_replayed
from payments.api.refund_serializers import BuildRefundSerializer
from payments.api.refund_views import RefundViewSet
from payments.refunds.reading import now
from payments.refunds.services import require_buildable
from payments.routes.direct import offer_direct
from payments.routes.routes import build_transaction


class RefundBuildViewSet(RefundViewSet):
    @never_replayed
    @operation(
        "refunds.build",
        tag="Refunds",
        summary="Build a refund's transaction",
        description=(
            "Returns the unsigned transaction of a refund, for your wallet to sign and send. The service simulates "
            "the transaction first. The transaction contains a reference, by which the service finds it on the chain. "
            "If the refund had failed, it becomes `ready` and reserves its amount again. If other refunds have used "
            "that amount, the error is `refund_too_large`. Each call builds a new transaction. Sign only the newest "
            "one, and sign it only once."
        ),
        path={"id": "The refund's `id`."},
        body=BuildRefundSerializer,
        errors=[
            ErrorCode.ADDRESS_INVALID,
            ErrorCode.REFUND_NOT_READY,
            ErrorCode.REFUND_TOO_LARGE,
            ErrorCode.PAYMENT_IN_PROGRESS,
            ErrorCode.ROUTE_EXPIRED,
            ErrorCode.RECIPIENT_INVALID,
            ErrorCode.INSUFFICIENT_FUNDS,
            ErrorCode.INSUFFICIENT_GAS,
            ErrorCode.TRANSACTION_WOULD_FAIL,
            ErrorCode.NODE_UNAVAILABLE,
        ],
        answers={200: OpenApiResponse(BuiltTransaction, "The unsigned transaction.")},
    )
    def build(self, request: Request, id: str) -> Response:
        refund = self.find_refund(id)
        require_on(Feature.REFUNDS)
        serializer = BuildRefundSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        wallet_address = serializer.wallet_of(refund.request)
        carrier = require_buildable(now([refund])[0])
        route = offer_direct(carrier, wallet_address, timezone.now())
        return Response(BuiltTransaction.of(route, build_transaction(route, actor=actor_of(request))))
