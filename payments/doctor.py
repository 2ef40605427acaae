from collections.abc import Iterator

from django.conf import settings
from django.utils import timezone

from chains.models import Chain, Token
from config.doctor.finding import Finding, by_limits, failed, fine, warning
from payments import metrics
from payments.prices.currencies import USD
from payments.prices.querying import query_each_source
from payments.prices.rules import agree
from payments.providers.base import ProviderDown
from payments.providers.registry import provider_name, providers_in_order

OVERDUE_SECONDS = (60.0, 300.0)
FEWEST_QUOTES_AN_HOUR = 200
_CURRENCY = "EUR"
_MORE_WORKERS = "Start more workers and read their logs; see which chain's nodes are slow (docs/scaling.md)."


def check_queues() -> Iterator[Finding]:
    """Report how late verification, expiry and discovery are."""
    now = timezone.now()
    late = metrics.payments_overdue(now)
    yield by_limits(
        "payments", late, OVERDUE_SECONDS, f"the longest overdue payment is {late:.0f} s late", _MORE_WORKERS
    )
    late = metrics.expiry_overdue(now)
    yield by_limits(
        "expiry", late, OVERDUE_SECONDS, f"the longest overdue request is {late:.0f} s late", _MORE_WORKERS
    )
    names = dict(Chain.objects.filter(is_active=True).values_list("pk", "name"))
    for chain_id, late in metrics.discovery_lags(now).items():
        if chain_id in names:
            summary = f"{names[chain_id]} was last searched up to its head {late:.0f} s ago"
            yield by_limits("discovery", late, OVERDUE_SECONDS, summary, _MORE_WORKERS)


def check_providers() -> Iterator[Finding]:
    """Check that each routing provider lists tokens on our chains. Requests no quote."""
    providers = providers_in_order()
    if not providers:
        yield fine("routing", "off: customers pay in the requested token")
    chain_ids = list(Chain.objects.filter(is_active=True).values_list("pk", flat=True))
    for provider in providers:
        name = provider_name(provider.key)
        try:
            tokens = provider.tokens(chain_ids)
        except ProviderDown as down:
            advice = "Try again in some minutes, and check that this machine can connect to the provider."
            yield failed(name, f"no usable response: {down}", f"{advice} Direct payments still work.")
            continue
        yield from _of_provider(provider.key, name, len(tokens))


def _of_provider(key: str, name: str, tokens: int) -> Iterator[Finding]:
    limit = settings.ROUTING_QUOTE_LIMITS.get(key)
    hourly = limit.amount * 3600 // limit.get_expiry() if limit else None
    if not tokens:
        yield warning(name, "has no tokens on the active chains", "Remove it from ROUTING_PROVIDERS.")
    elif hourly is not None and hourly < FEWEST_QUOTES_AN_HOUR:
        summary = f"works, but without an API key it allows this deployment {hourly} quotes an hour"
        yield warning(name, summary, f"Request a key from {name} and set {key.upper()}_API_KEY.")
    else:
        yield fine(name, f"works, with {tokens:,} tokens on these chains")


def check_rates() -> Iterator[Finding]:
    """Check that each rate source responds, and that each priced token has a rate."""
    tokens = Token.objects.filter(is_active=True, chain__is_active=True).exclude(price_as="")
    bases = frozenset(tokens.values_list("price_as", flat=True)) - {USD}
    if not settings.RATE_SOURCES or not bases:
        yield fine("rates", "not needed: no token of the catalogue has a price, or RATE_SOURCES is off")
        return
    # Query a currency too, since some sources have rates of currencies only.
    observations = query_each_source(bases | {_CURRENCY})
    for source, observed in observations.items():
        if observed is None:
            advice = (
                "Check that this machine can connect to it (feeds: to the chains' nodes), or remove it from "
                "RATE_SOURCES."
            )
            yield warning(source, "no usable response", f"{advice} At least two sources must agree.")
        else:
            coverage = f"has rates for {len(bases & observed.keys())} of {len(bases)} tokens"
            yield fine(source, f"{coverage} and {_CURRENCY}" if _CURRENCY in observed else coverage)
    for base in sorted(bases):
        observed_rates = [
            each for observed in observations.values() if observed for each in observed.get(base, ())
        ]
        if agree(observed_rates, settings.RATE_MAX_SPREAD) is None:
            summary = "fewer than two sources agree, so requests with a price return rate_unavailable"
            yield failed(f"rate of {base}", summary, "Add a source (docs/adding-a-rate-source.md) or a feed.")
