"""One API call over HTTP: authentication, retries, and responses as JSON or exceptions."""

import logging
import os
import re
import threading
import time
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import NewConnectionError

from quittance import retries
from quittance.errors import BY_TYPE, APIConnectionError, APIError, QuittanceError
from quittance.version import __version__

logger = logging.getLogger("quittance")

_KEY = re.compile(r"quitt_[0-9a-f]{40}")
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_PUBLIC = "/api/public/"
_BY_STATUS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class _Key(AuthBase):
    """Adds the API key to a request just before it is sent.

    No other object contains the key. This object is the session's `auth`, so the session doesn't read credentials from
    a `.netrc` file.
    """

    def __init__(self, key: str) -> None:
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ValueError("api_key should be quitt_ and 40 lowercase hexadecimal digits.")
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if not urlsplit(request.url or "").path.startswith(_PUBLIC):
            request.headers["X-API-Key"] = self._key
        return request

    def __repr__(self) -> str:
        return "<API key>"


@dataclass(frozen=True)
class Call:
    """One API call. `is_repeatable`: the call can be repeated without another effect."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    is_repeatable: bool = True

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """Calls one service with one key. Several threads can use the same transport, also after a fork."""

    def __init__(self, api_key: str, base_url: str, *, timeout: float, max_retries: int) -> None:
        self.base_url = _checked(base_url)
        self.timeout = timeout
        self.max_retries = max_retries
        self._key = _Key(api_key)
        self._own = threading.local()
        self._sessions: weakref.WeakSet[requests.Session] = weakref.WeakSet()
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        is_repeatable: bool = True,
    ) -> Any:
        """Return the JSON of a successful response.

        A POST has an idempotency key. All retries have the same key, so the call takes effect once. If you pass no key,
        the client generates a key. Raises the QuittanceError of the last response.
        """
        if method == "POST":
            idempotency_key = _checked_idempotency_key(
                str(uuid.uuid4()) if idempotency_key is None else idempotency_key
            )
        call = Call(method, path, query, body, idempotency_key, is_repeatable)
        attempt = 1
        while True:
            try:
                return self._attempt(call)
            except QuittanceError as error:
                if attempt > self.max_retries or not _may_repeat(call, error):
                    raise
                pause = retries.delay(attempt, error.retry_after)
                logger.info("%s: attempt %d failed (%s); again in %.1f s", call, attempt, error, pause)
            time.sleep(pause)
            attempt += 1

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for session in list(self._sessions):
                session.close()

    def _attempt(self, call: Call) -> Any:
        headers = {"Idempotency-Key": call.idempotency_key} if call.idempotency_key else {}
        started = time.monotonic()
        try:
            response = self._session().request(
                call.method,
                self.base_url + call.path,
                params=call.query,
                json=call.body,
                headers=headers,
                timeout=self.timeout,
                allow_redirects=False,
            )
        except requests.RequestException as problem:
            failure = self._unreachable(call, problem)
        else:
            duration_ms = round((time.monotonic() - started) * 1000)
            request_id = response.headers.get("X-Request-Id")
            logger.debug("%s returned %d in %d ms (%s)", call, response.status_code, duration_ms, request_id)
            return _content(call, response)
        raise failure  # raised outside of `except`, because otherwise the traceback would lead to the request's headers

    def _session(self) -> requests.Session:
        """Return this thread's session. A child process doesn't use the connections of its parent."""
        session: requests.Session | None = getattr(self._own, "session", None)
        if session is None or self._own.process != os.getpid():
            session = requests.Session()
            session.auth = self._key
            session.headers.update(
                {"User-Agent": f"quittance-python/{__version__}", "Accept": "application/json"}
            )
            session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
            for scheme in ("https://", "http://"):
                session.mount(scheme, HTTPAdapter(max_retries=0))
            self._own.session, self._own.process = session, os.getpid()
            with self._lock:
                self._sessions.add(session)
        return session

    def _unreachable(self, call: Call, problem: requests.RequestException) -> APIConnectionError:
        reason = getattr(problem.args[0], "reason", None) if problem.args else None
        never_sent = isinstance(problem, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)
        message = (
            f"{call.method} {self.base_url}{call.path} got no response: {self._in_words(problem, reason)}"
        )
        return APIConnectionError(message, never_sent=never_sent)

    def _in_words(self, problem: requests.RequestException, reason: object) -> str:
        match problem:
            case requests.ConnectTimeout():
                return f"no connection within {self.timeout:g} s."
            case requests.Timeout():
                return f"timed out after {self.timeout:g} s."
            case requests.exceptions.SSLError():
                return f"the TLS connection failed ({reason or type(problem).__name__})."
            case requests.exceptions.ProxyError():
                return "the proxy could not be used."
            case _ if isinstance(reason, NewConnectionError):
                return f"no connection ({_last_words(reason)})."
            case _:
                return f"the connection broke ({type(problem).__name__})."


def _last_words(reason: object) -> str:
    """Return the operating system's message, without urllib3's prefix."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(reason).rpartition(": ")[2])


def _may_repeat(call: Call, error: QuittanceError) -> bool:
    if isinstance(error, APIConnectionError):
        return call.is_repeatable or error.never_sent
    if error.status is None or not retries.is_temporary(error.status, error.code):
        return False
    if (error.retry_after or 0) > retries.LONGEST_RETRY_AFTER_SECONDS:
        return False
    return call.is_repeatable or error.status == 429


def _content(call: Call, response: requests.Response) -> Any:
    """Return the response's JSON. For an error status, raise the error."""
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if 200 <= response.status_code < 300 and answer is not None:
        return answer
    raise _error(call, response, answer)


def _error(call: Call, response: requests.Response, answer: Any) -> QuittanceError:
    status = response.status_code
    problem = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(problem, dict):
        problem = {"message": _not_ours(call, status)}
    type_ = problem.get("type") or _BY_STATUS.get(status)
    details = problem.get("details")
    return BY_TYPE.get(str(type_), APIError)(
        str(problem.get("message") or f"{call} returned {status}."),
        code=problem.get("code"),
        type=type_,
        param=problem.get("param"),
        request_id=problem.get("request_id") or response.headers.get("X-Request-Id"),
        details=details if isinstance(details, list) else [],
        status=status,
        retry_after=retries.parse_retry_after(response.headers.get("Retry-After"), time.time()),
    )


def _not_ours(call: Call, status: int) -> str:
    if 300 <= status < 400:
        return (
            f"{call} returned {status}. Redirects are not followed with an API key: check base_url (https?)."
        )
    return f"{call} returned {status} without Quittance's JSON. Check base_url."


def _checked(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ValueError("base_url should be an address such as https://pay.example.com.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("base_url should have no credentials, query or fragment.")
    return base_url.rstrip("/")


def _checked_idempotency_key(key: str) -> str:
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        raise ValueError("idempotency_key should be 1 to 255 visible ASCII characters.")
    return key
