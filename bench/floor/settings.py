"""The product's settings, but without its middleware, authentication, limits and renderer."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench.floor.urls"
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]  # for the Content-Length
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "UNAUTHENTICATED_USER": None,
}
