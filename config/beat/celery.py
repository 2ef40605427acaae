"""Celery's beat process, which sends tasks to the workers by the schedule. Beat runs without Django and a database.

Without Django, beat needs a third of the memory.
"""

import logging.config

from celery import Celery
from celery.signals import after_task_publish, setup_logging

from config.beat.heartbeat import Heart
from config.beat.schedule import SCHEDULE, TRANSPORT
from config.environment import load_or_exit
from config.environment.sentinels import broker
from config.logs import know_secrets, logging_configuration

_env = load_or_exit()
_heart = Heart(_env.REDIS_URL)

app = Celery("quittance", fixups=[])
app.conf.update(
    **broker(_env.REDIS_URL, TRANSPORT),
    beat_schedule=SCHEDULE,
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
)


@after_task_publish.connect  # type: ignore[untyped-decorator]
def _beat_heart(**_: object) -> None:
    _heart.beat()


@setup_logging.connect  # type: ignore[untyped-decorator]
def _configure_logging(**_: object) -> None:
    know_secrets(_env.secrets)
    logging.config.dictConfig(logging_configuration(_env.LOG_LEVEL, _env.LOG_FORMAT, with_ids=False))
