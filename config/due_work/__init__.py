"""The engine for due work: rows with a due time, leased in turns by threads that are woken.

- `queue`: the due rows, the order of their owners, and the statements that lease them.
- `leases`: rows that one worker holds for a few seconds, and the heartbeat that renews them.
- `runner`: one thread for each lane of a queue, so that a lane that hangs delays no other.
- `listening`: notifications of PostgreSQL, which wake the runners of all processes.
- `statements`: reads `.sql` files, in which each statement has a name.
"""
