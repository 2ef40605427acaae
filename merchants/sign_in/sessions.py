"""End sessions of the portal."""

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
    """Ends a session that is idle or too old, or that began before a change of the user's second factor.

    (Django itself ends sessions when the password changes.) Place this middleware after the one for authentication.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            _keep_or_end(request)
        return self.get_response(request)


def begin(request: HttpRequest, user: User) -> None:
    """Sign `user` in under a new session key, and delete expired sessions.

    Until the user has entered a code, only the page of the second factor is open to this session.
    """
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    login(request, user)
    _mark(request, user)


def verify(request: HttpRequest, authenticator: Authenticator) -> None:
    """Mark the second factor as passed. The session gets a new key, and its lifetime starts again."""
    django_otp.login(request, authenticator)
    request.session.cycle_key()
    _mark(request, request.user)


def outlive(request: HttpRequest) -> None:
    """Keep this session when the second factor is reset. The user's other sessions end."""
    _mark(request, request.user)


def _mark(request: HttpRequest, user: Account) -> None:
    now = int(time.time())
    request.session.update({_BEGAN: now, _SEEN: now, _FACTOR: _factor(user)})


def _keep_or_end(request: HttpRequest) -> None:
    session, now = request.session, int(time.time())
    if _BEGAN not in session:  # The sign-in page did not create this session.
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
