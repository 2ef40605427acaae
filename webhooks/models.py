"""Endpoints, events, deliveries and attempts."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from merchants.identifiers import prefixed_id
from merchants.models import Merchant
from webhooks.event_types import DEFAULT_EVENT_TYPES, EventType


class Endpoint(models.Model):
    """A merchant's webhook URL and signing secrets. The secrets are kept when the URL is removed.

    Secrets are stored encrypted (see `secrets_at_rest`). `older_secrets` has entries only if the secret was rotated
    more than once in 24 hours. Each entry is `{"secret", "expires_at"}`. If `enabled_events` is null, the three default
    types are sent. All attempts since `failing_since` have failed, and `warned_at` is the time of the e-mail about
    these failures.
    """

    merchant = models.OneToOneField(Merchant, on_delete=models.PROTECT, related_name="webhook_endpoint")
    url = models.CharField(max_length=2048, null=True, editable=False)  # noqa: DJ001 - null is "no endpoint"
    secret_encrypted = models.BinaryField(editable=False)
    previous_secret_encrypted = models.BinaryField(null=True, editable=False)
    previous_secret_expires_at = models.DateTimeField(null=True, editable=False)
    is_enabled = models.BooleanField("enabled", default=True)
    enabled_events = ArrayField(
        models.CharField(max_length=64, choices=EventType.choices), null=True, blank=True
    )
    disabled_reason = models.CharField(max_length=255, null=True, editable=False)  # noqa: DJ001 - null in the API
    failing_since = models.DateTimeField(null=True, editable=False)
    warned_at = models.DateTimeField(null=True, editable=False)
    older_secrets = models.JSONField(default=list, db_default=[], editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(previous_secret_encrypted__isnull=True, previous_secret_expires_at__isnull=True)
                | Q(previous_secret_encrypted__isnull=False, previous_secret_expires_at__isnull=False),
                name="endpoint_previous_secret_expires",
            ),
        ]

    def __str__(self) -> str:
        return self.url or "no URL"

    @property
    def event_types(self) -> list[str]:
        return [*DEFAULT_EVENT_TYPES] if self.enabled_events is None else self.enabled_events

    @property
    def is_reachable(self) -> bool:
        """Whether new events are delivered, and pending deliveries are sent."""
        return self.is_enabled and self.url is not None


def _event_id() -> str:
    return prefixed_id("evt_")


def _delivery_id() -> str:
    return prefixed_id("del_")


class Event(models.Model):
    """One event. `body` is the event object, encoded once and sent byte for byte; `save` stores it as an `EventBody`.

    There is only one event for each merchant, type and `dedupe_key`. Events from before the table `EventBody` existed
    have their body in `row_body`.
    """

    id = models.CharField(primary_key=True, max_length=28, default=_event_id, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="events", db_index=False)
    type = models.CharField(max_length=64, choices=EventType.choices)
    created = models.DateTimeField()
    dedupe_key = models.CharField("occurrence", max_length=200)
    row_body = models.BinaryField(null=True, editable=False, db_column="body")
    _body: bytes | None = None

    class Meta:
        ordering = ("-created", "-id")
        constraints = [
            models.UniqueConstraint(fields=("merchant", "type", "dedupe_key"), name="event_is_made_once"),
        ]
        indexes = [
            models.Index(F("merchant"), F("created").desc(), F("id").desc(), name="event_newest_first"),
            models.Index(F("created").desc(), F("id").desc(), name="event_newest_of_all"),
            models.Index(
                F("merchant"), F("type"), F("created").desc(), F("id").desc(), name="event_newest_of_type"
            ),
            # For searches by prefix (LIKE 'pay_…%'). A key starts with the id of the event's object.
            models.Index(fields=("dedupe_key",), opclasses=("varchar_pattern_ops",), name="event_tells_of"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    def save(self, *args: Any, **options: Any) -> None:
        """Store the event and, if it is new, its body."""
        is_new = self._state.adding
        super().save(*args, **options)
        if is_new and self._body is not None:
            EventBody.objects.create(event_id=self.pk, created=self.created, body=self._body)

    @property
    def body(self) -> bytes:
        """The bytes of the event object.

        They are read from the database at the first use. To read the bodies of many events, use
        `webhooks.storage.bodies`.
        """
        if self._body is None:
            if self.row_body is not None:
                self._body = bytes(self.row_body)
            else:
                stored = EventBody.objects.filter(event_id=self.pk, created=self.created)
                self._body = bytes(stored.values_list("body", flat=True).get())
        return self._body

    @body.setter
    def body(self, body: bytes) -> None:
        self._body = body


class EventBody(models.Model):
    """The body of an event. The table has weekly partitions by the event's time (`webhooks.storage.partitions`)."""

    pk = models.CompositePrimaryKey("event_id", "created")
    event_id = models.CharField(max_length=28)
    created = models.DateTimeField()
    body = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.event_id


