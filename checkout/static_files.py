"""The storage of collected static files, which are fingerprinted, and compressed with gzip and Brotli."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from whitenoise.storage import CompressedManifestStaticFilesStorage

_READY = Path(__file__).parent / "brotli"


class StaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """WhiteNoise's storage, with the Brotli files that the checkout's build wrote.

    WhiteNoise serves `.br` files to browsers that accept them, but it can't write them without another package.
    """

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        paths = list(paths)
        yield from super().compress_files(paths)
        ready = {file.name.split(".")[-2]: file for file in _READY.glob("*.br")}
        for path in paths:
            content = Path(self.path(path)).read_bytes()
            file = ready.get(hashlib.sha256(content).hexdigest()[:16])
            if file is not None:
                shutil.copyfile(file, f"{self.path(path)}.br")
                yield path, f"{path}.br"
