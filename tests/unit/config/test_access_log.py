"""A request id that was handed out stands in the logs, with what was asked and answered, and without a query."""

import logging

import pytest
from django.test import Client


def test_each_request_leaves_one_line(db: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="config.api.request_id"):
        response = Client().get("/api/public/chains?key=not-for-a-log", headers={"X-Request-Id": "mine-42"})
    (record,) = [record for record in caplog.records if record.name == "config.api.request_id"]
    assert response["X-Request-Id"] == "mine-42"
    assert record.getMessage().startswith("GET /api/public/chains 200 ")
    assert "not-for-a-log" not in record.getMessage()
