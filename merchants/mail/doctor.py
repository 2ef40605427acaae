from collections.abc import Iterator

from django.db.models import Count, Sum
from django.utils import timezone

from config.doctor.finding import Finding, by_limits
from merchants.mail.metrics import longest_wait
from merchants.models import Mail

OVERDUE_SECONDS = (300.0, 3600.0)


def check() -> Iterator[Finding]:
    """Report how long the oldest unsent e-mail has waited."""
    state = Mail.objects.aggregate(count=Count("pk"), failures=Sum("failures"))
    seconds = longest_wait(timezone.now())
    summary = (
        f"the oldest unsent e-mail has waited {seconds:.0f} s, after {state['failures'] or 0} failed attempts"
    )
    if not state["count"]:
        summary = "no e-mail waits to be sent"
    advice = "Read the worker's log for the mail server's errors, and check EMAIL_URL. E-mails wait for a day at most."
    yield by_limits("e-mails", seconds, OVERDUE_SECONDS, summary, advice)
