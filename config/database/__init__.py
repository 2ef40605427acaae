"""Shared use of PostgreSQL: leases, notifications, cached rows, compiled queries."""
