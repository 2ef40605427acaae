"""Celery's beat, without Django: it sends the names of tasks by the clock, and needs neither models nor a database.

`celery -A config.beat beat`. It takes a third of the memory of a process that loads the applications.
"""

from celery import Celery
from celery.signals import after_task_publish

from config.beat.heartbeat import Heart
from config.beat.schedule import SCHEDULE, TRANSPORT
from config.environment import load_or_exit

_redis_url = load_or_exit().REDIS_URL
_heart = Heart(_redis_url)

app = Celery("quittance", broker=_redis_url, fixups=[])
app.conf.update(
    beat_schedule=SCHEDULE,
    broker_transport_options=TRANSPORT,
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
)


@after_task_publish.connect  # type: ignore[untyped-decorator]
def _beat_heart(**_: object) -> None:
    """Record that beat sent a task, for `manage.py doctor`."""
    _heart.beat()
