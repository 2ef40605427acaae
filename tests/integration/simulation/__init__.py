"""A simulator: one seed decides a whole history of workers, customers, nodes, receivers, crashes and time.

It runs the product's own services, unchanged, against a real PostgreSQL, in one process:

- Each worker and each web process is a thread with its own connection (`actors`). A thread stops before each statement
  that writes or locks, each commit, and each call of a node or a receiver; before statements that only read it stops
  at random, so that a history gets further. Only one thread runs at a time, and the seed decides which one.
- At each stop the process may be killed, or its connection lost before or after the statement. Killing raises an
  exception that no `except Exception` catches; the connection is closed, and nothing that the process knew is left.
- A worker may be paused amid a call for longer than its lease, while the others go on.
- A statement that waits for a lock of another thread is found by `pg_blocking_pids`. Others run meanwhile, and threads
  that wait for one another are reported as a deadlock.
- The process and PostgreSQL read one simulated clock, and all random numbers and ids follow from the seed
  (`environment`, `database`). A worker that stops for longer than its lease is therefore usual, and takes no time.
- `history` says what customers, merchants, the chain and receivers do; `ending` then lets everything work until
  nothing is due; `invariants` says what must be true at the end, and `overlaps` what must be true throughout.

The same seed gives the same sequence of steps; a digest of it is printed. `make simulate` tries many seeds, and
`make simulate SEED=7` repeats one and prints its steps. `mutants` plants defects that the simulator must find.
"""
