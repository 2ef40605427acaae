"""Due work: rows of a table that a worker must process at a given time.

- `queue`: find the due rows of a table, and lease them for one worker.
- `leases`: while one worker holds a row, no other worker processes it. A heartbeat renews the lease.
- `runner`: the threads that process rows. Each lane of a queue, such as a chain, has its own thread, so a slow chain
  does not delay the others.
- `listening`: PostgreSQL's notifications, which wake the runners of all processes.
- `statements`: read `.sql` files with named statements.
"""
