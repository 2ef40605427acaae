"""Private services for the local world and the tests: PostgreSQL, Redis, Node.js and local chains.

Each service comes from a pinned package. A service runs as a child of this process, on the loopback interface or a Unix
socket, and ends with this process.
"""
