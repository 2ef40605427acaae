"""QR codes of customers' pages."""

from functools import lru_cache

from payments.api import links

# About 15 kB each. Merchants have few recipients, and customers reload pages.
qr_code = lru_cache(maxsize=512)(links.qr_code)
