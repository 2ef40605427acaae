"""Django's settings. Deployments set values in the environment (`config.environment.declared`)."""

import logging
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from django.templatetags.static import static

from config.api.schema.settings import spectacular_settings
from config.beat.schedule import SCHEDULE, TRANSPORT
from config.environment import load
from config.environment.declared import PROVIDERS, SOURCES
from config.environment.keepalives import PEER_OPTIONS
from config.environment.rate_sources import FEEDS, url_setting
from config.environment.sentinels import broker
from config.environment.values import rate_limit
from config.logs import know_secrets, logging_configuration, report_errors

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
env = load(BASE_DIR)

# --- the deployment -----------------------------------------------------------------------------------------------
SECRET_KEY = env.SECRET_KEY
ENCRYPTION_KEYS = env.ENCRYPTION_KEYS
DEBUG = env.DEBUG
ENVIRONMENT = env.ENVIRONMENT
BASE_URL = env.BASE_URL
CHECKOUT_URL = env.CHECKOUT_URL
ALLOWED_HOSTS = env.ALLOWED_HOSTS
ALLOW_HTTP_URLS = env.ALLOW_HTTP_URLS
WEBHOOK_ALLOW_PRIVATE = env.WEBHOOK_ALLOW_PRIVATE
HTTPS = BASE_URL.startswith("https://")

# --- applications, by name only -----------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",  # the theme; listed before the admin, because it replaces templates of it
    "unfold.contrib.filters",
    "config.apps.ServiceConfig",
    "config.apps.PortalConfig",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "django_otp",
    "chains",
    "merchants",
    "django.contrib.auth",  # after merchants, whose createsuperuser and changepassword take precedence
    "webhooks",
    "payments",
    "checkout",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False

MIDDLEWARE = [
    "config.api.request_id.RequestIdMiddleware",
    "config.metrics.AnyHostMiddleware",
    "config.metrics.MeasureMiddleware",
    "config.api.limits.waiting.AnsweringMiddleware",
    "config.pages.PagePolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.api.cors.PublicCorsMiddleware",
    "config.api.caching.NoStoreMiddleware",
    "config.api.limits.public_limits.RateLimitMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.pages_only.PagesOnlyMiddleware",
]
PAGES_MIDDLEWARE = [
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.admin.allowed_addresses.AdminAddressMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "merchants.sign_in.sessions.SessionLifeMiddleware",
    "merchants.staff.time_zones.TimeZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
# Django expects the middleware for sessions, sign-in, messages and CSRF tokens in MIDDLEWARE. Here it is in
# PAGES_MIDDLEWARE, as a test checks. W021 requires HSTS preload, which is the operator's choice.
SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410", "security.W003", "security.W021"]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# --- PostgreSQL ---------------------------------------------------------------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {"default": env.DATABASE_URL}
DATABASE_LISTEN_URL = env.DATABASE_LISTEN_URL
DATABASES["default"]["ENGINE"] = "config.database.postgresql"
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"].setdefault("OPTIONS", {}).update(
    # Lost connections, forgotten locks and slow queries time out, so that they don't block payments. After a failure,
    # the pool doubles the pause before each new attempt to connect. By default it does so for five minutes: after an
    # outage of two minutes, it would reconnect two minutes late. Here the pool gives up after ten seconds, and the next
    # request begins new attempts.
    pool={"min_size": 1, "max_size": env.DATABASE_POOL_SIZE, "timeout": 10, "reconnect_timeout": 10},
    options="-c statement_timeout=50s -c lock_timeout=10s -c idle_in_transaction_session_timeout=30s "
    + PEER_OPTIONS,
)

# --- Redis and Celery ---------------------------------------------------------------------------------------------
REDIS_URL = env.REDIS_URL
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": [REDIS_URL],  # a list, because Django would split a text at commas
        "KEY_PREFIX": "quittance",
        "VERSION": 2,  # version 1 used pickle; during an upgrade, Redis has values of both versions
        "OPTIONS": {
            "socket_timeout": 2,
            "socket_connect_timeout": 2,
            "serializer": "config.database.cache_values.CacheSerializer",
            "pool_class": "config.environment.sentinels.Pool",
        },
    }
}
vars().update({f"CELERY_{name.upper()}": value for name, value in broker(REDIS_URL, TRANSPORT).items()})
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# If Redis becomes a replica or can't save, it rejects commands on connections that stay open.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
# With this setting on, Celery would kill the process of each running task if the connection to the broker is lost. The
# threads in that process verify payments and send webhooks. With this setting off, the broker sends these tasks a
# second time. The repetition does no harm, because every task may run twice.
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = env.WORKER_CONCURRENCY
CELERY_TASK_SOFT_TIME_LIMIT = 45
CELERY_TASK_TIME_LIMIT = 55
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = SCHEDULE

