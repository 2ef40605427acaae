"""`/api/webhooks` and its test. An answer may hold the secret: no cache keeps any."""

from typing import Any

from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import cache_control
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from merchants.authentication import merchant_of
from merchants.idempotency import Effect, keyed_post
from merchants.permissions import CanManageWebhooks
from webhooks.endpoints import configure
from webhooks.models import Endpoint, EventType
from webhooks.samples import record_sample, send_sample
from webhooks.serializers import EndpointChangeSerializer, TestSerializer, configuration


@method_decorator(cache_control(no_store=True), name="dispatch")
class _WebhookView(APIView):
    permission_classes = (CanManageWebhooks,)


class ConfigurationView(_WebhookView):
    """The merchant's endpoint."""

    def get(self, request: Request) -> Response:
        """Answer the configuration, secret included; all null before there is one."""
        endpoint = Endpoint.objects.filter(merchant=merchant_of(request)).first()
        return Response(configuration(endpoint, timezone.now()))

    def put(self, request: Request) -> Response:
        """Change the endpoint and answer it as it is now."""
        body = EndpointChangeSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        endpoint = configure(merchant_of(request), body.change())
        return Response(configuration(endpoint, timezone.now()))


class TestView(_WebhookView):
    """A sample event, sent at once."""

    @keyed_post
    def post(self, request: Request) -> Effect:
        """Send a sample and answer how it went; what the receiver said beyond its status is not repeated."""
        body = TestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        type_ = body.validated_data["type"] or EventType.PAYMENT_SUCCEEDED
        sent = send_sample(merchant_of(request), EventType(type_))
        answer: dict[str, Any] = {
            "event_id": sent.event_id,
            "delivered": sent.answer.is_success,
            "status_code": sent.answer.status_code,
            "duration_ms": sent.answer.duration_ms,
            "error": sent.answer.error or None,
        }

        def effect() -> Response:
            record_sample(sent)
            return Response(answer)

        return effect
