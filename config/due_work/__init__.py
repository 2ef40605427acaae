"""One engine for due work: rows with a time, taken in turns under a lease, by threads that are woken.

- `queue`: which rows are due, whose turn it is, and the statement that leases them.
- `leases`: rows that one worker holds for a few seconds, and the heartbeat that renews them.
- `runner`: one thread for each lane of a queue, so that a lane that hangs delays no other.
- `listening`: notifications of PostgreSQL, which wake the runners of all processes.
- `statements`: reads `.sql` files, in which each statement has a name.
"""
