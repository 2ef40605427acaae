"""The `events` process. It sends status updates to open checkouts, as server-sent events."""
