"""The routes under `/api/` that belong to webhooks."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
