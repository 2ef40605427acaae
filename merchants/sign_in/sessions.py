"""How long a session of the portal lives: not idle for long, never beyond its life, and no longer than its factors."""

import time
from collections.abc import Callable

import django_otp
from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from merchants.models import Authenticator
from merchants.sign_in import two_factor
from merchants.staff.roles import Account

_BEGAN = "began"
_SEEN = "seen"
_FACTOR = "factor"
_SEEN_RESOLUTION = 60
HALFWAY_SECONDS = 600


class SessionLifeMiddleware:
    """Ends sessions that were idle or lived too long, and those that began before the second factor changed.

    A changed password ends them by Django's own means. Stands behind the middleware that finds the user.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Look at the session before the view does; requests without one cost nothing."""
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            _keep_or_end(request)
        return self.get_response(request)


def begin(request: HttpRequest, user: User) -> None:
    """Sign `user` in, under a new session key; sessions that ended are swept out.

    Those who owe a second factor get no further than its page.
    """
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    login(request, user)
    _mark(request, user)


def verify(request: HttpRequest, authenticator: Authenticator) -> None:
    """Note that the second factor was right, under a new session key and with a life of its own."""
    django_otp.login(request, authenticator)
    request.session.cycle_key()
    _mark(request, request.user)


def outlive(request: HttpRequest) -> None:
    """Let this session go on after its user's second factor went; all others of theirs end."""
    _mark(request, request.user)


def _mark(request: HttpRequest, user: Account) -> None:
    now = int(time.time())
    request.session.update({_BEGAN: now, _SEEN: now, _FACTOR: _factor(user)})


def _keep_or_end(request: HttpRequest) -> None:
    session, now = request.session, int(time.time())
    if _BEGAN not in session:  # made by something else than the sign-in page
        _mark(request, request.user)
        return
    halfway = two_factor.is_missing(request.user)
    life = HALFWAY_SECONDS if halfway else settings.SESSION_COOKIE_AGE
    ended = (
        now - session[_BEGAN] > life
        or now - session[_SEEN] > settings.SESSION_IDLE_SECONDS
        or session[_FACTOR] != _factor(request.user)
    )
    if ended:
        logout(request)
    elif now - session[_SEEN] >= _SEEN_RESOLUTION:
        session[_SEEN] = now


def _factor(user: Account) -> int:
    authenticator = two_factor.authenticator_of(user)
    return authenticator.pk if authenticator else 0
