"""The bodies and queries of the merchant's endpoints for payment requests and payments."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chains.amounts import AmountError, parse_amount, read_decimal
from chains.api.serializers import AddressField
from chains.currencies import is_currency
from chains.families import AddressError, ChainError, HashError, get_client
from chains.lookup import find_chain, find_token
from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode, Problem
from config.api.paging import ListQuery, NumberInQueryField, TimeInQueryField, TrueOrFalseInQueryField
from config.api.schema.operations import described
from config.api.serializers import (
    OneOfField,
    StrictSerializer,
    TextField,
    TrueOrFalseField,
    UrlField,
    WholeNumberField,
    has_unsafe_characters,
    invalid,
    kind_of,
)
from merchants.currencies import read_price
from merchants.models import Merchant
from merchants.recipients import recipient_problem
from merchants.web_addresses import parse_web_address
from payments.api import examples
from payments.api.price_problems import (
    Alternatives,
    error_detail,
)
from payments.deposits.recipients import recipient_address
from payments.models import PaymentRequest
from payments.requests.creation import NewRequest, Price, default_lifetime
from webhooks.api.serializers import WebhookAddressField

_MAX_METADATA_PAIRS = 50
_MAX_METADATA_KEY = 40
_MAX_METADATA_VALUE = 500


@extend_schema_field({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"})
class AnyJSONField(serializers.Field[Any, Any, Any, Any]):
    """Accept any JSON value. `validate_together` checks it together with other fields."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class WebAddressField(UrlField):
    """An absolute http(s) URL for the customer."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        try:
            return parse_web_address(text, allow_http=settings.ALLOW_HTTP_URLS)
        except ValueError as error:
            raise invalid(str(error), ErrorCode.URL_INVALID) from error


@extend_schema_field(
    {
        "type": "object",
        "additionalProperties": {"type": "string", "maxLength": _MAX_METADATA_VALUE},
        "propertyNames": {"minLength": 1, "maxLength": _MAX_METADATA_KEY},
        "maxProperties": _MAX_METADATA_PAIRS,
    }
)
class MetadataField(serializers.Field[dict[str, str], Any, Any, Any]):
    """Up to 50 pairs of strings, stored unchanged."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Report each invalid pair under its own key."""
        if not isinstance(data, Mapping):
            raise invalid(f"This should be an object of pairs of strings; got {kind_of(data)}.")
        if len(data) > _MAX_METADATA_PAIRS:
            raise invalid(f"This should have at most {_MAX_METADATA_PAIRS} pairs; got {len(data)}.")
        value = TextField(max_length=_MAX_METADATA_VALUE, has_lines=True)
        problems: dict[str, Any] = {}
        for name, item in data.items():
            try:
                _require_metadata_key(name)
                value.to_internal_value(item)
            except serializers.ValidationError as error:
                problems[name[:_MAX_METADATA_KEY]] = error.detail
        if problems:
            raise serializers.ValidationError(problems)
        return dict(data)

    def to_representation(self, value: dict[str, str]) -> dict[str, str]:
        return value


def _require_metadata_key(name: str) -> None:
    if not name or len(name) > _MAX_METADATA_KEY:
        raise invalid(f"A key should have 1 to {_MAX_METADATA_KEY} characters; got {len(name):,}.")
    if has_unsafe_characters(name):
        raise invalid("Control and bidirectional-override characters are not accepted in a key.")


@described("NewPrice", "A price in a currency.", {"currency": "EUR", "amount": "25.00"})
class PriceSerializer(StrictSerializer):
    currency = TextField(
        max_length=3, help_text="The ISO 4217 code of a currency that GET /api/public/currencies lists."
    )
    amount = AnyJSONField(help_text='The price as a positive decimal string, such as "12.50".')

    def to_internal_value(self, data: Any) -> Price:
        if not isinstance(data, Mapping):
            raise invalid(f"This should be an object with currency and amount; got {kind_of(data)}.")
        values = super().to_internal_value(data)
        if not is_currency(values["currency"]):
            message = f"{values['currency']} is not the code of a currency (ISO 4217) that prices can be in."
            raise serializers.ValidationError(
                {"currency": [error_detail(ErrorCode.PARAMETER_INVALID, message)]}
            )
        try:
            return Price(values["currency"], read_price(values["amount"], values["currency"]))
        except AmountError as error:
            raise serializers.ValidationError({"amount": [error_detail(error.code, str(error))]}) from error


