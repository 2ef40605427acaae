"""The web server, and the entry point of the `events` process. A thread handles a request only when it is complete."""
