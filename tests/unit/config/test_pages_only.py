"""Sessions, form tokens and messages are only for pages. Calls of the API skip them."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_a_call_of_the_api_has_neither() -> None:
    answer = Client().get("/api/public/chains")
    assert answer.status_code == 200
    assert not hasattr(answer.wsgi_request, "session")
    assert not hasattr(answer.wsgi_request, "_messages")


def test_both_have_the_same_protection() -> None:
    for path in ("/api/public/chains", "/healthz"):
        answer = Client().get(path)
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["Referrer-Policy"] == "same-origin"
