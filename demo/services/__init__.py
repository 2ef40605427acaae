"""Private back-ends of the local world and of the test-suite: PostgreSQL, Redis, Node.js and an EVM chain.

Each comes from a pinned package, runs as a child of this process on the loopback interface or a Unix socket,
and ends with it.
"""
