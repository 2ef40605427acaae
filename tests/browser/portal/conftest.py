"""A page in both windows; the portal and the reference page run without the local world."""

from tests.browser.windows import page, troubles

__all__ = ["page", "troubles"]
