"""Private services for the local world and the tests: PostgreSQL, Redis, Node.js and local chains.

Each comes from a pinned package. It runs as a child of this process, on the loopback interface or a Unix socket. It
ends with this process.
"""
