"""Django's admin with the portal's own site, and its own names."""

from django.apps import apps
from django.contrib.admin.apps import AdminConfig


class PortalConfig(AdminConfig):
    """Where `admin.site` comes from, named as text: `config` imports no app."""

    default_site = "merchants.site.PortalSite"

    def ready(self) -> None:
        """Call users by the name of their section."""
        apps.get_app_config("auth").verbose_name = "Staff"
        super().ready()