# --- the API ------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["merchants.keys.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["merchants.keys.permissions.HasApiKey"],
    "DEFAULT_PARSER_CLASSES": ["config.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["config.api.answers.AnswerRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.api.parsers.AlwaysJSON",
    "EXCEPTION_HANDLER": "config.api.handler.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "config.api.schema.operations.Inspector",
    "UNICODE_JSON": True,
}
SPECTACULAR_SETTINGS = spectacular_settings(BASE_URL, ENVIRONMENT)
RATE_LIMIT_API = env.RATE_LIMIT_API
RATE_LIMIT_PUBLIC = env.RATE_LIMIT_PUBLIC
RATE_LIMIT_EXPENSIVE = env.RATE_LIMIT_EXPENSIVE
DATA_UPLOAD_MAX_MEMORY_SIZE = (
    256 * 1024
)  # for forms: the largest body that the web process receives (config/server)

# --- pages --------------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
# Without `collectstatic`, static files are served from the apps' folders. After it, they have fingerprints in their
# names and are compressed.
_COLLECTING = sys.argv[1:2] == ["collectstatic"]  # this command writes the manifest that other processes read
COLLECTED = (_COLLECTING or (STATIC_ROOT / "staticfiles.json").exists()) and not DEBUG
_STATIC_BACKEND = (
    "checkout.static_files.StaticFilesStorage"
    if COLLECTED
    else "django.contrib.staticfiles.storage.StaticFilesStorage"
)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": _STATIC_BACKEND},
}
WHITENOISE_USE_FINDERS = not COLLECTED
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = ["config.formats"]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

# --- the admin's theme, with the checkout's colours ---------------------------------------------------------------
UNFOLD = {
    "SITE_TITLE": "Quittance",
    "SITE_HEADER": "Quittance",
    "SITE_SUBHEADER": "Merchants, keys and payments",
    "SITE_URL": None,
    "ENVIRONMENT": "config.admin.portal.environment_label",
    "SITE_ICON": lambda _: static("merchants/quittance.svg"),
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda _: static("merchants/quittance.svg")}
    ],
    "STYLES": [
        lambda _: static("merchants/admin.css"),
        lambda _: static("merchants/records.css"),
        lambda _: static("merchants/lists.css"),
    ],
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "payments.admin.dashboard.page.dashboard",
    "SIDEBAR": {"navigation": "config.admin.portal.sections"},
    "ACCOUNT": {"navigation": "config.admin.portal.account_links"},
    "BORDER_RADIUS": "6px",
    "COLORS": {
        "primary": {
            "50": "oklch(97.5% .008 264)",
            "100": "oklch(94% .018 264)",
            "200": "oklch(88% .035 264)",
            "300": "oklch(80% .06 264)",
            "400": "oklch(72% .09 264)",
            "500": "oklch(66% .11 264)",
            "600": "oklch(41% .1 264)",
            "700": "oklch(35% .085 264)",
            "800": "oklch(30% .07 264)",
            "900": "oklch(26% .055 264)",
            "950": "oklch(20% .04 264)",
        }
    },
}

# --- security -----------------------------------------------------------------------------------------------------
# The scheme of BASE_URL decides: with https, cookies are sent over TLS only. So one build also works on loopback.
TRUSTED_PROXIES = env.TRUSTED_PROXIES
ADMIN_ALLOWED_IPS = env.ADMIN_ALLOWED_IPS
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS and env.HSTS_PRELOAD
SESSION_ENGINE = "merchants.sign_in.session_store"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_PATH = "/admin"  # browsers don't send it to checkout pages and the API
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_AGE = env.SESSION_LIFE_HOURS * 3600
SESSION_IDLE_SECONDS = env.SESSION_IDLE_MINUTES * 60
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CSRF_TRUSTED_ORIGINS = [BASE_URL]

