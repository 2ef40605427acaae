"""A simulator: one seed decides a whole history of workers, customers, nodes, receivers, crashes and time.

It runs the product's own services, unchanged, in one process with a real PostgreSQL:

- Each worker and each web process is a thread with its own connection (`actors`). Only one thread runs at a time. The
  seed decides which one.
- A thread stops before each statement that writes or locks, before each commit, and before each call to a node or a
  receiver. Before a statement that only reads, it stops at random, so that a history gets further.
- At each stop, the process may be killed, or its connection may be lost before or after the statement. A kill raises an
  exception that no `except Exception` catches. The connection is closed, and the process' memory is lost.
- A worker may be paused during a call for longer than its lease, while the others continue.
- `pg_blocking_pids` shows if a statement waits for another thread's lock. Then other threads run. If threads wait for
  each other, a deadlock is reported.
- The process and PostgreSQL use one simulated clock. The seed decides all random numbers and ids (`environment`,
  `database`). So workers often pause for longer than their lease, which takes no real time.
- `history` has the actions of customers, merchants, the chain and receivers. Then `ending` lets everything work until
  nothing is due. `invariants` checks the end, `overlaps` checks every step.

The same seed gives the same steps. A digest of the steps is printed. `make simulate` tries many seeds.
`make simulate SEED=7` repeats one and prints its steps. `mutants` plants defects that the simulator must find.
"""
