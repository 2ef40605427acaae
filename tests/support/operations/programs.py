"""Run a short Python program with the service's settings in its own process."""

import os
import subprocess
import sys

from demo.services.process import REPOSITORY


def output_of(program: str, **environment: str) -> str:
    """Run the code with these environment variables; return its output."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment, "DJANGO_SETTINGS_MODULE": "config.settings"},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
