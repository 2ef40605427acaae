"""Run pytest, and the few tests that failed once more, alone: `python -m tests.again ARGUMENT…`.

A machine that is much slower than usual can make a test miss its time among many others. Such a test is named at the
end, so that it is made sturdier. One that fails twice fails the run, and so do more failures than `MOST`.
"""

import subprocess
import sys

import pytest

MOST = 5


class _Failures:
    """A plugin that keeps the ids of the tests that failed, and of why."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.causes: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure in any phase of a test. A fixture that failed is one failure of all tests that share it."""
        if report.failed and report.nodeid not in self.ids:
            self.ids.append(report.nodeid)
            crash = getattr(report.longrepr, "reprcrash", None)
            self.causes.add(str(crash.message) if crash and report.when == "setup" else report.nodeid)


def main(arguments: list[str]) -> int:
    """Return the exit status of pytest, or of the second run."""
    failures = _Failures()
    status = int(pytest.main(arguments, plugins=[failures]))
    if status != pytest.ExitCode.TESTS_FAILED or not 0 < len(failures.causes) <= MOST:
        return status
    print(f"\nRunning {len(failures.ids)} failed tests again, alone.", flush=True)
    status = subprocess.run([sys.executable, "-m", "pytest", *failures.ids], check=False).returncode
    if status == pytest.ExitCode.OK:
        print("These tests failed among others and passed alone. Make them sturdier:")
        print("\n".join(failures.ids))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
