"""Run several management commands in one process. A process for each command would be slow, because each process would
load the service again.

`python -m demo.commands` reads a JSON object for each command: `{"arguments": […], "environment": {…}}`. After each
command, it writes a JSON object with the `output`, or with the `problem` that ended the command.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from types import TracebackType
from typing import Any, Self

from demo.services.process import REPOSITORY, ServiceError


class Commands:
    """A process for management commands, until the end of the `with` block. Call it with the arguments of a command."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "demo.commands"],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.communicate()

    def __call__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Return the command's output. The variables in `environment` are set only for this command.

        Raises ServiceError with the end of the command's output.
        """
        assert self._child.stdin
        assert self._child.stdout
        command = {"arguments": arguments, "environment": environment or {}}
        with suppress(BrokenPipeError):  # the process has ended, so there is no response
            self._child.stdin.write(json.dumps(command) + "\n")
            self._child.stdin.flush()
        answer = self._child.stdout.readline()
        result: dict[str, str] = json.loads(answer) if answer else {"problem": "The process ended."}
        if "problem" in result:
            end = "\n".join(f"  {line}" for line in result["problem"].splitlines()[-15:])
            raise ServiceError(f"manage.py {arguments[0]} failed:\n{end}")
        return result["output"]


def main() -> None:
    """Run the commands on standard input, until the input ends."""
    import django

    from config.environment import load_or_exit

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    load_or_exit()
    django.setup()
    answers = sys.stdout
    for line in sys.stdin:
        command = json.loads(line)
        before = dict(os.environ)
        os.environ.update(command["environment"])
        answers.write(json.dumps(_run(command["arguments"])) + "\n")
        answers.flush()
        os.environ.clear()
        os.environ.update(before)


def _run(arguments: list[str]) -> dict[str, Any]:
    from django.core.management import CommandError, call_command

    output = StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        try:
            call_command(*arguments, stdout=output, stderr=output)
        except (CommandError, SystemExit) as error:
            return {"problem": f"{output.getvalue()}{error}"}
        except Exception as error:
            return {"problem": f"{output.getvalue()}{type(error).__name__}: {error}"}
    return {"output": output.getvalue().strip()}


if __name__ == "__main__":
    main()
