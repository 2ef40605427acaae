"""Django's admin with the portal's own site, named as text: `config` imports no app."""

from django.contrib.admin.apps import AdminConfig


class PortalConfig(AdminConfig):
    """Where `admin.site` comes from."""

    default_site = "merchants.site.PortalSite"
