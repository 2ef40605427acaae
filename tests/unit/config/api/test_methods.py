"""All errors under /api are JSON: 404 for unknown paths and trailing slashes, 405 with Allow for wrong methods."""

from itertools import product

import pytest

from merchants.models import Merchant
from merchants.services import issue_key
from tests.conftest import Api
from tests.support.api.fixtures import Raw, error_of, nothing_stored

ID = "01890000-0000-7000-8000-000000000000"
ENDPOINTS = {
    "/api/public/chains": "GET",
    "/api/public/chains/1/tokens": "GET",
    "/api/public/currencies": "GET",
    "/api/payment-requests": "POST",
    f"/api/payment-requests/{ID}": "GET",
    f"/api/payment-requests/{ID}/cancel": "POST",
    f"/api/payment-requests/{ID}/payments": "GET",
    f"/api/payment-requests/{ID}/payments/pay_x/retry": "POST",
    f"/api/public/payment-requests/{ID}": "GET",
    f"/api/public/payment-requests/{ID}/routes": "POST",
    f"/api/public/payment-requests/{ID}/payments": "POST",
    "/api/public/build-transaction": "POST",
    "/api/webhooks": "GET",
    "/api/webhooks/test": "POST",
    "/api/webhooks/deliveries": "GET",
    "/api/webhooks/deliveries/del_x": "GET",
    "/api/webhooks/deliveries/del_x/redeliver": "POST",
    "/api/events": "GET",
    "/api/events/evt_x": "GET",
}
ALSO = {
    ("/api/payment-requests", "GET"),
    (f"/api/payment-requests/{ID}/payments", "POST"),
    ("/api/webhooks", "PUT"),
}
UNKNOWN = [
    "/api", "/api/", "/api/v1", "/api/public/", "/api/Payment-Requests", "/api//public/chains",
    "/api/public/chains.json", "/api/line%0Abreak", "/api/%00", "/api/%ff%fe", "/api/" + "x" * 8000, "/api/../api/x",
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "FOO"]


def test_an_unknown_path_is_a_json_404_for_every_method(raw: Raw) -> None:
    paths = [*UNKNOWN, *(path + "/" for path in ENDPOINTS)]
    for method, path in product(("GET", "POST", "DELETE"), paths):
        response = raw(b"{}", method=method, path=path)
        error = error_of(response)
        found = response.status_code, error["type"], error["code"]
        assert found == (404, "invalid_request_error", "resource_missing"), (method, path)
    assert nothing_stored()


@pytest.mark.parametrize("path", ENDPOINTS)
def test_wrong_method_is_405_with_an_allow_header(raw: Raw, path: str) -> None:
    for method in METHODS:
        response = raw(b"{}", method=method, path=path)
        allowed = response.get("Allow", "").split(", ")
        if response.status_code == 405:
            assert error_of(response)["code"] == "method_not_allowed"
            assert ENDPOINTS[path] in allowed
            assert method not in allowed
        else:
            assert method == ENDPOINTS[path] or (path, method) in ALSO
            assert response.status_code < 500
    assert nothing_stored()


def test_the_same_paths_elsewhere_are_pages(public: Api) -> None:
    response = public.get("/nowhere")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_reading_by_head_needs_no_permission_and_options_is_405(merchant: Merchant, method: str) -> None:
    _, key = issue_key(merchant=merchant, permissions=[])
    caller = Api(key)
    statuses = {
        path: caller.call(method, path).status_code
        for path in ("/api/payment-requests", "/api/refunds", "/api/events")
    }
    assert set(statuses.values()) == {200 if method == "HEAD" else 405}
    assert caller.call("HEAD", f"/api/payment-requests/{ID}").status_code == 404
    assert caller.call("HEAD", "/api/webhooks").status_code == 403
