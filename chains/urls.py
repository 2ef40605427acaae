from django.urls import path

from chains.api.views import CatalogueViewSet

urlpatterns = [
    path("chains", CatalogueViewSet.as_view({"get": "list"}), name="chains"),
    path("chains/<int:chain_id>/tokens", CatalogueViewSet.as_view({"get": "tokens"}), name="chain-tokens"),
]
