"""Status pushed to open checkouts by server-sent events: the `events` process, which serves nothing else."""
