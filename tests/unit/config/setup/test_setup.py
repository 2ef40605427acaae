"""`manage.py setup` writes a complete `.env` once, which only its owner can read. With errors, it writes nothing."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from config.environment.checking import check
from config.environment.declared import declared
from config.setup import command, env_file

FLAGS = [
    "--base-url=https://pay.example.com",
    "--database-url=postgresql://quittance:pa%24s@db.example:5432/quittance",
    "--redis-url=redis://127.0.0.1:6379/0",
]


class Runner:
    """Records the commands of manage.py instead of running them."""

    def __init__(self, failing: str = "", code: int = 1) -> None:
        self.commands: list[list[str]] = []
        self._failing = failing
        self._code = code

    def __call__(self, arguments: Sequence[str]) -> int:
        self.commands.append(list(arguments))
        return self._code if arguments[0] == self._failing else 0


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in declared():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def runner() -> Runner:
    return Runner()


def set_up(folder: Path, runner: Runner, *flags: str) -> int:
    return command.main(flags, is_terminal=False, run=runner, folder=folder)


def test_three_flags_make_a_complete_production(tmp_path: Path, runner: Runner) -> None:
    assert set_up(tmp_path, runner, *FLAGS) == 0
    file = tmp_path / ".env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    values = env_file.read(file.read_text())
    settings = check(values)
    assert (settings.ENVIRONMENT, settings.DEBUG, settings.TRUSTED_PROXIES) == ("production", False, 1)
    assert settings.CHECKOUT_URL == settings.BASE_URL == "https://pay.example.com"
    assert settings.ALLOWED_HOSTS == ["pay.example.com"]
    assert values["DATABASE_URL"].endswith("pa%24s@db.example:5432/quittance")
    assert len(settings.METRICS_TOKEN) > 30
    assert runner.commands == [["doctor"]]


def test_each_deployment_has_its_own_keys(tmp_path: Path, runner: Runner) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert set_up(tmp_path / name, runner, *FLAGS) == 0
        made.append(env_file.read((tmp_path / name / ".env").read_text()))
    for key in ("SECRET_KEY", "ENCRYPTION_KEYS", "METRICS_TOKEN"):
        assert made[0][key] != made[1][key]


@pytest.mark.parametrize("kind", ["file", "link to nowhere", "folder"])
def test_what_is_there_is_never_overwritten(tmp_path: Path, runner: Runner, kind: str) -> None:
    file = tmp_path / ".env"
    match kind:
        case "file":
            file.write_text("SECRET_KEY=precious\n")
        case "folder":
            file.mkdir()
        case _:
            file.symlink_to(tmp_path / "elsewhere")
    assert set_up(tmp_path, runner, *FLAGS) == 2
    assert kind != "file" or file.read_text() == "SECRET_KEY=precious\n"
    assert not (tmp_path / "elsewhere").exists()
    assert runner.commands == []


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SECRET_KEY=precious\n")
    with pytest.raises(env_file.Unwritable):
        env_file.write(tmp_path / ".env", "SECRET_KEY=another\n")
    assert (tmp_path / ".env").read_text() == "SECRET_KEY=precious\n"


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (FLAGS[:1], "--database-url, --redis-url"),
        ([*FLAGS, "--set=LOG_LEVEL=LOUD"], "LOG_LEVEL"),
        ([*FLAGS, "--set=NO_SUCH_SETTING=1"], "NO_SUCH_SETTING"),
        ([*FLAGS, "--set=nonsense"], "NAME=VALUE"),
        ([*FLAGS, "--set=BASE_RPC_URL=ftp://node.example"], "BASE_RPC_URL"),
        (["--base-url=http://pay.example.com", *FLAGS[1:]], "BASE_URL"),
        ([*FLAGS, "--set=EMAIL_FROM=a@b.example\nDEBUG=True"], "NAME=VALUE"),
        ([*FLAGS, "--set=METRICS_TOKEN='quoted'"], "METRICS_TOKEN"),
    ],
)
def test_missing_or_wrong_value_is_named_and_no_file_written(
    tmp_path: Path, runner: Runner, flags: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_up(tmp_path, runner, *flags) == 2
    said = capsys.readouterr().err
    assert named in said
    assert "pa%24s" not in said
    assert list(tmp_path.iterdir()) == []
    assert runner.commands == []


def test_the_environment_counts_as_given(
    tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://quittance:secret@db.example/quittance")
    monkeypatch.setenv("BASE_RPC_URL_2", "https://other.example/key")
    assert set_up(tmp_path, runner, FLAGS[0], FLAGS[2], "--set=BASE_RPC_URL=https://node.example/key") == 0
    values = env_file.read((tmp_path / ".env").read_text())
    assert values["DATABASE_URL"] == "postgresql://quittance:secret@db.example/quittance"
    assert values["BASE_RPC_URL"] == "https://node.example/key"
    assert values["BASE_RPC_URL_2"] == "https://other.example/key"


def test_catalogue_path_is_relative_to_the_calling_folder(
    tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set_up(tmp_path, runner, *FLAGS, "--catalogue=mine.json") == 0
    assert runner.commands[0] == ["load_catalogue", str(tmp_path / "mine.json")]


def test_the_steps_run_in_order_and_end_at_the_first_that_fails(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    runner = Runner()
    assert set_up(tmp_path / "one", runner, *FLAGS, "--migrate", "--catalogue=mainnet.json") == 0
    assert [each[0] for each in runner.commands] == ["migrate", "collectstatic", "load_catalogue", "doctor"]
    (tmp_path / "two").mkdir()
    failing = Runner("migrate")
    assert set_up(tmp_path / "two", failing, *FLAGS, "--migrate") == 1
    assert [each[0] for each in failing.commands] == ["migrate"]


def test_setup_succeeds_before_processes_start_and_lists_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_up(tmp_path, Runner("doctor"), *FLAGS, "--catalogue=mainnet.json") == 0
    printed = capsys.readouterr().out
    for step in ("manage.py migrate", "createsuperuser", "web, worker, beat, events", "manage.py doctor"):
        assert step in printed
    assert "load_catalogue" not in printed


def test_setup_fails_if_doctor_rejects_the_settings(tmp_path: Path) -> None:
    assert set_up(tmp_path, Runner("doctor", code=2), *FLAGS) == 2


def test_setup_on_a_running_deployment_lists_no_steps(
    tmp_path: Path, runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set_up(tmp_path, runner, *FLAGS) == 0
    assert "Still to do" not in capsys.readouterr().out


def test_processes_to_start_are_those_of_the_procfile() -> None:
    procfile = (command.REPOSITORY / "Procfile").read_text().splitlines()
    processes = {line.partition(":")[0] for line in procfile if line}
    assert set(command._PROCESSES) == processes - {"release"}


def test_terminal_prompts_for_missing_values_and_hides_secrets(
    tmp_path: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = iter(["postgresql://quittance:secret@db.example/quittance", "redis://127.0.0.1:6379/0", ""])
    shown = iter(["", "https://pay.example.com"])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(hidden))
    monkeypatch.setattr("builtins.input", lambda prompt: next(shown))
    assert command.main([], is_terminal=True, run=runner, folder=tmp_path) == 0
    values = env_file.read((tmp_path / ".env").read_text())
    assert values["BASE_URL"] == "https://pay.example.com"
    assert "EMAIL_URL" not in values
    assert os.environ.get("DATABASE_URL") is None
