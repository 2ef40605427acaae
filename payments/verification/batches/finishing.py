"""Finish many verification attempts at once where they don't depend on each other."""

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded

from chains.models import Chain
from payments.evaluation.verdicts import NotFound, NotYet, Paid
from payments.models import Payment
from payments.requests.watching import tell_watchers
from payments.verification import attempts, outcomes
from payments.verification.batches.completing import Completion, complete_together
from payments.verification.batches.waiting import postpone_together
from payments.verification.checks import ChainCheck
from payments.verification.evidence import EvaluationInput
from payments.verification.retry_policy import MAX_MISSED_CHECKS, is_timed_out, pause_after_miss

logger = logging.getLogger(__name__)


def finish_together(
    payments: Sequence[Payment],
    inputs: Mapping[str, EvaluationInput],
    check: ChainCheck,
    chain: Chain,
    *,
    replaced: Collection[str],
) -> list[Payment]:
    """Complete or postpone payments in batches; return those that have to be finished alone, in their order.

    `replaced` are the ids of payments whose transactions were or may be replaced. Payments that share a request or a
    transaction with another one are completed alone, because the result of one depends on the other.
    """
    requests = Counter(payment.request_id for payment in payments)
    hashes = Counter(payment.counted_hash for payment in payments)
    completions: list[Completion] = []
    waiting: dict[str, dict[str, Any]] = {}
    for_a_block: dict[str, datetime | None] = {}
    for payment in payments:
        if payment.has_delivery or payment.counted_hash in check.snapshot.contradicted:
            continue
        facts, quote = check.snapshot.transactions.get(payment.transaction_hash), inputs[payment.pk].quote
        is_alone = requests[payment.request_id] == 1 and hashes[payment.counted_hash] == 1
        try:
            verdict = attempts.verdict_of(payment, inputs[payment.pk], check)
            if isinstance(verdict, Paid) and is_alone:
                completions.append(Completion(payment, verdict, facts, quote))
            elif isinstance(verdict, NotFound) and _is_only_missing(payment, replaced):
                waiting[payment.pk] = {
                    "next_check_at": check.now + pause_after_miss(payment.attempts),
                    **outcomes.missing_columns(payment),
                }
            elif isinstance(verdict, NotYet) and not is_timed_out(payment, check.now):
                waiting[payment.pk] = {
                    "next_check_at": attempts.next_check_for_confirmations(payment, check),
                    **outcomes.progress_columns(payment, verdict, facts, check.finality, check.now, quote),
                }
                for_a_block[payment.pk] = payment.next_check_at
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # noqa: S112 - finished alone, where the same error is logged
            continue
    finished = _postponed(waiting, check, for_a_block)
    tell_watchers(*{payment.request_id for payment in payments if payment.pk in finished})
    left = (
        {each.payment.pk for each in complete_together(completions, check, chain)} if completions else set()
    )
    finished |= {each.payment.pk for each in completions} - left
    return [payment for payment in payments if payment.pk not in finished]


def _is_only_missing(payment: Payment, replaced: Collection[str]) -> bool:
    """Whether a payment that no node knows just uses one more retry."""
    return payment.attempts < MAX_MISSED_CHECKS and payment.pk not in replaced


def _postponed(
    waiting: Mapping[str, Mapping[str, Any]], check: ChainCheck, for_a_block: Mapping[str, datetime | None]
) -> set[str]:
    """Postpone these payments; return their keys, or none if each has to be postponed alone."""
    try:
        postpone_together(waiting, check, for_a_block=for_a_block)
    except SoftTimeLimitExceeded:
        raise
    except Exception:
        logger.warning("postponing %d payments one by one", len(waiting), exc_info=True)
        return set()
    return set(waiting)
