"""The portal's pages for merchants, API keys, recipients, teams, kill switches, users and the security log."""

from merchants.admin import merchants, security_log, switch_pages, team, users

__all__ = ["merchants", "security_log", "switch_pages", "team", "users"]
