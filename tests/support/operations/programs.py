"""A short program that uses the service's settings, in a process of its own."""

import os
import subprocess
import sys

from demo.services.process import REPOSITORY


def output_of(program: str, **environment: str) -> str:
    """Run the Python code with these variables of the environment, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment, "DJANGO_SETTINGS_MODULE": "config.settings"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
