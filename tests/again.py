"""Run pytest, then run failed tests once more, one at a time: `python -m tests.again ARGUMENT…`.

On a slow machine, a test can time out while many others run. The second run lists such tests at its end, so
that they get fixed. The run fails if a test fails twice, or if more than `MAX_FAILURES` tests fail.
"""

import subprocess
import sys

import pytest

MAX_FAILURES = 5


class _Failures:
    """A pytest plugin that records the ids of failed tests, and the reasons."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.causes: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a failure in the setup, the call or the teardown of a test.

        If a shared fixture fails, that is one failure for all its tests.
        """
        if report.failed and report.nodeid not in self.ids:
            self.ids.append(report.nodeid)
            crash = getattr(report.longrepr, "reprcrash", None)
            self.causes.add(str(crash.message) if crash and report.when == "setup" else report.nodeid)


def main(arguments: list[str]) -> int:
    """Run the tests; return the exit status of the last run."""
    failures = _Failures()
    status = int(pytest.main(arguments, plugins=[failures]))
    if status != pytest.ExitCode.TESTS_FAILED or not 0 < len(failures.causes) <= MAX_FAILURES:
        return status
    print(f"\nRunning {len(failures.ids)} failed tests again, alone.", flush=True)
    status = subprocess.run([sys.executable, "-m", "pytest", *failures.ids], check=False).returncode
    if status == pytest.ExitCode.OK:
        print("These tests failed among others and passed alone. Make them sturdier:")
        print("\n".join(failures.ids))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
