"""Django's PostgreSQL backend, with a pool that checks connections without asking the server."""
