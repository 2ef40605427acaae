"""Celery's beat, without Django: it sends the names of tasks by the clock, and needs neither models nor a database.

`celery -A config.beat beat`. It takes a third of the memory of a process that loads the applications.
"""

from celery import Celery

from config.beat.schedule import SCHEDULE, TRANSPORT
from config.environment import load_or_exit

app = Celery("quittance", broker=load_or_exit().REDIS_URL, fixups=[])
app.conf.update(
    beat_schedule=SCHEDULE,
    broker_transport_options=TRANSPORT,
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
)
