"""Django's own apps, as the portal calls them."""

from django.contrib.admin.apps import AdminConfig
from django.contrib.auth.apps import AuthConfig


class PortalConfig(AdminConfig):
    """Where `admin.site` comes from, named as text: `config` imports no app."""

    default_site = "merchants.site.PortalSite"


class StaffConfig(AuthConfig):
    """Users, under the name of their section."""

    verbose_name = "Staff"
