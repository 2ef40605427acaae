"""Django's PostgreSQL backend, with a cheaper check of pool connections."""
