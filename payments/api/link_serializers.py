"""The bodies of the calls about payment links, and of the call that creates a payment request from a link."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils import timezone
from rest_framework import serializers

from chains.amounts import AmountError, parse_amount, read_decimal
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode, Problem
from config.api.objects import find_object
from config.api.paging import ListQuery, TimeInQueryField, TrueOrFalseInQueryField
from config.api.schema.operations import described
from config.api.serializers import (
    StrictSerializer,
    TextField,
    TrueOrFalseField,
    WholeNumberField,
    invalid,
    kind_of,
)
from merchants.models import Merchant
from payments.api import examples
from payments.api.price_problems import Alternatives, error_detail
from payments.api.serializers import AnyJSONField, CreateRequestSerializer
from payments.deposits.recipients import require_no_deposit_address
from payments.links.orders import entered_amount, link_order
from payments.links.services import NewLink, with_catalogue
from payments.models import PaymentLink
from payments.requests.creation import NewRequest
from payments.requests.link_limits import link_inactive, why_closed

MAX_PAYMENTS = 1_000_000
# The payment link sets these fields, so a request from a link can't.
_SET_BY_LINK = ("token_id", "chain_id", "recipient_address", "price", "expires_in")
_OWN = ("external_id", "description", "metadata", "redirect_url", "cancel_url", "webhook_url", "references")


class TimeField(TimeInQueryField):
    """A time in RFC 3339, as a string."""

    def to_internal_value(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise invalid(f"This should be a string with a time; got {kind_of(value)}.")
        return super().to_internal_value(value)


@described("OpenAmount", "The limits of the amount that a customer enters.", examples.OPEN_AMOUNT)
class OpenAmountSerializer(StrictSerializer):
    min = AnyJSONField(help_text="The minimum amount in whole tokens, as a positive decimal string.")
    max = AnyJSONField(
        required=False,
        allow_null=True,
        help_text="The maximum amount in whole tokens. Default: the chain's maximum.",
    )

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise invalid(f"This should be an object with min and max; got {kind_of(data)}.")
        return super().to_internal_value(data)


@described("NewPaymentLink", "The terms of the new link.", examples.NEW_PAYMENT_LINK)
class CreateLinkSerializer(CreateRequestSerializer):
    """The body of POST /api/payment-links."""

    checked_together = ("amount", "price", "open_amount", "token_id", "chain_id", "recipient_address")
    schema_optional: ClassVar[tuple[str, ...]] = ()
    alternatives = Alternatives(
        names=("amount", "price", "open_amount"),
        none="One of amount, price and open_amount is required.",
        several="Send only one of amount, price and open_amount.",
    )

    external_id = cancel_url = expires_in = webhook_url = references = payment_link = None  # type: ignore[assignment]

    name = TextField(max_length=100, help_text="The link's name in your lists. Customers don't see it.")
    open_amount = OpenAmountSerializer(
        required=False,
        allow_null=True,
        help_text="Instead of `amount` or `price`: the customer enters an amount within these limits.",
    )
    max_payments = WholeNumberField(
        min_value=1,
        max_value=MAX_PAYMENTS,
        required=False,
        allow_null=True,
        help_text="The maximum number of payments. Unpaid requests don't count.",
    )
    expires_at = TimeField(
        required=False, allow_null=True, help_text="The time after which the link accepts no payments."
    )

    def validate_expires_at(self, expires_at: Any) -> Any:
        if expires_at is not None and expires_at <= timezone.now():
            raise invalid("This time has passed. Send one in the future.")
        return expires_at

    def recipient_problems(self, chain: Chain, address: str) -> list[Problem]:
        require_no_deposit_address(address)
        return super().recipient_problems(chain, address)

    def validate_together(self, values: dict[str, Any]) -> list[Problem]:
        problems = super().validate_together(values)
        limits = values.get("open_amount")
        if limits is None:
            return problems
        token = values["token"]
        parsed: dict[str, Any] = {}
        for name in ("min", "max"):
            if limits.get(name) is None:
                continue
            try:
                parsed[name] = parse_amount(limits[name], token) if token else read_decimal(limits[name])
            except AmountError as error:
                problems.append(Problem(error.code, str(error), f"open_amount.{name}"))
        if token and "min" in parsed and "max" in parsed and parsed["max"] < parsed["min"]:
            message = "The largest amount is below the smallest. Swap them."
            problems.append(Problem(ErrorCode.PARAMETER_INVALID, message, "open_amount.max"))
        values["open_amount"] = parsed
        return problems

    @classmethod
    def new_link(cls, body: Any, merchant: Merchant) -> NewLink:
        """Validate a body. Raises ValidationError."""
        data = cls.read(body, merchant=merchant)
        limits = data.get("open_amount") or {}
        return NewLink(
            name=data["name"],
            token=data["token"],
            recipient_address=data["recipient_address"],
            amount=data.get("amount"),
            price=data.get("price"),
            min_amount=limits.get("min"),
            max_amount=limits.get("max"),
            description=data.get("description"),
            metadata=data.get("metadata") or {},
            redirect_url=data.get("redirect_url"),
            max_payments=data.get("max_payments"),
            expires_at=data.get("expires_at"),
        )


@described("PaymentLinkUpdate", "The changes of a payment link.", {"is_active": False, "name": "Donations"})
class UpdateLinkSerializer(StrictSerializer):
    """The body of PATCH /api/payment-links/{id}."""

    is_active = TrueOrFalseField(
        required=False,
        help_text="Whether the link accepts payments. Requests that it created don't change.",
    )
    name = TextField(max_length=100, required=False, help_text="The link's new name.")


class LinkListQuery(ListQuery):
    is_active = TrueOrFalseInQueryField(
        required=False, help_text="`true`: only active links. `false`: only inactive ones."
    )


class LinkedRequestSerializer(CreateRequestSerializer):
    """The body of POST /api/payment-requests with a `payment_link`."""

    token_id = chain_id = recipient_address = price = expires_in = None  # type: ignore[assignment]

    def to_internal_value(self, data: Any) -> Any:
        problems: dict[str, Any] = {}
        taken = [name for name in _SET_BY_LINK if data.get(name) is not None]
        message = "The payment link sets this. Leave it out."
        problems = {name: [error_detail(ErrorCode.PARAMETER_INVALID, message)] for name in taken}
        rest = {name: value for name, value in data.items() if name not in _SET_BY_LINK}
        values, invalid_fields = self.read_fields(rest)
        problems |= invalid_fields
        if problems:
            raise serializers.ValidationError(problems)
        return values

    @classmethod
    def order(cls, body: Any, merchant: Merchant) -> NewRequest:
        """Validate a body. Raises ValidationError, ObjectMissing or ApiError (`link_inactive`)."""
        data = cls.read(body, merchant=merchant)
        link = find_link(merchant, data["payment_link"])
        try:
            amount = entered_amount(link, data.get("amount"))
        except AmountError as error:
            raise ApiError(error.code, str(error), "amount") from error
        reason = why_closed(link, timezone.now())
        if reason is not None:
            raise link_inactive(link, reason)
        own = {name: data[name] for name in _OWN if data.get(name) is not None}
        return link_order(link, amount, own)


def find_link(merchant: Merchant, link_id: str) -> PaymentLink:
    """Return the merchant's link. Raises ObjectMissing."""
    return find_object(with_catalogue(merchant.payment_links.all()), "payment link", link_id)


def new_request_order(body: Any, merchant: Merchant) -> NewRequest:
    """Read the body of POST /api/payment-requests, with or without a payment link."""
    is_linked = isinstance(body, Mapping) and body.get("payment_link") is not None
    serializer = LinkedRequestSerializer if is_linked else CreateRequestSerializer
    return serializer.order(body, merchant)
