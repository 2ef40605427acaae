"""Build the site: `python -m website` (into `.local/site`), or serve it on this machine: `python -m website serve`."""

import os
import secrets
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.fernet import Fernet

FOLDER = Path(__file__).resolve().parent
SITE = FOLDER.parent / ".local" / "site"
PORT = 8010  # `make run` uses 8000 to 8004
_NOWHERE = "127.0.0.1:1"


def prepare() -> None:
    """Set the environment variables that the API's description needs. Nothing connects to the database or Redis."""
    os.environ.update(
        SECRET_KEY=secrets.token_urlsafe(50),
        ENCRYPTION_KEYS=Fernet.generate_key().decode(),
        DEBUG="False",
        ENVIRONMENT="staging",
        BASE_URL="https://pay.example.com",
        CHECKOUT_URL="https://pay.example.com",
        ALLOWED_HOSTS="pay.example.com",
        DATABASE_URL=f"postgresql://nowhere@{_NOWHERE}/nowhere",
        REDIS_URL=f"redis://{_NOWHERE}/0",
        DJANGO_SETTINGS_MODULE="config.settings",
        # MkDocs prints a note about its successor at each start.
        NO_MKDOCS_2_WARNING="1",
    )
    # Call this before MkDocs is imported, because Django's logging configuration disables existing loggers.
    import django

    django.setup()


def build(folder: Path = SITE, docs: Path = FOLDER.parent / "docs") -> None:
    """Build the site of these pages into `folder`. Exit with status 1 if a link or an anchor is broken."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    config = load_config(str(FOLDER / "mkdocs.yml"), strict=True, site_dir=str(folder), docs_dir=str(docs))
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build_site(config)
    except Abort as problem:
        sys.exit(problem.code)
    finally:
        config.plugins.on_shutdown()


def serve(port: int) -> None:
    """Serve the built site on this machine until Ctrl-C."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    prepare()
    build()
    print(f"The site is in {SITE.relative_to(FOLDER.parent)}.", flush=True)
    if sys.argv[1:] == ["serve"]:
        serve(int(os.environ.get("DOCS_PORT", str(PORT))))