AUTHENTICATION_BACKENDS = ["merchants.staff.roles.RoleBackend"]
PASSWORD_RESET_TIMEOUT = 3600
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# --- logs ---------------------------------------------------------------------------------------------------------
LOGGING = logging_configuration(env.LOG_LEVEL, env.LOG_FORMAT)
logging.captureWarnings(True)
know_secrets(env.secrets)
report_errors(env.SENTRY_DSN, ENVIRONMENT)
METRICS_TOKEN = env.METRICS_TOKEN
OTEL_EXPORTER_OTLP_ENDPOINT = env.OTEL_EXPORTER_OTLP_ENDPOINT
OTEL_EXPORTER_OTLP_HEADERS = env.OTEL_EXPORTER_OTLP_HEADERS
BACKUP_FOLDER = env.BACKUP_FOLDER
BACKUP_MAX_AGE_HOURS = env.BACKUP_MAX_AGE_HOURS
METRICS = [
    "chains.monitoring.metrics.collect",
    "merchants.mail.metrics.collect",
    "payments.metrics.collect",
    "payments.sponsoring.metrics.collect",
    "webhooks.metrics.collect",
]
READINESS_CHECKS = {"partitions": "webhooks.storage.partitions.are_ready"}
READINESS_DETAILS = {"chains": "chains.health.summary"}
DOCTOR_CHECKS = {
    "settings": "config.doctor.deployment.check",
    "database": "config.doctor.database.check",
    "redis": "config.doctor.redis.check",
    "processes": "config.doctor.processes.check",
    "partitions": "webhooks.doctor.check_partitions",
    "queues": "payments.doctor.check_queues",
    "deliveries": "webhooks.doctor.check_queue",
    "secrets": "webhooks.doctor.check_secrets",
    "nodes": "chains.monitoring.doctor.check",
    "switches": "chains.monitoring.doctor.check_switches",
    "sponsoring": "payments.sponsoring.doctor.check",
    "routing": "payments.doctor.check_providers",
    "rates": "payments.doctor.check_rates",
    "egress": "webhooks.doctor.check_egress",
    "mail": "config.doctor.mail.check",
    "outbox": "merchants.mail.doctor.check",
    "traces": "config.doctor.traces.check",
    "outside": "config.doctor.outside.check",
    "disk": "config.doctor.disk.check",
    "backups": "config.doctor.backups.check",
}
vars().update(env.EMAIL_URL)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.EMAIL_FROM or f"Quittance <no-reply@{urlsplit(BASE_URL).hostname}>"

# --- WalletConnect ------------------------------------------------------------------------------------------------
# Customers pay with a wallet on another device, through a third-party relay. Without a project id, this is off.
WALLETCONNECT_PROJECT_ID = env.WALLETCONNECT_PROJECT_ID
WALLETCONNECT_RELAY_URL = env.WALLETCONNECT_RELAY_URL

# --- status changes for open checkouts ------------------------------------------------------------------------------
# EVENTS_URL is the public address of the `events` process, or empty if the process doesn't run.
EVENTS_URL = env.EVENTS_URL
EVENT_STREAMS_MAX = env.EVENT_STREAMS_MAX

# --- routing providers ---------------------------------------------------------------------------------------------
# Each provider's folder declares its name, quotas and settings (payments/providers/*/provider.toml).
ROUTING_PROVIDERS = env.ROUTING_PROVIDERS
ROUTING_PROVIDER_NAMES = {each.key: each.name for each in PROVIDERS}
ROUTING_PROVIDER_SETTINGS = {each.key: tuple(each.settings) for each in PROVIDERS}
ROUTING_QUOTE_LIMITS = {
    each.key: rate_limit(env.ROUTING_QUOTE_LIMIT or each.quote_limit(str(env.parsed[each.api_key])))
    for each in PROVIDERS
}
vars().update({name: env.parsed[name] for each in PROVIDERS for name in each.settings})
# --- payments without a network fee ---------------------------------------------------------------------------------
# By chain family: the account that pays the fees, and the daily limit.
SPONSOR_KEYS = {"evm": env.SPONSOR_EVM_KEY, "solana": env.SPONSOR_SOLANA_KEY}
SPONSOR_DAILY_BUDGET = env.SPONSOR_DAILY_BUDGET

# --- exchange rates (payments/prices/sources) -----------------------------------------------------------------------
RATE_SOURCES = env.RATE_SOURCES
RATE_URLS = {each: str(env.parsed[url_setting(each)]) for each in SOURCES if each != FEEDS}
RATE_MAX_SPREAD = env.RATE_MAX_SPREAD
RATE_MAX_AGE = env.RATE_MAX_AGE
# The import path of a function that returns the reason why merchants can't use a currency, or None.
CURRENCY_CHECK = "payments.prices.currencies.problem_of"

ALLOW_OPAQUE_ROUTES = env.ALLOW_OPAQUE_ROUTES
MOST_LOST_PERCENT = env.MOST_LOST_PERCENT
