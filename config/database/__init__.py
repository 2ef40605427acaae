"""How processes use PostgreSQL together: leases, notifications, copies of rows, compiled queries."""
