"""The `events` process, which sends status updates to open checkouts as server-sent events."""