class Delivery(models.Model):
    """The delivery of one body to one URL. The delivery is retried until an attempt succeeds or the last one fails.

    `due_at` is the time of the next attempt. A worker holds the row until `lease_until` under its `claim_id`. A test
    event has no `event` row, and its body is in `own_body`. `url_override` is a payment request's own webhook URL.
    If it is empty, the delivery goes to the endpoint's current URL. `attempts` counts all attempts. `earlier_attempts`
    counts the attempts before the current series of eight (see `redelivery`). `is_retry` is True if an attempt of the
    current series has failed. Leasing a delivery doesn't change it, because it is in indexes.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"

    id = models.CharField(primary_key=True, max_length=28, default=_delivery_id, editable=False)
    merchant = models.ForeignKey(
        Merchant, on_delete=models.PROTECT, related_name="webhook_deliveries", db_index=False
    )
    event = models.ForeignKey(Event, on_delete=models.CASCADE, null=True, related_name="deliveries")
    public_event_id = models.CharField("event ID", max_length=28)
    type = models.CharField(max_length=64, choices=EventType.choices)
    url_override = models.CharField(max_length=2048, blank=True, default="")
    own_body = models.BinaryField(null=True)
    is_test = models.BooleanField(default=False)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    earlier_attempts = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    is_retry = models.BooleanField(default=False, db_default=False, editable=False)
    due_at = models.DateTimeField(null=True)
    claim_id = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)
    redelivered_at = models.DateTimeField(null=True, editable=False)
    redelivered_by = models.CharField(max_length=100, blank=True, default="", db_default="", editable=False)

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ("-created_at", "-id")
        constraints = [
            models.CheckConstraint(
                condition=Q(status="pending", due_at__isnull=False, finished_at__isnull=True)
                | Q(status__in=("delivered", "failed"), due_at__isnull=True, finished_at__isnull=False),
                name="delivery_is_due_while_pending",
            ),
            models.CheckConstraint(
                condition=Q(event__isnull=False, own_body__isnull=True)
                | Q(event__isnull=True, own_body__isnull=False),
                name="delivery_has_one_body",
            ),
            models.CheckConstraint(
                condition=Q(claim_id__isnull=True, lease_until__isnull=True)
                | Q(claim_id__isnull=False, lease_until__isnull=False),
                name="delivery_claim_has_a_lease",
            ),
        ]
        indexes = [
            models.Index(F("merchant"), F("created_at").desc(), F("id").desc(), name="delivery_newest_first"),
            models.Index(
                fields=("merchant", "due_at", "id"),
                condition=Q(status="pending"),
                name="delivery_due_by_merchant",
            ),
            models.Index(
                fields=("merchant", "is_retry", "due_at", "id"),
                condition=Q(status="pending", url_override=""),
                name="delivery_due_at_endpoint",
            ),
            models.Index(
                fields=("merchant", "is_retry", "due_at", "id"),
                condition=Q(status="pending") & ~Q(url_override=""),
                name="delivery_due_at_own_urls",
            ),
            models.Index(
                fields=("public_event_id",), condition=Q(event__isnull=True), name="delivery_of_test_event"
            ),
            models.Index(F("created_at").desc(), F("id").desc(), name="delivery_newest_of_all"),
            models.Index(
                F("merchant"),
                F("type"),
                F("created_at").desc(),
                F("id").desc(),
                name="delivery_newest_of_type",
            ),
            models.Index(
                F("merchant"),
                F("status"),
                F("created_at").desc(),
                F("id").desc(),
                name="delivery_newest_of_status",
            ),
            models.Index(
                fields=("finished_at",), condition=Q(finished_at__isnull=False), name="delivery_ended"
            ),
            models.Index(fields=("finished_at",), condition=Q(status="failed"), name="delivery_given_up"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    @property
    def body(self) -> bytes:
        return self.event.body if self.event is not None else bytes(self.own_body or b"")


class Attempt(models.Model):
    """One attempt.

    The row is stored when the attempt starts, and completed when it ends. So if a worker dies during an attempt, the
    attempt is still listed. The table has weekly partitions by `started_at` (`webhooks.storage.partitions`). There is
    no foreign key in the database, because an attempt may outlive its delivery. The attempts of a delivery have unique
    numbers, because a worker locks the delivery before it numbers an attempt.
    """

    pk = models.CompositePrimaryKey("delivery_id", "number", "started_at")
    delivery = models.ForeignKey(Delivery, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False)
    number = models.PositiveSmallIntegerField()
    url = models.CharField(max_length=2048)
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField(null=True)
    status_code = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=255, blank=True, default="")
    response_excerpt = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("number",)

    def __str__(self) -> str:
        return f"attempt {self.number}"
