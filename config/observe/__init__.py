"""Observability: task ids in log lines, the metrics of a worker, and traces."""
