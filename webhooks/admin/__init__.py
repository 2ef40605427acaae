"""The portal's pages for endpoints, events and deliveries."""

from webhooks.admin.records import DeliveryAdmin, EndpointAdmin, EventAdmin

__all__ = ["DeliveryAdmin", "EndpointAdmin", "EventAdmin"]
