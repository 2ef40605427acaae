"""Simulate an outcome in the sandbox. Production returns 404."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import UNKNOWN_PATH, ApiError, ErrorCode
from config.api.schema.operations import described, operation
from config.api.serializers import OneOfField, StrictSerializer, TextField
from merchants.keys.authentication import actor_of
from merchants.keys.idempotency import Effect, idempotent
from payments.api.objects import PaymentRequestDetail, request_detail
from payments.api.views import PaymentRequestViewSet
from payments.sandbox import Outcome, simulate
from payments.staging import has_sandbox


@described("Simulation", "The outcome to simulate.", {"outcome": "paid"})
class SimulateSerializer(StrictSerializer):
    outcome = OneOfField(
        choices=[outcome.value for outcome in Outcome],
        help_text=(
            "Payments that complete: `paid` in full, `underpaid` in part, `overpaid`, `paid_late` after the expiry. "
            "Payments that stay open until the next outcome: `pending`, `processing`, and `sped_up` with another "
            "hash. Payments that fail: `failed`, `not_bound`, `ambiguous`, `not_verifiable`, `not_found`, "
            "`timed_out`, `replaced`. `reorged` removes the block of a completed payment, and `restored` brings it "
            "back. Swaps: `swap_completed`, `swap_partial`, `swap_failed`, `bridge_refunded`. The request: `expired`. "
            "Refunds: `refunded`, `refund_requires_address`, `refund_claimed` by the customer, `refund_ready`, "
            "`refund_processing`, `refund_completed`, `refund_failed`, `refund_cancelled`."
        ),
    )
    payment_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text=(
            "The open simulated payment to complete or fail. Default: the newest. If none is open, a new payment. "
            "For `reorged` and `restored`, the completed simulated payment. For a new refund, the payment to refund. "
            "Other outcomes reject this field."
        ),
    )
    refund_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text=(
            "The refund to change. Default: the newest refund that is neither completed nor cancelled (for "
            "`refund_claimed`, the newest without an address). If there is none, a new refund. Only for "
            "`refund_claimed`, `refund_processing`, `refund_completed`, `refund_failed` and `refund_cancelled`."
        ),
    )


class SandboxViewSet(PaymentRequestViewSet):
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Outside staging, return 404 before authentication, as for any unknown path."""
        if not has_sandbox():
            raise ApiError(ErrorCode.RESOURCE_MISSING, UNKNOWN_PATH)
        super().initial(request, *args, **kwargs)

    @idempotent
    @operation(
        "sandbox.simulate",
        tag="Sandbox",
        summary="Simulate an outcome",
        description=(
            "Simulates an outcome of a payment request, a payment or a refund. The history and the signed webhooks "
            "are the same as for a real payment or refund, but no node is called and no money moves. This works only "
            "in staging: production returns 404."
        ),
        path={"id": "The payment request's `id`, a UUID."},
        body=SimulateSerializer,
        errors=[
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.PAYMENT_IN_PROGRESS,
            ErrorCode.REFUND_TOO_LARGE,
            ErrorCode.REFUND_NOT_READY,
            ErrorCode.REFUND_NOT_CANCELLABLE,
        ],
        answers={200: OpenApiResponse(PaymentRequestDetail, "The payment request after the outcome.")},
    )
    def simulate(self, request: Request, id: str) -> Effect:
        payment_request = self.find(id)
        serializer = SimulateSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data

        def effect() -> Response:
            simulated = simulate(
                payment_request.pk,
                Outcome(data["outcome"]),
                by=actor_of(request),
                payment_id=data.get("payment_id"),
                refund_id=data.get("refund_id"),
            )
            return Response(request_detail(simulated))

        return effect
