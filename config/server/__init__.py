"""The web server: requests are received completely before a thread handles them; and the entry point of `events`."""
