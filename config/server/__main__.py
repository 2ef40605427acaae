"""Run the web process: `python -m config.server --config config/gunicorn.py`. All options of gunicorn work.

The settings are checked before gunicorn is imported. Otherwise gunicorn would read `WEB_CONCURRENCY` itself, and fail
with a traceback if it isn't a number.
"""

import os
import sys

from config.environment import load_or_exit


def main(options: list[str]) -> None:
    """Check the settings, then serve until a signal ends the process."""
    os.environ["WEB_CONCURRENCY"] = str(load_or_exit().WEB_CONCURRENCY)
    # On SIGUSR2, gunicorn starts itself again with these arguments, so that a new version takes over.
    sys.argv = ["-mconfig.server", *options]
    from gunicorn.app.wsgiapp import run

    run(prog="python -m config.server")


if __name__ == "__main__":
    main(sys.argv[1:])
