"""Each page contains the digests of its scripts and style sheets, so that browsers reject altered files."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command

from payments.models import PaymentRequest
from tests.conftest import Api

Create = Callable[..., dict[str, Any]]
SOLANA = "/static/checkout/solana.js"


def digest(name: str) -> str:
    return digest_of(Path(finders.find(name)))


def digest_of(file: Path) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(file.read_bytes()).digest()).decode()


@pytest.mark.parametrize(
    "path",
    ["/pay/{shortcode}", "/pay/{shortcode}/by-hand", "/pay/{shortcode}/receipt", "/pay/nonesuch2345", "/"],
)
def test_page_names_the_digest_of_each_file(public: Api, api: Api, order: Create, path: str) -> None:
    request = api.post("/api/payment-requests", order()).json()
    if path.endswith("receipt"):
        PaymentRequest.objects.filter(pk=request["id"]).update(status="completed", amount_paid=10_500_000)
    text = public.get(path.format(**request)).content.decode()
    loaded = re.findall(r'<(?:script|link)[^>]*(?:src|href)="/static/(\S+\.(?:js|css))"[^>]*>', text)
    named = re.findall(r'(?:src|href)="/static/(\S+\.(?:js|css))" integrity="([^"]+)"', text)
    assert sorted(loaded) == sorted(name for name, _ in named)
    assert loaded
    for name, integrity in named:
        assert integrity == digest(name)


def test_import_map_has_the_scripts_loaded_later(public: Api, api: Api, order: Create) -> None:
    request = api.post("/api/payment-requests", order()).json()
    text = public.get(f"/pay/{request['shortcode']}").content.decode()
    (import_map,) = re.findall(r'<script nonce="[^"]+" type="importmap">(.+?)</script>', text)
    known = json.loads(import_map)["integrity"]
    assert known[SOLANA] == digest("checkout/solana.js")
    assert not {name for name in known if name.endswith(("checkout.js", "quittance.js"))}


def test_collected_files_have_their_own_digests(
    public: Api, api: Api, order: Create, settings: Any, tmp_path: Path
) -> None:
    settings.STATIC_ROOT, settings.COLLECTED = tmp_path, True
    manifest = "checkout.static_files.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": manifest}}
    others = ["admin/*", "unfold/*", "api/*", "merchants/*", "payments/*"]
    call_command("collectstatic", "--no-input", verbosity=0, ignore_patterns=others)

    request = api.post("/api/payment-requests", order()).json()
    text = public.get(f"/pay/{request['shortcode']}").content.decode()
    named = dict(re.findall(r'(?:src|href)="/static/(\S+\.(?:js|css))" integrity="([^"]+)"', text))
    (import_map,) = re.findall(r'type="importmap">(.+?)</script>', text)
    named |= {
        name.removeprefix("/static/"): value for name, value in json.loads(import_map)["integrity"].items()
    }
    assert len(named) >= 2
    for name, integrity in named.items():
        assert re.search(r"\.[0-9a-f]{12}\.(js|css)$", name)
        assert integrity == digest_of(tmp_path / name)
    script = public.get("/quittance.js").content
    assert script == (tmp_path / "checkout/quittance.js").read_bytes()
