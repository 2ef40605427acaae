"""The nginx configuration meets docs/deploying.md's requirements for proxies."""

import re

from tests.unit.deploy.test_files import DEPLOY

TEXT = (DEPLOY / "nginx.conf").read_text()


def test_braces_and_statements_are_complete() -> None:
    code = [line.strip() for line in TEXT.splitlines() if line.strip() and not line.strip().startswith("#")]
    assert all(line.endswith((";", "{", "}")) for line in code)
    assert TEXT.count("{") == TEXT.count("}")


def test_client_can_not_choose_its_address_or_scheme() -> None:
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in TEXT
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in TEXT
    # A header in a location would replace all headers of the server block.
    locations = TEXT.partition("listen 443")[2].partition("location")[2]
    assert "proxy_set_header" not in locations


def test_streams_are_not_buffered_and_paths_not_logged() -> None:
    (pattern, body) = re.findall(r"location ~ (\S+) \{([^}]+)\}", TEXT.replace("[^/]+", "X"))[0]
    assert pattern == "^/api/public/payment-requests/X/events$"
    assert "127.0.0.1:8001" in body
    assert "proxy_buffering off" in body
    assert "access_log off;" in TEXT
