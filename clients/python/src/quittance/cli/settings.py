"""The service's URL and the secrets. Secrets are never arguments, because `ps` shows arguments."""

import argparse
import os
import re
import secrets
import string
import sys
from pathlib import Path

from quittance.client import Client

_MAX_PAGE = 100
_WEBHOOK_SECRET = re.compile(r"whsec_[A-Za-z0-9]{32}")


class SettingsError(Exception):
    """A setting is missing. The message says which one, and how to set it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--base-url", metavar="URL", help="URL of the Quittance deployment (default: QUITTANCE_BASE_URL)"
    )
    parser.add_argument(
        "--api-key-file",
        metavar="FILE",
        help="file that contains only the API key, or - for standard input (default: QUITTANCE_API_KEY)",
    )


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add the option `--limit`, which every command that lists objects has."""
    parser.add_argument("--limit", type=int, default=20, help="maximum number to list (default: 20)")


def page_limit(options: argparse.Namespace) -> int:
    """Return how many objects to request per page. Raises SettingsError for a limit below 1."""
    limit: int = options.limit
    if limit < 1:
        raise SettingsError("--limit should be 1 or more.")
    return min(limit, _MAX_PAGE)


def client_of(options: argparse.Namespace, *, timeout: float = 30.0, max_retries: int = 3) -> Client:
    """Return a client, with settings from the options and the environment. Raises SettingsError if one is missing."""
    base_url = options.base_url or os.environ.get("QUITTANCE_BASE_URL")
    if not base_url:
        raise SettingsError(
            "No base URL. Set QUITTANCE_BASE_URL, such as https://pay.example.com, or --base-url."
        )
    try:
        return Client(_api_key(options), base_url=base_url, timeout=timeout, max_retries=max_retries)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def webhook_secret(options: argparse.Namespace) -> tuple[str, bool]:
    """Return the signing secret, and whether it was generated here."""
    if options.secret_file:
        secret = _first_line(options.secret_file)
    else:
        secret = os.environ.get("QUITTANCE_WEBHOOK_SECRET", "").strip()
    if not secret:
        return "whsec_" + "".join(
            secrets.choice(string.ascii_letters + string.digits) for _ in range(32)
        ), True
    if not _WEBHOOK_SECRET.fullmatch(secret):
        raise SettingsError("The webhook secret should be whsec_ and 32 letters and digits.")
    return secret, False


def _api_key(options: argparse.Namespace) -> str:
    if options.api_key_file:
        return _first_line(options.api_key_file)
    key = os.environ.get("QUITTANCE_API_KEY", "").strip()
    if not key:
        raise SettingsError(
            "No API key. Set QUITTANCE_API_KEY, or name a file with --api-key-file.\n"
            "Create a key in the portal of the deployment. It is shown once."
        )
    return key


def _first_line(file: str) -> str:
    try:
        text = sys.stdin.readline() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} can't be read: {error}") from None
    return text.strip()
