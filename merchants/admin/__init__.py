"""The portal's pages for merchants, their keys and recipients, kill switches, and the portal's users."""

from merchants.admin import merchants, switch_pages, users

__all__ = ["merchants", "switch_pages", "users"]
