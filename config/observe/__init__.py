"""What operators see of a running process: ids in log lines, and a worker's metrics."""
