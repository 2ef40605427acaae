"""What the release process collects is fingerprinted and compressed, as the web process then expects it."""

import subprocess
import sys

import pytest

from tests.processes import REPOSITORY

_ASK = """
import sys
sys.argv = ["manage.py", *sys.argv[1:]]
from config import settings
print(settings.STORAGES["staticfiles"]["BACKEND"])
"""


@pytest.mark.parametrize(
    ("command", "storage"),
    [("collectstatic", "CompressedManifestStaticFilesStorage"), ("migrate", "StaticFilesStorage")],
)
def test_the_release_collects_with_fingerprints_though_none_are_there_yet(command: str, storage: str) -> None:
    if (REPOSITORY / "staticfiles" / "staticfiles.json").exists():
        pytest.skip("files were collected in this folder before")
    said = subprocess.run(
        [sys.executable, "-c", _ASK, command], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip().rsplit(".", 1)[-1] == storage
