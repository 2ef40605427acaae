"""The floor of the webhook benchmark: a bare loop of signed posts with `requests.Session`.

`python -m bench.webhook_floor URL POSTS THREADS`: prints `ready`, waits for a line, posts, and prints the seconds.
"""

import hashlib
import hmac
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import requests

BODY = b'{"id":"evt_floor","type":"payment.succeeded","created":0,"data":{"object":{"text":"%s"}}}' % (
    b"x" * 900
)
SECRET = b"whsec_" + b"0" * 32


def post_many(url: str, count: int) -> None:
    """Sign and post `count` bodies over one kept connection."""
    with requests.Session() as session:
        for number in range(count):
            now = int(time.time())
            digest = hmac.new(SECRET, b"%d." % now + BODY, hashlib.sha256).hexdigest()
            headers = {
                "Content-Type": "application/json",
                "Service-Event-Id": f"evt_{number:024}",
                "Service-Event-Type": "payment.succeeded",
                "Service-Signature": f"t={now},v1={digest}",
            }
            session.post(url, data=BODY, headers=headers, timeout=10).raise_for_status()


def main(url: str, posts: int, threads: int) -> None:
    """Post from `threads` threads at once."""
    with ThreadPoolExecutor(threads) as pool:
        print("ready", flush=True)
        sys.stdin.readline()
        started = time.perf_counter()
        list(pool.map(post_many, [url] * threads, [posts // threads] * threads))
    print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
