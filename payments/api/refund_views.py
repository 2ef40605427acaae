"""The merchant's endpoints for refunds."""

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from chains.switches import Feature, require_on
from config.api.errors import ApiError, ErrorCode
from config.api.objects import find_object
from config.api.paging import Page, edge_of, list_answer, page_by, read_query
from config.api.schema.operations import list_of, operation
from config.api.serializers import demand_no_parameters
from merchants.keys.authentication import actor_of, merchant_of
from merchants.keys.idempotency import Effect, idempotent
from merchants.keys.permissions import CanCreateRefunds
from payments.api.refund_objects import RefundObject
from payments.api.refund_serializers import (
    CreateRefundSerializer,
    RefundAddressSerializer,
    SubmitRefundSerializer,
)
from payments.api.serializers import SimulatedListQuery
from payments.api.views import OwnRequestsViewSet
from payments.models import Refund
from payments.refunds.reading import now, with_mark, with_request
from payments.refunds.services import cancel_refund, change_address, create_refund
from payments.refunds.watching import keep_watching
from payments.submission.hashes import sight_for_merchant, submit_for_merchant

_REQUEST = {"id": "The payment request's `id`, a UUID."}
_REFUND = {"id": "The refund's `id`."}
_LIST = list_of(RefundObject, "RefundList")


