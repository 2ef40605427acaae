"""Webhooks: events, merchants' endpoints, and deliveries."""
