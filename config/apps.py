"""The service's own commands, and Django's admin with the portal's site and section names."""

from django.apps import AppConfig, apps
from django.contrib.admin.apps import AdminConfig


class PortalConfig(AdminConfig):
    """Sets `admin.site` by import path, because `config` imports no app."""

    default_site = "merchants.site.PortalSite"

    def ready(self) -> None:
        apps.get_app_config("auth").verbose_name = "Staff"
        super().ready()


class ServiceConfig(AppConfig):
    """Registers the commands of the whole deployment. It has no models."""

    name = "config"
    label = "service"
