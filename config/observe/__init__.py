"""Observability of running processes: task ids in log lines, a worker's metrics, spans."""
