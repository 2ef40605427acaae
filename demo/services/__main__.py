"""`python -m demo.services COMMAND…` runs a command with a new PostgreSQL and Redis. Both stop after the command.

The command gets DATABASE_URL, REDIS_URL and, if they are not set, temporary keys.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet

from demo.services import postgres, redis
from demo.services.process import REPOSITORY


def main(command: list[str]) -> int:
    """Run `command` in the repository. Return its exit status."""
    made = {"SECRET_KEY": secrets.token_urlsafe(50), "ENCRYPTION_KEYS": Fernet.generate_key().decode()}
    with tempfile.TemporaryDirectory(prefix="quittance-", dir="/tmp") as directory:
        server = postgres.start(Path(directory) / "postgres", durable=False)
        broker = redis.start(Path(directory) / "redis", appendonly=False)
        try:
            environment = {**made, **os.environ, "DATABASE_URL": server.url, "REDIS_URL": broker.url}
            return subprocess.run(command, cwd=REPOSITORY, env=environment).returncode
        finally:
            broker.stop()
            server.stop()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("Usage: python -m demo.services COMMAND…")
    sys.exit(main(sys.argv[1:]))
