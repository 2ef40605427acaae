"""Measure whether a merchant with 100,000 pending payments, or a chain that hangs, delays other payments.

`python -m demo.services python -m bench.fairness [PENDING]`, about a minute and a half.

Ten merchants get payments at a steady rate on a local chain. One worker process verifies them. Each payment is mined
before its hash is submitted. The measured time is from the submission to the completion of the payment. Payments are
measured four times: without a disturbance; with a chain whose node accepts connections but never responds; with that
chain and the pending payments; and again without a disturbance.
"""

import os
import platform
import socket
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://localhost",
    "CHECKOUT_URL": "http://localhost",
    "ALLOW_HTTP_URLS": "true",
    "EMAIL_URL": "memorymail://",
    "LOG_LEVEL": "CRITICAL",
}
PENDING = 100_000
MERCHANTS = 10
RATE = 8
SECONDS = 12
STUCK = 500
# The worker process gets its tasks more often than from beat, so that beat's interval doesn't hide a delay.
TICK_SECONDS = 0.1
MAX_RATIO = 1.5

# SQL that creates payments of one request. All of them are due for verification, and no node knows their hashes.
_INSERT = """
WITH payment AS (
    INSERT INTO payments_payment (
        id, request_id, status, type, chain_id, transaction_hash, submitted_publicly, from_address, bound_by,
        is_in_flight, carries_others, accepted_by, accepted_reason, reorged, is_bound_unmined, status_detail,
        failure_code, failure_message, retries, reopened_publicly, unanswered_looks, created_at, verifying_since
    )
    SELECT 'pay_' || lpad(%(chain)s || 'x' || n, 24, '0'), %(request)s, 'pending', 'direct', %(chain)s,
           '0x' || lpad(to_hex(n), 64, '0'), true, '', '', false, false, '', '', false, false, '', '', '', 0,
           false, 0, now(), now()
    FROM generate_series(1, %(count)s) AS n
    RETURNING id, chain_id, transaction_hash
)
INSERT INTO payments_lookup (
    of_payment_id, chain_id, merchant_id, transaction_hash, is_simulated, next_check_at, finality_misses, attempts,
    block_hash, confirmations
)
SELECT id, chain_id, %(merchant)s, transaction_hash, false, now() - interval '1 hour', 0, 0, '', 0 FROM payment
"""


def main(pending: int) -> None:
    from django.core.management import call_command

    from chains.models import Chain
    from demo.services import anvil
    from merchants.models import Merchant
    from tests.chain import LocalChain

    call_command("migrate", verbosity=0)
    running = anvil.start()
    silent = socket.create_server(("127.0.0.1", 0), backlog=1000)
    worker: subprocess.Popen[bytes] | None = None
    try:
        local = LocalChain.prepare(running.url, running.chain_id)
        merchants = [Merchant.objects.create(name=f"Bench {number}") for number in range(MERCHANTS)]
        big = Merchant.objects.create(name="Big")
        usdc = _token(local.chain_id, running.url, local.usdc)
        hanging = _token(4242, f"http://127.0.0.1:{silent.getsockname()[1]}", "0x" + "33" * 20)
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", flush=True)
        print(f"{MERCHANTS} merchants, {RATE} payments a second in all, for {SECONDS} s each time\n")
        print(f"{'from submission to completion':44}{'p50':>9}{'p95':>9}", flush=True)
        worker = subprocess.Popen([sys.executable, "-m", "bench.fairness", "worker"])
        _measure("warm-up (not counted)", merchants, usdc, local)
        before = _measure("undisturbed, before", merchants, usdc, local)
        _insert(big, hanging, STUCK)
        one = _measure("beside a chain that hangs", merchants, usdc, local)
        _insert(big, usdc, pending)
        both = _measure(f"and a merchant with {pending:,} pending", merchants, usdc, local)
        print(f"{'still pending':44}{_pending(big, Chain.objects.get(pk=usdc.chain_id)):9,}")
        _set_aside(big)
        after = _measure("undisturbed, after", merchants, usdc, local)
        quiet = _p95([*before, *after])
        for name, times in (("the chain that hangs", one), ("both", both)):
            print(f"{'p95 beside ' + name + ', to undisturbed':44}{_p95(times) / quiet:9.2f}")
        if max(_p95(one), _p95(both)) > MAX_RATIO * quiet:
            sys.exit(f"More than {MAX_RATIO} times the undisturbed p95.")
    finally:
        if worker is not None:
            worker.kill()
        silent.close()
        running.stop()


def work() -> None:
    """Verify as a worker process does, until the process is killed."""
    from payments.workers import VERIFICATION

    while True:
        VERIFICATION.nudge()
        time.sleep(TICK_SECONDS)


def _token(chain_id: int, url: str, address: str) -> Any:
    from chains.models import Chain, Token

    chain = Chain.objects.create(
        id=chain_id,
        name=f"Chain {chain_id}",
        chain_type="evm",
        native_symbol="ETH",
        confirmations="1",
        rpc_urls=[url],
    )
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=address
    )


def _insert(merchant: Any, token: Any, count: int) -> None:
    from django.db import connection

    from tests.support.payments.world import make_request

    request = make_request(merchant, token, "1", "0x" + "22" * 20)
    with connection.cursor() as cursor:
        values = {"request": request.pk, "merchant": merchant.pk, "chain": token.chain_id, "count": count}
        cursor.execute(_INSERT, values)
        cursor.execute("ANALYZE payments_payment, payments_lookup")


def _set_aside(merchant: Any) -> None:
    """Postpone all of the merchant's payments."""
    from django.utils import timezone

    from payments.models import Lookup

    rows = Lookup.objects.filter(merchant=merchant, next_check_at__isnull=False)
    rows.update(next_check_at=timezone.now() + timedelta(days=1))


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _measure(name: str, merchants: list[Any], token: Any, local: Any) -> list[float]:
    """Pay at a steady rate. Return the duration of each payment in milliseconds."""
    from payments.models import Payment, Transition
    from tests.support.payments.world import make_request, pay, submit

    payments = []
    began = time.perf_counter()
    for number in range(RATE * SECONDS):
        merchant = merchants[number % len(merchants)]
        request = make_request(merchant, token, "1", local.recipient)
        sent = pay(local, request)
        time.sleep(max(began + number / RATE - time.perf_counter(), 0))
        payments.append(submit(request, sent))
    ids = [payment.pk for payment in payments]
    deadline = time.perf_counter() + 60
    while Payment.objects.filter(pk__in=ids, status="completed").count() < len(ids):
        assert time.perf_counter() < deadline, "payments are not completed"
        time.sleep(0.1)
    rows = Transition.objects.filter(payment__in=ids, to_status="completed")
    times = [
        (completed - created).total_seconds() * 1000
        for completed, created in rows.values_list("created_at", "payment__created_at")
    ]
    print(f"{name:44}{statistics.median(times):6.0f} ms{_p95(times):6.0f} ms", flush=True)
    return times


def _pending(merchant: Any, chain: Any) -> int:
    from payments.models import Payment

    return Payment.objects.filter(request__merchant=merchant, chain=chain, status__in=Payment.OPEN).count()


if __name__ == "__main__":
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import django

    django.setup()
    if sys.argv[1:] == ["worker"]:
        work()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else PENDING)
