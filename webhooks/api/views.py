"""The API's calls at `/api/webhooks` and `/api/events`.

Responses are never cached, because they may contain the secret.
"""

import msgspec
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import cache_control
from drf_spectacular.utils import OpenApiResponse
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.api.errors import ErrorCode
from config.api.objects import find_object
from config.api.paging import conditions, list_answer, page_of, read_query
from config.api.schema.operations import list_of, operation
from config.api.serializers import demand_no_parameters, required_timestamp
from merchants.keys.authentication import actor_of, merchant_of
from merchants.keys.idempotency import Effect, idempotent
from merchants.keys.permissions import CanManageWebhooks, HasApiKey
from webhooks.api.objects import (
    DeliveryDetail,
    DeliveryObject,
    EventEnvelope,
    EventList,
    Redelivery,
    TestResult,
    WebhookConfiguration,
    delivery_detail,
)
from webhooks.api.serializers import (
    DeliveryListQuery,
    EndpointChangeSerializer,
    EventListQuery,
    RedeliverFailedSerializer,
    TestSerializer,
)
from webhooks.dispatch.redelivery import redeliver, redeliver_failed
from webhooks.dispatch.testing import record_test_event, send_test_event
from webhooks.endpoints.configuration import configure
from webhooks.event_types import EventType
from webhooks.models import Delivery, Endpoint, Event
from webhooks.storage.bodies import bodies_of

_EVENT_FILTERS = {"type": "type", "created_after": "created__gt", "created_before": "created__lt"}
_DELIVERY_FILTERS = {"type": "type", "status": "status"}


@method_decorator(cache_control(no_store=True), name="dispatch")
class _WebhookView(APIView):
    permission_classes = (CanManageWebhooks,)


class ConfigurationView(_WebhookView):
    @operation(
        "webhooks.retrieve",
        tag="Webhooks",
        summary="Retrieve the webhook configuration",
        description=(
            "Returns your endpoint and the secret that signs events. Fields that are not set are null."
        ),
        answers={200: OpenApiResponse(WebhookConfiguration, "The configuration.")},
    )
    def get(self, request: Request) -> Response:
        endpoint = Endpoint.objects.filter(merchant=merchant_of(request)).first()
        return Response(WebhookConfiguration.of(endpoint, timezone.now()))

    @operation(
        "webhooks.update",
        tag="Webhooks",
        summary="Configure webhooks",
        description=(
            "Sets the URL and the types of your events. The first call creates the secret and returns it. "
            "If each request has its own `webhook_url`, you can leave `url` out and send only `enabled_events`."
        ),
        body=EndpointChangeSerializer,
        errors=[ErrorCode.URL_INVALID, ErrorCode.URL_NOT_ALLOWED],
        answers={200: OpenApiResponse(WebhookConfiguration, "The new configuration.")},
    )
    def put(self, request: Request) -> Response:
        body = EndpointChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        endpoint = configure(
            merchant_of(request), body.change(), request=request._request, actor=actor_of(request)
        )
        return Response(WebhookConfiguration.of(endpoint, timezone.now()))


class TestView(_WebhookView):
    @idempotent
    @operation(
        "webhooks.test",
        tag="Webhooks",
        summary="Send a test event",
        description=(
            "Sends one test event immediately and without retries, even if the endpoint is disabled. "
            'Its `data.object` has `"test": true`. The list of deliveries contains it; the list of events '
            "doesn't."
        ),
        body=TestSerializer,
        errors=[ErrorCode.WEBHOOK_NOT_CONFIGURED],
        answers={200: OpenApiResponse(TestResult, "The result.")},
    )
    def post(self, request: Request) -> Effect:
        """Send a test event and return the result. The receiver's response body is left out."""
        body = TestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        type_ = body.validated_data["type"] or EventType.PAYMENT_SUCCEEDED
        sent = send_test_event(merchant_of(request), EventType(type_))
        result = TestResult(
            event_id=sent.event_id,
            delivered=sent.answer.is_success,
            status_code=sent.answer.status_code,
            duration_ms=sent.answer.duration_ms,
            error=sent.answer.error or None,
        )

        def effect() -> Response:
            record_test_event(sent)
            return Response(result)

        return effect


