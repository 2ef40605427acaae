"""Two local worlds that start at once take different ports, though their servers listen much later."""

import subprocess
import sys

from demo.services.process import claim, free_port, is_free

_ANOTHER = "import sys; from demo.services.process import claim; sys.exit(not claim(int(sys.argv[1])))"


def test_a_port_is_claimed_once_before_anybody_listens() -> None:
    port = free_port()
    assert claim(port)
    assert is_free(port)
    assert not claim(port)
    assert subprocess.run([sys.executable, "-c", _ANOTHER, str(port)], check=False).returncode == 1


def test_a_claim_ends_with_its_process() -> None:
    port = free_port()
    assert subprocess.run([sys.executable, "-c", _ANOTHER, str(port)], check=False).returncode == 0
    assert claim(port)
