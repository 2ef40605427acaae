"""Run the web process: `python -m config.server --config config/gunicorn.py`, with any of gunicorn's other options.

The settings are checked before gunicorn is imported, because gunicorn reads `WEB_CONCURRENCY` itself and fails with a
traceback if it is no number.
"""

import os
import sys

from config.environment import load_or_exit


def main(options: list[str]) -> None:
    """Check the settings, then serve until a signal ends the process."""
    os.environ["WEB_CONCURRENCY"] = str(load_or_exit().WEB_CONCURRENCY)
    # On SIGUSR2 gunicorn runs these arguments with this interpreter, to start a new version beside this one.
    sys.argv = ["-mconfig.server", *options]
    from gunicorn.app.wsgiapp import run

    run(prog="python -m config.server")


if __name__ == "__main__":
    main(sys.argv[1:])
