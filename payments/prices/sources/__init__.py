"""The rate sources, one file each; `RATE_SOURCES` says which are asked."""
