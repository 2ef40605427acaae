"""The reference page has every call, field and code of the OpenAPI document, without a script."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from chains.models import Chain, Token
from config.api.reference.own_ids import with_own_ids
from tests.unit.config.api.schema.test_openapi import COMPONENTS, OPERATIONS, SCHEMA

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client) -> str:
    response = client.get("/api/docs")
    assert response.status_code == 200
    return response.content.decode()


def test_page_has_each_operation_with_its_fields_and_codes(page: str) -> None:
    for name, (path, _, operation) in OPERATIONS.items():
        _, _, rest = page.partition(f'id="operation/{name}"')
        call = rest.split('<details class="call">')[0]
        assert f'<code class="path">{path}</code>' in page, name
        for parameter in operation.get("parameters", ()):
            assert f"<code>{parameter['name']}</code>" in call, name
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        fields = COMPONENTS[body["schema"]["$ref"].rsplit("/", 1)[1]]["properties"] if body else ()
        for field in fields:
            assert f"<code>{field}</code>" in call, (name, field)
        assert call.count('class="sample"') >= len(operation["x-codeSamples"])
        assert "<code>rate_limited</code>" in call


def test_each_internal_link_has_a_target_on_the_page(page: str) -> None:
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert len(links) > len(OPERATIONS)
    assert links <= set(ids)


def test_page_has_each_event_type_and_the_verification_once(page: str) -> None:
    assert all(f'id="event/{name}"' in page for name in SCHEMA["webhooks"])
    assert page.count("Compare it in constant time") == 1


def test_page_runs_no_script_and_loads_own_files_only(client: Client) -> None:
    response = client.get("/api/docs")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    page = response.content.decode()
    assert "<script" not in page
    assert all(url.startswith("/static/") for url in re.findall(r'(?:src|<link[^>]+href)="([^"]+)"', page))


def test_samples_use_a_chain_and_token_of_the_deployment(client: Client, token: Token) -> None:
    page = unescape(client.get("/api/docs").content.decode())
    assert f"token_id={token.pk}," in page
    assert f"chain_id={token.chain_id}," in page
    assert f"USDC on {token.chain.name} of this deployment" in page


def test_deployment_without_such_token_keeps_the_examples(client: Client) -> None:
    Chain.objects.update(is_active=False)
    page = unescape(client.get("/api/docs").content.decode())
    assert "chain_id=8453," in page
    assert "of this deployment" not in page


def test_own_ids_replace_those_of_the_examples_alone() -> None:
    chain = {"id": 31337, "name": "Local", "chain_type": "evm", "is_active": True}
    token = {"id": 7, "symbol": "TUSD", "name": "Test dollar", "decimals": 6, "contract_address": "0x00"}
    example: dict[str, Any] = {
        "token": {**COMPONENTS["Token"]["examples"][0], "chain_id": 8453},
        "chain_ids": [8453, 10],
        "token_id": 2,
        "limit": 2,
        "chain": {"id": 8453, "name": "Base", "chain_type": "evm"},
        "other": {"id": 42161, "name": "Arbitrum One", "chain_type": "evm"},
    }
    localized = with_own_ids({"components": SCHEMA["components"], "example": example}, chain, token)[
        "example"
    ]
    assert localized == {
        "token": {**token, "chain_id": 31337},
        "chain_ids": [31337, 10],
        "token_id": 7,
        "limit": 2,
        "chain": {"id": 31337, "name": "Local", "chain_type": "evm"},
        "other": {"id": 42161, "name": "Arbitrum One", "chain_type": "evm"},
    }
