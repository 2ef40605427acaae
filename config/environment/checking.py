"""Validate all settings at once: each value, and the combinations."""

from collections.abc import Iterable, Iterator, Mapping

from config.environment.addresses import is_plain_and_remote, node
from config.environment.declared import PROVIDERS, Environment, declared
from config.environment.wrong import Fault, SettingsError, Wrong

# The beginnings of public keys, which Django's `startproject` and this repository's tests use.
_PUBLISHED_KEYS = ("django-insecure-", "only-for-tests-")


def check(
    texts: Mapping[str, str], *, nodes: Iterable[str] = (), earlier_faults: Iterable[Fault] = ()
) -> Environment:
    """Return the parsed settings.

    `nodes` are the names of the variables with node addresses. Raises SettingsError with all faults, `earlier_faults`
    first.
    """
    env = Environment(texts)
    earlier = list(earlier_faults)
    named = {fault.name for fault in earlier}
    faults = [*earlier, *(fault for fault in env.faults if fault.name not in named)]
    faults += [*_wrong_nodes(texts, nodes), *_plain_providers(env), *_plain_collector(env)]
    if env.parsed.get("ENVIRONMENT") == "production":
        faults += _unsafe_in_production(env)
    if faults:
        raise SettingsError(faults)
    return env


def _wrong_nodes(texts: Mapping[str, str], nodes: Iterable[str]) -> Iterator[Fault]:
    for name in nodes:
        try:
            if texts.get(name):
                node(texts[name])
        except Wrong as wrong:
            yield Fault(
                name, wrong.problem, "the http or https address of a node, such as https://node.example"
            )


def _plain_providers(env: Environment) -> Iterator[Fault]:
    """Yield faults of addresses with http: a provider's key would be sent unencrypted, or rates could be forged."""
    if env.parsed.get("ALLOW_HTTP_URLS"):
        return
    settings = [provider.settings[provider.api_url] for provider in PROVIDERS]
    settings += [setting for name, setting in declared().items() if name.startswith("RATE_URL_")]
    for setting in settings:
        if is_plain_and_remote(str(env.parsed.get(setting.name, ""))):
            yield setting.fault("is not encrypted")


def _plain_collector(env: Environment) -> Iterator[Fault]:
    """Yield a fault if the headers for the trace collector would be sent unencrypted. The headers may contain a key."""
    endpoint = str(env.parsed.get("OTEL_EXPORTER_OTLP_ENDPOINT", ""))
    if env.parsed.get("OTEL_EXPORTER_OTLP_HEADERS") and is_plain_and_remote(endpoint):
        yield type(env).OTEL_EXPORTER_OTLP_ENDPOINT.fault("is not encrypted, and the headers are secret")


def _unsafe_in_production(env: Environment) -> Iterator[Fault]:
    """Yield a fault for each setting that is only allowed in development. Values that can't be parsed are skipped."""
    own = type(env)
    if env.parsed.get("DEBUG"):
        yield own.DEBUG.fault("is on in production, where it shows settings and code to anyone", "False")
    if str(env.parsed.get("SECRET_KEY", "")).startswith(_PUBLISHED_KEYS):
        yield own.SECRET_KEY.fault("is a published key")
    origins = (own.BASE_URL, own.CHECKOUT_URL)
    for setting in origins:
        if is_plain_and_remote(str(env.parsed.get(setting.name, ""))):
            yield setting.fault("is not encrypted", "an https address in production")
    if env.parsed.get("ALLOWED_HOSTS") == []:
        yield own.ALLOWED_HOSTS.fault("is empty, so every call is rejected")
