"""Beat doesn't load Django's applications, which would more than double its memory."""

import subprocess
import sys

from tests.processes import REPOSITORY, environment

AS_BEAT_BEGINS = """
import sys
import config.beat.celery
from celery.signals import setup_logging
answers = setup_logging.send(sender=None, loglevel=20, logfile=None, format="", colorize=False)
assert not [answer for _, answer in answers if isinstance(answer, Exception)], answers
from django.apps import apps
print(apps.ready, "rest_framework" in sys.modules, "psycopg" in sys.modules)
"""


def test_beat_begins_without_the_applications() -> None:
    begun = subprocess.run(
        [sys.executable, "-c", AS_BEAT_BEGINS],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert begun.stdout.splitlines()[-1:] == ["False False False"], begun.stderr
