"""The rate sources, one file each; `RATE_SOURCES` selects them."""
