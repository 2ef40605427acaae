"""Django app configurations of the admin and of the service's own commands."""

from django.apps import AppConfig, apps
from django.contrib.admin.apps import AdminConfig


class PortalConfig(AdminConfig):
    """Makes `PortalSite` the admin site, by its import path, because `config` imports no app."""

    default_site = "merchants.site.PortalSite"

    def ready(self) -> None:
        apps.get_app_config("auth").verbose_name = "Staff"
        super().ready()


class ServiceConfig(AppConfig):
    """Registers the commands that concern the whole deployment, such as `doctor`."""

    name = "config"
    label = "service"
