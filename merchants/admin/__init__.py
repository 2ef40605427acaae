"""The portal's pages for merchants, their keys and recipients, and the portal's users."""

from merchants.admin import merchants, users

__all__ = ["merchants", "users"]