class RefundViewSet(OwnRequestsViewSet):
    """The merchant's own refunds. Another merchant's refund is a 404."""

    writing_needs = CanCreateRefunds

    def own(self) -> QuerySet[Refund]:
        """Load all relations that the refund's API object reads."""
        return with_request(merchant_of(self.request).refunds.all())

    def find_refund(self, id: str) -> Refund:
        return find_object(self.own(), "refund", id)

    @operation(
        "refunds.list",
        tag="Refunds",
        summary="List refunds",
        description="Lists your refunds, newest first.",
        query=SimulatedListQuery,
        answers={200: OpenApiResponse(_LIST, "One page.")},
    )
    def list(self, request: Request) -> Response:
        return self._page(request, self.own())

    @operation(
        "refunds.list_of_request",
        tag="Refunds",
        summary="List a request's refunds",
        description="Lists the refunds of a payment request, newest first.",
        path=_REQUEST,
        query=SimulatedListQuery,
        answers={200: OpenApiResponse(_LIST, "One page.")},
    )
    def of_request(self, request: Request, id: str) -> Response:
        return self._page(request, self.own().filter(request=self.find(id)))

    def _page(self, request: Request, refunds: QuerySet[Refund]) -> Response:
        query = read_query(SimulatedListQuery, request)
        listed = with_mark(refunds, query["is_simulated"]) if "is_simulated" in query else refunds
        page: Page[Refund] = page_by(
            lambda cut: [*cut.of(listed, "created_at")], query, edge=edge_of(refunds, query)
        )
        return list_answer(request, page, [RefundObject.of(each) for each in now(page.rows)])

    @idempotent
    @operation(
        "refunds.create",
        tag="Refunds",
        summary="Create a refund",
        description=(
            "Creates a refund in the requested token on the requested chain. No money is sent. To send it, sign "
            "the transaction on `refund_url`, or build the transaction with the API and sign it. Without an address, "
            "the refund waits until the customer sets one on `claim_url`. Check the address before you sign, because "
            "every key with `create_refunds` can set it. Cancel an active request before you refund it."
        ),
        path=_REQUEST,
        body=CreateRefundSerializer,
        errors=[
            ErrorCode.AMOUNT_INVALID,
            ErrorCode.AMOUNT_NOT_A_STRING,
            ErrorCode.AMOUNT_TOO_PRECISE,
            ErrorCode.AMOUNT_NOT_POSITIVE,
            ErrorCode.AMOUNT_TOO_LARGE,
            ErrorCode.ADDRESS_INVALID,
            ErrorCode.REFUND_TOO_LARGE,
            ErrorCode.PAYMENT_REQUEST_ACTIVE,
        ],
        answers={201: OpenApiResponse(RefundObject, "The new refund.")},
    )
    def create(self, request: Request, id: str) -> Effect:
        payment_request = self.find(id)
        require_on(Feature.REFUNDS)
        data = CreateRefundSerializer.read(request.data, request=payment_request)

        def effect() -> Response:
            created = create_refund(
                payment_request.pk,
                amount=data.get("amount"),
                recipient_address=data.get("recipient_address"),
                payment_id=data.get("payment_id"),
                reason=data.get("reason"),
                actor=actor_of(request),
            )
            return Response(RefundObject.of(created), status=status.HTTP_201_CREATED)

        return effect

    @operation(
        "refunds.retrieve",
        tag="Refunds",
        summary="Retrieve a refund",
        description=(
            "Returns a refund. To follow changes, use webhooks. For 30 days after this call, the service "
            "searches the chain for the refund's transaction."
        ),
        path=_REFUND,
        answers={200: OpenApiResponse(RefundObject, "The refund.")},
    )
    def retrieve(self, request: Request, id: str) -> Response:  # noqa: ARG002 - the viewset interface
        current = now([self.find_refund(id)])[0]
        if current.standing.status != Refund.Status.COMPLETED:
            keep_watching(current.refund)
        return Response(RefundObject.of(current))

    @idempotent
    @operation(
        "refunds.change_address",
        tag="Refunds",
        summary="Change a refund's address",
        description=(
            "Sets or replaces a refund's address, until the refund's transaction is built. You can also replace an "
            "address that the customer set. The previous address is kept in a new, cancelled refund. If money still "
            "arrives at that address, the cancelled refund is completed, and this refund can't be built any more."
        ),
        path=_REFUND,
        body=RefundAddressSerializer,
        errors=[ErrorCode.ADDRESS_INVALID, ErrorCode.REFUND_NOT_READY, ErrorCode.REFUND_TOO_LARGE],
        answers={200: OpenApiResponse(RefundObject, "The refund, with the new address.")},
    )
    def change_address(self, request: Request, id: str) -> Effect:
        """Set the address of a refund. Setting the same address again succeeds."""
        refund = self.find_refund(id)
        serializer = RefundAddressSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        address = serializer.address_for(refund.request)
        return lambda: Response(RefundObject.of(change_address(refund, address, actor=actor_of(request))))

    @idempotent
    @operation(
        "refunds.submit",
        tag="Refunds",
        summary="Submit a refund's transaction",
        description=(
            "Submits the hash of the refund's transaction, so that the service verifies it immediately. Without this "
            "call, the service finds the transaction by its reference, except for native coin on EVM. You can also "
            "submit the hash for a cancelled refund."
        ),
        path=_REFUND,
        body=SubmitRefundSerializer,
        errors=[
            ErrorCode.TRANSACTION_HASH_INVALID,
            ErrorCode.TRANSACTION_ALREADY_USED,
            ErrorCode.REFUND_NOT_READY,
        ],
        answers={200: OpenApiResponse(RefundObject, "The refund.")},
    )
    def submit(self, request: Request, id: str) -> Effect:
        """Submit the transaction of a refund. Submitting it again succeeds."""
        refund = self.find_refund(id)
        serializer = SubmitRefundSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        transaction_hash = serializer.hash_on(refund.request)
        carrier = refund.carrier
        if carrier is None:
            message = "This refund has no address yet. Set an address and build the transaction first."
            raise ApiError(ErrorCode.REFUND_NOT_READY, message)
        sighting = sight_for_merchant(carrier, refund.request.chain, transaction_hash)

        def effect() -> Response:
            submit_for_merchant(
                carrier,
                chain=refund.request.chain,
                transaction_hash=transaction_hash,
                actor=actor_of(request),
                sighting=sighting,
            )
            return Response(RefundObject.of(now([refund])[0]))

        return effect

    @idempotent
    @operation(
        "refunds.cancel",
        tag="Refunds",
        summary="Cancel a refund",
        description=(
            "Cancels a refund whose transaction was not sent. If it is already cancelled, it is returned unchanged. "
            "If you have already built the refund's transaction, don't sign it any more. If that transaction is sent, "
            "the refund becomes `completed` all the same."
        ),
        path=_REFUND,
        errors=[ErrorCode.REFUND_NOT_CANCELLABLE],
        answers={200: OpenApiResponse(RefundObject, "The refund, cancelled.")},
    )
    def cancel(self, request: Request, id: str) -> Effect:
        """Cancel a refund. Cancelling it again succeeds."""
        demand_no_parameters(request)
        refund = self.find_refund(id)
        return lambda: Response(RefundObject.of(cancel_refund(refund, actor=actor_of(request))))
