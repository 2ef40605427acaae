"""All routes of the apps. The apps' modules are named as strings, because `config` imports no app."""

from django.contrib import admin
from django.urls import include, path, re_path

from config.api.reference.views import reference_page
from config.api.schema.views import SchemaView
from config.api.views import unknown_path

urlpatterns = [
    path("api/public/", include("chains.urls")),
    path("api/", include("payments.urls")),
    path("api/", include("webhooks.urls")),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", reference_page, name="reference"),
    path("", include("checkout.urls")),
    path("", include("merchants.mail.urls")),
    path("", include("config.health")),
    path("", include("config.metrics")),
    path("admin/", admin.site.urls),
    re_path(r"^api(?:/.*)?$", unknown_path),
]

handler400 = "config.api.views.handle_400"
handler403 = "config.api.views.handle_403"
handler404 = "config.api.views.handle_404"
handler500 = "config.api.views.handle_500"
