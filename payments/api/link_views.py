"""The merchant's endpoints for payment links."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from chains.api.objects import AmountObject, TokenObject
from chains.switches import require_offered
from config.api.answers import Answer, Time, doc
from config.api.errors import ErrorCode
from config.api.paging import conditions, list_answer, page_of, read_query
from config.api.schema.operations import described, list_of, operation
from config.api.serializers import required_timestamp, timestamp
from merchants.keys.authentication import actor_of, merchant_of
from merchants.keys.idempotency import Effect, idempotent
from payments.api import examples
from payments.api.currencies import PriceObject
from payments.api.link_serializers import (
    CreateLinkSerializer,
    LinkListQuery,
    UpdateLinkSerializer,
    find_link,
)
from payments.api.views import OwnRequestsViewSet
from payments.links.services import change_link, create_link, require_convertible, with_catalogue
from payments.models import PaymentLink
from payments.requests.link_limits import payments_counts

_LINK = {"id": "The payment link's `id`."}


@described(
    "OpenAmountLimits", "The limits of the amount that a customer enters.", examples.OPEN_AMOUNT_LIMITS
)
class OpenAmountObject(Answer, kw_only=True):
    min: Annotated[AmountObject, doc("The minimum amount.")]
    max: Annotated[AmountObject | None, doc("The maximum amount; null if there is none.")]

    @classmethod
    def of(cls, link: PaymentLink) -> "OpenAmountObject | None":
        if link.min_amount is None:
            return None
        largest, decimals = link.max_amount, link.token.decimals
        return cls(
            min=AmountObject.of(link.min_amount, decimals),
            max=None if largest is None else AmountObject.of(largest, decimals),
        )


@described(
    "PaymentLink",
    "A page on which each customer gets a payment request of their own.",
    examples.PAYMENT_LINK,
)
class PaymentLinkObject(Answer, kw_only=True):
    id: Annotated[str, doc("`pl_` and 24 characters.")]
    object: Annotated[Literal["payment_link"], doc("Always `payment_link`.")] = "payment_link"
    code: Annotated[str, doc("The 12 characters in `url`.")]
    url: Annotated[str, doc("The page's URL. Anyone who knows it can pay.")]
    name: Annotated[str, doc("The link's name in your lists. Customers don't see it.")]
    is_active: Annotated[bool, doc("Whether the link accepts payments.")]
    token: Annotated[TokenObject, doc("The requested token.")]
    chain_id: Annotated[int, doc("The requested chain.")]
    recipient_address: Annotated[
        str, doc("The wallet that receives the payment, in its chain's canonical form.")
    ]
    amount: Annotated[
        AmountObject | None, doc("The requested amount; null if the link has a price or an open amount.")
    ]
    price: Annotated[
        PriceObject | None,
        doc("The requested price, converted for each customer at the current rate; null if there is none."),
    ]
    open_amount: Annotated[
        OpenAmountObject | None,
        doc("The limits of the amount that the customer enters; null if the link sets the amount."),
    ]
    description: Annotated[str | None, doc("The text that customers see; null if you sent none.")]
    metadata: Annotated[dict[str, str], doc("Your own key-value pairs, copied to each request.")]
    redirect_url: Annotated[
        str | None, doc("The URL for customers once their request is completed; null if you sent none.")
    ]
    max_payments: Annotated[int | None, doc("The maximum number of payments; null if there is none.")]
    expires_at: Annotated[
        Time | None, doc("The time after which the link accepts no payments; null if there is none.")
    ]
    requests_count: Annotated[int, doc("The number of payment requests that the link created.")]
    payments_count: Annotated[
        int,
        doc(
            "The number of the link's payment requests that are completed or partly paid. It can exceed "
            "`max_payments`, because customers can still pay requests that are open when the maximum is reached."
        ),
    ]
    created_at: Annotated[Time, doc("The time of creation.")]


def link_objects(links: Sequence[PaymentLink]) -> list[PaymentLinkObject]:
    """Return the links as API objects. One query counts their payments."""
    counts = payments_counts(links)
    return [_object(link, counts[link.pk]) for link in links]


def _object(link: PaymentLink, payments_count: int) -> PaymentLinkObject:
    return PaymentLinkObject(
        id=link.id,
        code=link.code,
        url=link.url,
        name=link.name,
        is_active=link.is_active,
        token=TokenObject.of(link.token),
        chain_id=link.chain_id,
        recipient_address=link.recipient_address,
        amount=None if link.amount is None else AmountObject.of(link.amount, link.token.decimals),
        price=link.price and PriceObject(**link.price),
        open_amount=OpenAmountObject.of(link),
        description=link.description,
        metadata=link.metadata,
        redirect_url=link.redirect_url,
        max_payments=link.max_payments,
        expires_at=timestamp(link.expires_at),
        requests_count=link.requests_count,
        payments_count=payments_count,
        created_at=required_timestamp(link.created_at),
    )


class PaymentLinkViewSet(OwnRequestsViewSet):
    """The merchant's own payment links. Another merchant's link is a 404."""

    def own(self) -> QuerySet[PaymentLink]:
        return with_catalogue(merchant_of(self.request).payment_links.all())

    @operation(
        "payment_links.list",
        tag="Payment links",
        summary="List payment links",
        description="Lists your payment links, newest first.",
        query=LinkListQuery,
        answers={200: OpenApiResponse(list_of(PaymentLinkObject, "PaymentLinkList"), "One page.")},
    )
    def list(self, request: Request) -> Response:
        query = read_query(LinkListQuery, request)
        listed = self.own().filter(**conditions(query, {"is_active": "is_active"}))
        page = page_of(listed, query, cursors=self.own())
        return list_answer(request, page, link_objects(page.rows))

    @idempotent
    @operation(
        "payment_links.create",
        tag="Payment links",
        summary="Create a payment link",
        description=(
            "Creates a page on which any number of customers can pay an amount, a price, or an amount that the "
            "customer enters. Each customer who clicks to pay gets a payment request, which expires after an hour, or "
            "after 15 minutes if it has a price. Opening the page creates nothing."
        ),
        body=CreateLinkSerializer,
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
            ErrorCode.RATE_UNAVAILABLE,
        ],
        answers={201: OpenApiResponse(PaymentLinkObject, "The new payment link.")},
    )
    def create(self, request: Request) -> Effect:
        merchant = merchant_of(request)
        new = CreateLinkSerializer.new_link(request.data, merchant)
        require_offered(new.token)
        require_convertible(new)

        def effect() -> Response:
            created = create_link(merchant, new, actor=actor_of(request))
            return Response(_object(created, 0), status=status.HTTP_201_CREATED)

        return effect

    @operation(
        "payment_links.retrieve",
        tag="Payment links",
        summary="Retrieve a payment link",
        description="Returns a payment link, including the counts of its requests and payments.",
        path=_LINK,
        answers={200: OpenApiResponse(PaymentLinkObject, "The payment link.")},
    )
    def retrieve(self, request: Request, id: str) -> Response:
        return Response(link_objects([find_link(merchant_of(request), id)])[0])

    @operation(
        "payment_links.update",
        tag="Payment links",
        summary="Update a payment link",
        description=(
            "Renames a payment link, or switches it on or off. To change anything else, create another "
            "link. Requests that the link created can still be paid."
        ),
        path=_LINK,
        body=UpdateLinkSerializer,
        answers={200: OpenApiResponse(PaymentLinkObject, "The payment link.")},
    )
    def update(self, request: Request, id: str) -> Response:
        link = find_link(merchant_of(request), id)
        changes: dict[str, Any] = UpdateLinkSerializer.read(request.data)
        return Response(link_objects([change_link(link, **changes, actor=actor_of(request))])[0])
