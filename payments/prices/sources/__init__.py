"""The rate sources, one file each. The setting `RATE_SOURCES` selects them."""
