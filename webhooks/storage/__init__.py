"""How long events are stored, and where: rows, and weekly partitions of what is large."""
