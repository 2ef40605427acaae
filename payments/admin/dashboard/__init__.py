"""The admin's dashboard: daily statistics, chain health, sponsored payments, and what needs attention."""