@method_decorator(cache_control(no_store=True), name="dispatch")
class DeliveryViewSet(viewsets.ViewSet):
    """The merchant's deliveries, including those of test events."""

    permission_classes = (CanManageWebhooks,)

    def own(self, request: Request) -> QuerySet[Delivery]:
        deliveries = merchant_of(request).webhook_deliveries
        return deliveries.select_related("merchant__webhook_endpoint").defer("own_body")

    def find(self, request: Request, id: str) -> Delivery:
        """Raises ObjectMissing."""
        return find_object(self.own(request), "webhook delivery", id)

    @operation(
        "webhook_deliveries.list",
        tag="Deliveries",
        summary="List deliveries",
        description="Lists your webhook deliveries, newest first. Deliveries of test events are included.",
        query=DeliveryListQuery,
        answers={200: OpenApiResponse(list_of(DeliveryObject, "WebhookDeliveryList"), "One page.")},
    )
    def list(self, request: Request) -> Response:
        query = read_query(DeliveryListQuery, request)
        own = self.own(request)
        rows = own.filter(**conditions(query, _DELIVERY_FILTERS))
        if event_id := query.get("event_id"):
            # A test event has no row in the table of events, so its id is only in `public_event_id`. Both conditions
            # use an index.
            rows = rows.filter(Q(event=event_id) | Q(event=None, public_event_id=event_id))
        page = page_of(rows, query, cursors=own)
        return list_answer(request, page, [DeliveryObject.of(row) for row in page.rows])

    @operation(
        "webhook_deliveries.retrieve",
        tag="Deliveries",
        summary="Retrieve a delivery",
        description="Returns a delivery with all of its attempts.",
        path={"id": "The delivery's `id`."},
        answers={200: OpenApiResponse(DeliveryDetail, "The delivery.")},
    )
    def retrieve(self, request: Request, id: str) -> Response:
        return Response(delivery_detail(self.find(request, id)))

    @idempotent
    @operation(
        "webhook_deliveries.redeliver",
        tag="Deliveries",
        summary="Send a delivery again",
        description=(
            "Sends a delivery of any status again, with the same body. It gets up to eight attempts, the first "
            "immediately."
        ),
        path={"id": "The delivery's `id`."},
        errors=[ErrorCode.WEBHOOK_NOT_CONFIGURED, ErrorCode.RETRY_LIMIT_REACHED],
        answers={200: OpenApiResponse(DeliveryDetail, "The delivery, `pending` again.")},
    )
    def redeliver(self, request: Request, id: str) -> Effect:
        demand_no_parameters(request)
        delivery = self.find(request, id)

        def effect() -> Response:
            redeliver(delivery, actor_of(request))
            return Response(delivery_detail(self.find(request, id)))

        return effect

    @idempotent
    @operation(
        "webhook_deliveries.redeliver_failed",
        tag="Deliveries",
        summary="Send all failed deliveries again",
        description=(
            "Call this after an outage of your endpoint. The call sends all deliveries again that failed at `since` or "
            "later, except test events. Each delivery gets up to eight attempts. A call resends at most 10,000 "
            "deliveries: repeat it while `count` is 10,000."
        ),
        body=RedeliverFailedSerializer,
        errors=[ErrorCode.WEBHOOK_NOT_CONFIGURED],
        answers={200: OpenApiResponse(Redelivery, "The number of deliveries.")},
    )
    def redeliver_failed(self, request: Request) -> Effect:
        body = RedeliverFailedSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        body_data = body.validated_data

        def effect() -> Response:
            count = redeliver_failed(
                merchant_of(request), body_data["since"], actor_of(request), type_=body_data.get("type")
            )
            return Response(Redelivery(since=required_timestamp(body_data["since"]), count=count))

        return effect


@method_decorator(cache_control(no_store=True), name="dispatch")
class EventViewSet(viewsets.ViewSet):
    """The merchant's events, including those that were never sent."""

    permission_classes = (HasApiKey,)

    @operation(
        "events.list",
        tag="Events",
        summary="List events",
        description="Lists your events, newest first. Events that were not sent are included.",
        query=EventListQuery,
        answers={200: OpenApiResponse(EventList, "One page.")},
    )
    def list(self, request: Request) -> Response:
        """Return the envelopes exactly as they were signed, newest first. Parsing them could change large integers."""
        query = read_query(EventListQuery, request)
        own = merchant_of(request).events.all()
        page = page_of(own.filter(**conditions(query, _EVENT_FILTERS)), query, cursors=own, time="created")
        return list_answer(request, page, (msgspec.Raw(body) for body in bodies_of(page.rows)))

    @operation(
        "events.retrieve",
        tag="Events",
        summary="Retrieve an event",
        description="Returns an event in exactly the bytes that are signed and sent.",
        path={"id": "The event's `id`."},
        answers={200: OpenApiResponse(EventEnvelope, "The event.")},
    )
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        events: QuerySet[Event] = merchant_of(request).events.all()
        event = find_object(events, "event", id)
        return HttpResponse(event.body, content_type="application/json")
