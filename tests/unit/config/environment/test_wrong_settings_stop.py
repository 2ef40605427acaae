"""Real processes with wrong settings: each ends immediately, with one line per error and no other output."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import environ
import pytest

from config.environment import SettingsError, load
from demo.services.process import free_port
from tests.processes import REPOSITORY, Process, eventually

PROCFILE = dict(line.split(": ", 1) for line in (REPOSITORY / "Procfile").read_text().splitlines())
KINDS = {
    **PROCFILE,
    "manage.py": "python manage.py check",
    "own command": "python manage.py create_merchant Shop",
    "gunicorn itself": "gunicorn --config config/gunicorn.py",
    "the local world": "python -m demo.world",
}
SECRET = "hunter2"
WRONG = {
    "ENCRYPTION_KEYS": SECRET,
    "EMAIL_URL": f"carrier-pigeon://{SECRET}",
    "SENTRY_DSN": f"not a url {SECRET}",
    "METRICS_TOKEN": f"two {SECRET}",
    "LIFI_API_KEY": f"{SECRET} ",
    "DATABASE_POOL_SIZE": "many",
    "LOG_LEVEL": "LOUD",
    "RATE_LIMIT_API": "fast",
    "TRUSTED_PROXIES": "the-office",
    "BASE_RPC_URL": f"node.example/{SECRET}",
    "WORKER_CONCURRENCY": "many",
    "WEB_CONCURRENCY": "zero",
    "PORT": "http",
}
# The local world sets these itself, to valid values. gunicorn reads others at import, before they can be
# checked.
UNTOUCHED = {
    "the local world": {"ENCRYPTION_KEYS", "LIFI_API_KEY", "BASE_URL", "SECRET_KEY", "ALLOWED_HOSTS"},
    "gunicorn itself": {"WEB_CONCURRENCY"},
}


def run(command: str, **different: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a platform does, with the tests' settings and these changes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=REPOSITORY,
        env={**os.environ, "PATH": path, **different},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_it_ends_with_one_line_per_fault_and_no_secret(kind: str, tmp_path: Path) -> None:
    wrong = {
        **WRONG,
        "SECRET_KEY": "abc",
        "BASE_URL": "pay.example.com",
        "DATABASE_URL": f"mysql://user:{SECRET}@127.0.0.1/quittance",
        "REDIS_URL": f":{SECRET}@127.0.0.1:6379/0",
        "ALLOWED_HOSTS": "https://pay.example.com",
    }
    wrong["LIFI_API_KEY"] = f"a {SECRET}"
    expected = wrong.keys() - UNTOUCHED.get(kind, set())
    done = run(KINDS[kind], **{name: wrong[name] for name in expected}, WORLD_DIRECTORY=str(tmp_path))
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == sorted(expected)
    assert all("; it should be " in line for line in lines)
    output = done.stdout + done.stderr
    assert SECRET not in output
    assert "Traceback" not in output


def test_plain_gunicorn_with_wrong_settings_exits() -> None:
    command = f"gunicorn --bind 127.0.0.1:{free_port()} --no-control-socket config.wsgi"
    done = run(command, LOG_LEVEL="LOUD", WEB_CONCURRENCY="1")
    assert done.returncode == 3
    assert 'LOG_LEVEL: "LOUD" is unknown; it should be ' in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["--help", "help startproject"])
def test_what_needs_no_settings_works_without_right_ones(command: str) -> None:
    done = run(f"python manage.py {command}", SECRET_KEY="", LOG_LEVEL="LOUD")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("program", ["shop", "aggregator"])
def test_the_demo_reports_all_that_it_needs_at_once(program: str) -> None:
    done = run(f"python -m demo.{program}", SHOP_PORT="99999", AGGREGATOR_PORT="x", SHOP_URL="nowhere")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) > 2
    assert all(re.fullmatch(r"[A-Z_]+: .+; it should be .+", line) for line in lines)


@pytest.mark.django_db(transaction=True)
def test_web_process_with_right_settings_serves_and_stops(tmp_path: Path) -> None:
    port = free_port()
    command = PROCFILE["web"].removeprefix("python -m ").split()
    web = Process(tmp_path / "web.log", *command, PORT=str(port), WEB_CONCURRENCY="")
    try:
        eventually(lambda: _is_alive(port), "the web process answered")
        web.ask_to_stop()
        assert web.wait(60) == 0
    finally:
        web.kill()


def _is_alive(port: int) -> bool:
    try:
        return bool(urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).status == 200)
    except OSError:
        return False


@pytest.mark.django_db(transaction=True)
def test_worker_starts_the_configured_number_of_processes(tmp_path: Path) -> None:
    command = PROCFILE["worker"].split()
    log = tmp_path / "worker.log"
    worker = Process(log, *command, WORKER_CONCURRENCY="3", LOG_LEVEL="INFO")
    try:
        eventually(lambda: " ready." in log.read_text(), "the worker was ready")
        eventually(lambda: worker.children == 3, "it had three processes")
    finally:
        worker.kill()


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A separate environment, into which a `.env` file can be read. The process' own stays unchanged."""
    own = {**os.environ}
    monkeypatch.setattr(os, "environ", own)
    monkeypatch.setattr(environ.Env, "ENVIRON", own)
    return own


def test_a_file_gives_what_the_environment_does_not_have(apart: dict[str, str], tmp_path: Path) -> None:
    apart["PORT"] = "8001"
    apart.pop("WEB_CONCURRENCY", None)
    text = "# a comment\n\n  # another\nPORT=8002\nexport WEB_CONCURRENCY='5'\nWORKER_CONCURRENCY=\"6\"\r\n"
    (tmp_path / ".env").write_text("\ufeff" + text)
    env = load(tmp_path)
    assert (env.PORT, env.WEB_CONCURRENCY, env.WORKER_CONCURRENCY) == (8001, 5, 6)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (f"PORT=1\nSECRET_KEY = {SECRET}\n".encode(), "line 2 can't be read"),
        (f"PORT=1\n SECRET_KEY={SECRET}\n".encode(), "line 2 can't be read"),
        (f"SECRET_KEY={SECRET}\0\n".encode(), "line 1 can't be read"),
        (f"SECRET_KEY={SECRET}\xe9\n".encode("latin-1"), "is not UTF-8"),
    ],
)
def test_unreadable_env_file_is_a_fault_that_quotes_nothing(
    apart: dict[str, str],
    tmp_path: Path,
    content: bytes,
    problem: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(SettingsError) as error:
        load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path}/.env: {problem}; it should be ")
    assert SECRET not in str(error.value) + caplog.text


def test_a_value_may_refer_to_another_variable_that_is_set(apart: dict[str, str], tmp_path: Path) -> None:
    apart |= {"POSTGRES_ADDRESS": "postgresql://db.example/shop", "DATABASE_URL": "$POSTGRES_ADDRESS"}
    assert load(tmp_path).DATABASE_URL["HOST"] == "db.example"


@pytest.mark.parametrize("value", [f"${SECRET}", "$METRICS_TOKEN", "$"])
def test_a_value_that_refers_to_nothing_is_a_fault(apart: dict[str, str], tmp_path: Path, value: str) -> None:
    apart["METRICS_TOKEN"] = value
    with pytest.raises(SettingsError) as error:
        load(tmp_path)
    assert str(error.value).startswith("METRICS_TOKEN: begins with $")
    assert SECRET not in str(error.value)
