"""QR codes of customers' pages."""

from functools import lru_cache

from payments.api import links

# Codes are cached, because merchants have few recipients and customers reload pages. A code has about 15 kB.
qr_code = lru_cache(maxsize=512)(links.qr_code)
