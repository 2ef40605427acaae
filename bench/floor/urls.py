"""Bare views. Each view executes the one SQL statement that every implementation needs, and returns as much JSON as the
API.

The rows are payment requests. `get` and `list` read them by one query without joins; `create` inserts one.
"""

import json
import secrets
from datetime import timedelta
from typing import Any

from django.urls import path
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from payments.api.examples import PAYMENT_REQUEST, PAYMENT_REQUEST_DETAIL
from payments.models import PaymentRequest

_FIELDS = (
    "id",
    "status",
    "shortcode",
    "amount",
    "recipient_address",
    "external_id",
    "created_at",
    "expires_at",
)


class Nothing(APIView):
    """A view that executes no SQL statement."""

    def get(self, request: Request) -> Response:  # noqa: ARG002 - the view interface
        """Return the example object."""
        return Response(PAYMENT_REQUEST_DETAIL)


class One(APIView):
    def get(self, request: Request, id: str) -> Response:  # noqa: ARG002 - the view interface
        """Return the example object with the row's values."""
        row = PaymentRequest.objects.get(pk=id)
        return Response({**PAYMENT_REQUEST_DETAIL, "id": row.pk, "status": row.status})


class Many(APIView):
    """Twenty rows of one merchant, newest first."""

    def get(self, request: Request, merchant: str) -> Response:  # noqa: ARG002 - the view interface
        """Return twenty example objects."""
        rows = PaymentRequest.objects.filter(merchant_id=merchant).order_by("-created_at", "-id")[:20]
        return Response({"data": [{**PAYMENT_REQUEST, "id": row.pk, "status": row.status} for row in rows]})


class New(APIView):
    def post(self, request: Request, merchant: str) -> Response:
        """Insert a row and return the example object."""
        data: Any = request.data
        now = timezone.now()
        row = PaymentRequest.objects.create(
            merchant_id=merchant,
            shortcode=secrets.token_hex(6),
            token_id=data["token_id"],
            chain_id=data["chain_id"],
            amount=1,
            recipient_address=data["recipient_address"],
            external_id=data["external_id"],
            metadata=json.loads("{}"),
            created_at=now,
            expires_at=now + timedelta(hours=1),
            expiry_check_at=now + timedelta(hours=1),
        )
        return Response({**PAYMENT_REQUEST, "id": row.pk}, status=201)


urlpatterns = [
    path("nothing", Nothing.as_view()),
    path("one/<uuid:id>", One.as_view()),
    path("many/<uuid:merchant>", Many.as_view()),
    path("new/<uuid:merchant>", New.as_view()),
]
