"""The dispatcher of a worker without Celery, for the webhook benchmark.

`python -m bench.webhook_dispatcher THREADS`: prints `ready`, waits for a line, and delivers until its input ends.
"""

import os
import sys
import threading


def main(threads: int) -> None:
    """Run the dispatcher. A worker wakes it by Celery tasks; here, a loop wakes it more often."""
    import django

    django.setup()
    from django.conf import settings

    settings.DATABASES["default"]["OPTIONS"].pop("pool", None)  # as in a worker (config.celery)
    from webhooks.dispatch.dispatcher import Dispatcher

    dispatcher = Dispatcher(threads)
    print("ready", flush=True)
    sys.stdin.readline()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
    dispatcher.nudge()
    while not ended.wait(0.2):
        dispatcher.nudge()
    dispatcher.finish()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    main(int(sys.argv[1]))
