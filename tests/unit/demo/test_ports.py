"""`make run` and `make docs-serve` use different ports, so that both can run at once."""

import re

from demo.services.process import REPOSITORY
from website.__main__ import PORT


def test_docs_are_served_beside_the_demo() -> None:
    demo_ports = re.findall(r'_port\("\w+", (\d+)\)', (REPOSITORY / "demo/world.py").read_text())
    assert len(demo_ports) >= 5
    assert str(PORT) not in demo_ports
