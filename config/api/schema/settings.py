"""Settings for drf-spectacular: titles, tags, names of enumerations."""

from pathlib import Path
from typing import Any

_INTRODUCTION = Path(__file__).with_name("introduction.md")

_TAGS = {
    "Payment requests": "Requests for an amount of one token, on one chain, to one wallet.",
    "Payments": "The transactions submitted or found for a payment request, and their verification.",
    "Refunds": (
        "Money that you send back to customers. The service builds and verifies the transaction; you sign it."
    ),
    "Payment links": (
        "Pages on which any number of customers can pay. Each customer gets a payment request."
    ),
    "Webhooks": "The endpoint for events, its secret, and test events.",
    "Webhook events": "The calls that your endpoint receives.",
    "Deliveries": "The deliveries of events, with all of their attempts. Kept for 30 days.",
    "Events": "Your events, including those that were not sent. Kept for 30 days.",
    "Catalogue": "The chains and tokens that you can request, and the currencies of prices. Public.",
    "Checkout": (
        "The calls of the checkout page. You need them only to build your own checkout. They are public: "
        "the unguessable id of a payment request gives access to it."
    ),
    "Sandbox": "Simulated outcomes of payments and refunds. Only on staging; production returns 404.",
}


def spectacular_settings(base_url: str, environment: str) -> dict[str, Any]:
    return {
        "OAS_VERSION": "3.1.0",
        "TITLE": "Quittance API",
        "VERSION": "1.0.0",
        "DESCRIPTION": _INTRODUCTION.read_text(encoding="utf-8"),
        "SERVERS": [{"url": base_url, "description": environment.capitalize()}],
        "TAGS": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "SCHEMA_PATH_PREFIX": "/api",
        "ENABLE_DJANGO_DEPLOY_CHECK": False,  # `make lint` validates the document
        "SORT_OPERATION_PARAMETERS": False,
        "DISABLE_DOCSTRING_DESCRIPTIONS": True,
        "ENFORCE_NON_BLANK_FIELDS": True,
        "GENERIC_ADDITIONAL_PROPERTIES": None,
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
        "ENUM_SUFFIX": "",
        "ENUM_NAME_OVERRIDES": {
            "PaymentRequestStatus": "payments.models.PaymentRequest.Status",
            "PaymentStatus": "payments.models.Payment.Status",
            "PaymentType": "payments.models.Payment.Type",
            "BoundBy": "payments.models.Payment.BoundBy",
            "RefundStatus": "payments.models.Refund.Status",
            "FailureCode": "payments.models.FailureCode",
            "DeliveryStatus": "webhooks.models.Delivery.Status",
            "EventType": "webhooks.event_types.EventType",
            "ChainType": "chains.families.choices",
        },
        "PREPROCESSING_HOOKS": ["config.api.schema.operations.only_what_answers"],
        "POSTPROCESSING_HOOKS": [
            "drf_spectacular.hooks.postprocess_schema_enums",
            "config.api.schema.operations.complete",
        ],
    }
