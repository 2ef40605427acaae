"""Storage and retention of events. Large values are in weekly partitions."""