@described(
    "NewPaymentRequest", "The requested amount, token, chain and recipient.", examples.NEW_PAYMENT_REQUEST
)
class CreateRequestSerializer(StrictSerializer):
    """The body of POST /api/payment-requests. For a body with a `payment_link`, see
    `payments.api.link_serializers`.

    `context["merchant"]` limits the recipients. `create_request` checks the recipient again under a lock.
    """

    checked_together: ClassVar[tuple[str, ...]] = (
        "amount", "price", "token_id", "chain_id", "recipient_address", "expires_in",
    )  # fmt: skip
    # Optional in the schema, because a body with a `payment_link` has none of these fields.
    schema_optional: ClassVar[tuple[str, ...]] = ("token_id", "chain_id", "recipient_address")
    alternatives: ClassVar[Alternatives] = Alternatives(
        names=("amount", "price"),
        none="Either amount or price is required.",
        several="Send either amount or price, not both.",
    )

    amount = AnyJSONField(
        required=False,
        allow_null=True,
        help_text=(
            'The amount in whole tokens, such as "12.50". The amount must be positive, with at most as many fraction '
            "digits as the token's `decimals`. Required if no other field, such as `price`, sets the amount."
        ),
    )
    price = PriceSerializer(
        required=False,
        allow_null=True,
        help_text=(
            "The price in a currency, instead of `amount`. The service converts it once, at the current rate, and "
            "rounds the amount up. A request with a price lasts 900 seconds at most."
        ),
    )
    token_id = WholeNumberField(help_text="The token's `id` in the catalogue.")
    chain_id = WholeNumberField(help_text="The `id` of the token's chain.")
    recipient_address = AddressField(
        help_text=(
            "The wallet that receives the payment. On EVM, the address is 20 bytes in hex; mixed case must be a valid "
            "checksum. On Solana, it is the wallet's 32 bytes in base58, not a token account. Burn addresses, "
            "precompiles, token contracts, mints, programs and routing providers' contracts are rejected. If the "
            "merchant has allowed recipients, the wallet must be one of them."
        )
    )
    external_id = TextField(
        max_length=255,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Your own reference, such as an order number. Events repeat it as `reference`.",
    )
    redirect_url = WebAddressField(
        required=False,
        allow_null=True,
        help_text=(
            "The https URL that customers return to after completion. The service adds `payment_request_id` and "
            "`status` to the query. Anyone can open the URL: a visit doesn't prove a payment."
        ),
    )
    cancel_url = WebAddressField(
        required=False,
        allow_null=True,
        help_text=(
            "The https URL for customers who cancel. The service adds `payment_request_id` and `status` to the query."
        ),
    )
    description = TextField(
        max_length=500,
        has_lines=True,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Text that the customer sees on the checkout page. Line breaks and tabs are allowed.",
    )
    metadata = MetadataField(
        required=False,
        allow_null=True,
        help_text="Your own key-value pairs: at most 50, keys of up to 40 characters, values of up to 500.",
    )
    expires_in = WholeNumberField(
        min_value=60,
        max_value=2_592_000,
        required=False,
        allow_null=True,
        help_text="The lifetime in seconds. Default: 3600. With a `price`, the default and the maximum are 900.",
    )
    webhook_url = WebhookAddressField(
        required=False,
        allow_null=True,
        help_text="The URL that gets this request's events instead of your endpoint. Your secret signs these events.",
    )
    payment_link = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text=(
            "The `id` of a payment link. The link sets `token_id`, `chain_id`, `recipient_address`, `price` and "
            "`expires_in`: leave these out. For a link with an open amount, send the customer's amount as `amount`."
        ),
    )
    references = TrueOrFalseField(
        required=False,
        allow_null=True,
        help_text=(
            "Whether transactions contain a payment reference. Default: the merchant's setting. Send false if the "
            "recipient credits only plain transfers, as some exchanges' deposit addresses do."
        ),
    )

    def to_internal_value(self, data: Any) -> Any:
        """Validate each field, then all fields together. Report every problem at once."""
        values, problems = self.read_fields(data)
        sent = self.alternatives.sent(data)
        for problem in self.alternatives.problems(sent, values.get("expires_in")):
            problems.setdefault(str(problem.param), [error_detail(problem.code, problem.message)])
        for problem in self.validate_together(values):
            problems[str(problem.param)] = [error_detail(problem.code, problem.message)]
        ordered = {name: problems[name] for name in [*self.fields, *problems] if name in problems}
        if len(sent) > 1:
            ordered = self.alternatives.with_several_first(ordered, sent)
        if ordered:
            raise serializers.ValidationError(ordered)
        return values

    def read_fields(self, data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the valid fields and the problems, by field.

        If any field is invalid, return only those valid fields that are in `checked_together`.
        """
        try:
            return super().to_internal_value(data), {}
        except serializers.ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            problems = dict(error.detail)
        valid = {
            name: self.fields[name].run_validation(data[name])
            for name in self.checked_together
            if name not in problems and name in data
        }
        return valid, problems

    def validate_together(self, values: dict[str, Any]) -> list[Problem]:
        problems: list[Problem] = []
        chain = _active_chain(values["chain_id"], problems) if "chain_id" in values else None
        token = _active_token(values["token_id"], chain, problems) if "token_id" in values else None
        if values.get("amount") is not None:
            try:
                values["amount"] = (
                    parse_amount(values["amount"], token) if token else read_decimal(values["amount"])
                )
            except AmountError as error:
                problems.append(Problem(error.code, str(error), "amount"))
        if chain is not None and "recipient_address" in values:
            try:
                values["recipient_address"] = recipient_address(chain, values["recipient_address"])
                problems += self.recipient_problems(chain, values["recipient_address"])
            except AddressError as error:
                problems.append(Problem(ErrorCode.ADDRESS_INVALID, str(error), "recipient_address"))
        values["token"] = token
        return problems

    def recipient_problems(self, chain: Chain, address: str) -> list[Problem]:
        """Return a problem if the merchant forbids this recipient. Raises AddressError if the chain rejects it."""
        merchant: Merchant = self.context["merchant"]
        problem = recipient_problem(merchant, chain.chain_type, address)
        if problem is not None:
            return [problem]
        require_payable_recipient(chain, address)
        return []

    @classmethod
    def order(cls, body: Any, merchant: Merchant) -> NewRequest:
        """Validate a body. If it has a price, the amount is 0 until the price is converted. Raises ValidationError."""
        data = cls.read(body, merchant=merchant)
        price = data.get("price")
        seconds = data.get("expires_in")
        return NewRequest(
            token=data["token"],
            amount=data.get("amount") or 0,
            recipient_address=data["recipient_address"],
            lifetime=timedelta(seconds=seconds) if seconds else default_lifetime(price),
            price=price,
            references=data.get("references"),
            external_id=data.get("external_id"),
            description=data.get("description"),
            metadata=data.get("metadata") or {},
            redirect_url=data.get("redirect_url"),
            cancel_url=data.get("cancel_url"),
            webhook_url=data.get("webhook_url"),
        )


class SimulatedListQuery(ListQuery):
    is_simulated = TrueOrFalseInQueryField(
        required=False, help_text="`true`: only simulated objects. `false`: only real ones."
    )


class RequestListQuery(SimulatedListQuery):
    status = OneOfField(
        choices=PaymentRequest.Status.choices, required=False, help_text="Only requests with this status."
    )
    external_id = TextField(
        max_length=255, required=False, allow_blank=True, help_text="Only requests with this `external_id`."
    )
    token_id = NumberInQueryField(required=False, help_text="Only requests for this token.")
    chain_id = NumberInQueryField(required=False, help_text="Only requests on this chain.")
    payment_link = TextField(max_length=64, required=False, help_text="Only requests of this payment link.")
    created_after = TimeInQueryField(required=False, help_text="Only requests created after this time.")
    created_before = TimeInQueryField(required=False, help_text="Only requests created before this time.")

    def validate_token_id(self, token_id: int) -> int:
        """Accept inactive tokens too: old requests have them."""
        if find_token(token_id, active_only=False) is None:
            raise invalid(f"There is no token {token_id}.", ErrorCode.TOKEN_UNKNOWN)
        return token_id

    def validate_chain_id(self, chain_id: int) -> int:
        if find_chain(chain_id, active_only=False) is None:
            raise invalid(f"There is no chain {chain_id}.", ErrorCode.CHAIN_UNKNOWN)
        return chain_id


@described(
    "Acceptance",
    "The reason for accepting a payment.",
    {"reason": "The customer showed us the transaction in their wallet."},
)
class AcceptPaymentSerializer(StrictSerializer):
    reason = TextField(max_length=400, help_text="Your reason, which is stored in the history.")


@described(
    "TransactionSubmission",
    "A transaction that pays a request.",
    {"transaction_hash": examples.PAYMENT["transaction_hash"], "chain_id": examples.PAYMENT["chain_id"]},
)
class SubmitTransactionSerializer(StrictSerializer):
    """The body of the merchant's POST …/payments."""

    transaction_hash = TextField(
        max_length=200,
        code=ErrorCode.TRANSACTION_HASH_INVALID,
        help_text="The hash of the customer's transaction.",
    )
    chain_id = WholeNumberField(help_text="The chain of the transaction.")

    def transaction(self) -> tuple[Chain, str]:
        """Return the chain and the canonical hash. Raises ApiError."""
        chain_id = self.validated_data["chain_id"]
        # The chain may be inactive: its earlier transactions can still confirm.
        chain = find_chain(chain_id, active_only=False)
        if chain is None:
            raise ApiError(ErrorCode.CHAIN_UNKNOWN, f"There is no chain {chain_id} here.", "chain_id")
        try:
            return chain, chain.family.normalise_transaction_hash(self.validated_data["transaction_hash"])
        except HashError as error:
            raise ApiError(ErrorCode.TRANSACTION_HASH_INVALID, str(error), "transaction_hash") from error


def require_payable_recipient(chain: Chain, address: str) -> None:
    """Raise AddressError if the chain rejects the recipient.

    If no node responds, accept the address: it is checked again when the transaction is built.
    """
    try:
        problem = get_client(chain).recipient_problem(address)
    except ChainError:
        return
    if problem is not None:
        raise AddressError(problem)


def _active_chain(chain_id: int, problems: list[Problem]) -> Chain | None:
    chain = find_chain(chain_id)
    if chain is None:
        message = f"There is no active chain {chain_id}; GET /api/public/chains lists them."
        problems.append(Problem(ErrorCode.CHAIN_UNKNOWN, message, "chain_id"))
    return chain


def _active_token(token_id: int, chain: Chain | None, problems: list[Problem]) -> Token | None:
    token = find_token(token_id)
    if token is None:
        message = f"There is no active token {token_id}; GET /api/public/chains/CHAIN_ID/tokens lists them."
        problems.append(Problem(ErrorCode.TOKEN_UNKNOWN, message, "token_id"))
    elif chain is not None and token.chain_id != chain.pk:
        message = f"{token.symbol} ({token_id}) is on {token.chain.name}, not on {chain.name}."
        problems.append(Problem(ErrorCode.TOKEN_NOT_ON_CHAIN, message, "token_id"))
    return token
