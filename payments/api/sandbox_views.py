"""The sandbox's one endpoint: what a payment can come to, on demand. Production has none, and answers 404."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import UNKNOWN_PATH, ApiError, ErrorCode
from config.api.schema.operations import described, operation
from config.api.serializers import OneOfField, StrictSerializer
from merchants.keys.authentication import actor_of
from merchants.keys.idempotency import Effect, idempotent
from payments.api.objects import PaymentRequestDetail, request_detail
from payments.api.views import PaymentRequestViewSet
from payments.sandbox import Outcome, is_open, simulate


@described("Simulation", "What is to happen to the payment request.", {"outcome": "paid"})
class SimulateSerializer(StrictSerializer):
    """The body of POST …/simulate: what is to happen to the request."""

    outcome = OneOfField(
        choices=[outcome.value for outcome in Outcome],
        help_text=(
            "`paid`: in full. `underpaid`: a part. `overpaid`: more than asked for. `paid_late`: expired, then paid. "
            "`failed`: a payment that fails. `expired`: no payment came. `reorged`: paid, then its block vanishes. "
            "`bridge_refunded`: a swap whose money went back. `refunded`: paid, and then all of it is refunded."
        ),
    )


class SandboxViewSet(PaymentRequestViewSet):
    """A merchant's own payment requests, paid and failed without a chain."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer 404 outside staging before anything else is said, as any unknown path does."""
        if not is_open():
            raise ApiError(ErrorCode.RESOURCE_MISSING, UNKNOWN_PATH)
        super().initial(request, *args, **kwargs)

    @idempotent
    @operation(
        "sandbox.simulate",
        tag="Sandbox",
        summary="Simulate an outcome",
        description=(
            "Has an outcome happen to a payment request at once, with the history and the signed webhooks of real "
            "life and without a chain, so that each branch of an integration can be tried. In staging alone."
        ),
        path={"id": "The payment request's `id`, a UUID."},
        body=SimulateSerializer,
        errors=[
            ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,
            ErrorCode.PAYMENT_IN_PROGRESS,
            ErrorCode.REFUND_TOO_LARGE,
        ],
        answers={200: OpenApiResponse(PaymentRequestDetail, "The payment request after it.")},
    )
    def simulate(self, request: Request, id: str) -> Effect:
        """Have an outcome happen to a payment request, with the events of real life and without a chain (staging)."""
        found = self.find(id)
        serializer = SimulateSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        outcome = Outcome(serializer.validated_data["outcome"])

        def effect() -> Response:
            simulated = simulate(found.pk, outcome, by=actor_of(request))
            return Response(request_detail(simulated))

        return effect
