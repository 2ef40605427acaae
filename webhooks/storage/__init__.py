"""Storage and retention of events: rows, and weekly partitions of large values."""
