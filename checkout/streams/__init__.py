"""Status updates for open checkouts as server-sent events: the `events` process, which serves nothing else."""
