"""The product's settings without its own middleware, authentication, limits and rendering."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench.floor.urls"
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]  # for the Content-Length
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "UNAUTHENTICATED_USER": None,
}
