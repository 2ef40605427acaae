"""The routes under `/api/` that belong to webhooks."""

from django.urls import path

from webhooks.views import ConfigurationView, TestView

urlpatterns = [
    path("webhooks", ConfigurationView.as_view()),
    path("webhooks/test", TestView.as_view()),
]
