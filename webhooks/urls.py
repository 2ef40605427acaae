from django.urls import path

from webhooks.api.views import ConfigurationView, DeliveryViewSet, EventViewSet, TestView

urlpatterns = [
    path("webhooks", ConfigurationView.as_view()),
    path("webhooks/test", TestView.as_view()),
    path("webhooks/deliveries", DeliveryViewSet.as_view({"get": "list"}), name="deliveries"),
    path(
        "webhooks/deliveries/redeliver",
        DeliveryViewSet.as_view({"post": "redeliver_failed"}),
        name="redeliver_failed",
    ),
    path("webhooks/deliveries/<str:id>", DeliveryViewSet.as_view({"get": "retrieve"}), name="delivery"),
    path(
        "webhooks/deliveries/<str:id>/redeliver",
        DeliveryViewSet.as_view({"post": "redeliver"}),
        name="redeliver",
    ),
    path("events", EventViewSet.as_view({"get": "list"}), name="events"),
    path("events/<str:id>", EventViewSet.as_view({"get": "retrieve"}), name="event"),
]
