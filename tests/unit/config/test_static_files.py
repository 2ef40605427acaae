"""A release's static files are fingerprinted, compressed and cached for a long time.

A new release serves new ones.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from demo.services.node import node
from tests.processes import REPOSITORY

_NEEDED = ("config", "chains", "merchants", "webhooks", "payments", "checkout", "templates")
_PROCFILE = dict(line.split(": ", 1) for line in (REPOSITORY / "Procfile").read_text().splitlines())
_GET = """
import json, sys
import django
django.setup()
from django.core.handlers.wsgi import WSGIHandler
from django.templatetags.static import static
from django.test import RequestFactory
application = WSGIHandler()
url = static(sys.argv[1])
for encoding in ("identity", "gzip", "gzip, deflate, br"):
    environ = RequestFactory().get(url, headers={"Accept-Encoding": encoding, "Host": "127.0.0.1"}).environ
    sent = {}
    body = b"".join(application(environ, lambda status, headers: sent.update(status=status, headers=dict(headers))))
    print(json.dumps({"url": url, "size": len(body), **sent}))
"""
_FILE = "checkout/checkout.css"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A deployment in a separate folder: the product's files, without collected static files."""
    folder = tmp_path / "deployment"
    folder.mkdir()
    for name in _NEEDED:
        unneeded = shutil.ignore_patterns("node_modules", "frontend", "__pycache__", "migrations")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=unneeded)
    shutil.copy(REPOSITORY / "manage.py", folder)
    return folder


def _run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "ALLOWED_HOSTS": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _served(folder: Path) -> list[dict[str, Any]]:
    """Return a new web process' responses for the checkout's style sheet: plain, gzip and Brotli."""
    return [json.loads(line) for line in _run(folder, "-c", _GET, _FILE).splitlines()]


def test_released_files_are_fingerprinted_compressed_cached(copy: Path) -> None:
    assert "collectstatic --noinput" in _PROCFILE["release"]
    _run(copy, "manage.py", "collectstatic", "--noinput")
    plain, zipped, brotli = _served(copy)
    assert plain["status"] == zipped["status"] == brotli["status"] == "200 OK"
    assert re.fullmatch(r"/static/checkout/checkout\.[0-9a-f]{12}\.css", plain["url"])
    assert "immutable" in plain["headers"]["Cache-Control"]
    assert zipped["headers"]["Content-Encoding"] == "gzip"
    assert zipped["size"] < plain["size"] / 2
    assert brotli["headers"]["Content-Encoding"] == "br"
    assert brotli["size"] < zipped["size"]


def test_changed_file_is_served_without_its_old_brotli(copy: Path) -> None:
    with (copy / "checkout/static" / _FILE).open("a") as file:
        file.write("\n.changed {}\n")
    _run(copy, "manage.py", "collectstatic", "--noinput")
    *_, best = _served(copy)
    assert best["headers"]["Content-Encoding"] == "gzip"


def test_each_built_file_has_its_brotli() -> None:
    built = [
        file for file in (REPOSITORY / "checkout/static/checkout").iterdir() if file.suffix in (".js", ".css")
    ]
    names = {f"{file.name}.{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}.br" for file in built}
    packed = REPOSITORY / "checkout/brotli"
    assert {file.name for file in packed.iterdir()} == names
    script = """
      const { createHash } = require("node:crypto");
      for (const path of process.argv.slice(1)) {
        const content = require("node:zlib").brotliDecompressSync(require("node:fs").readFileSync(path));
        console.log(createHash("sha256").update(content).digest("hex").slice(0, 16));
      }
    """
    done = subprocess.run(
        [node(), "-e", script, *(packed / name for name in sorted(names))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [name.split(".")[-2] for name in sorted(names)]
