"""The files in `deploy/` match the product: each process runs, each setting exists, and no container is privileged."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.environment.declared import declared
from demo.services import postgres, redis

REPOSITORY = Path(__file__).resolve().parents[3]
DEPLOY = REPOSITORY / "deploy"
PROCFILE = dict(line.split(": ", 1) for line in (REPOSITORY / "Procfile").read_text().splitlines() if line)
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
UNITS = sorted(DEPLOY.glob("systemd/*.service"))
OBJECTS = [
    each for file in sorted(DEPLOY.glob("kubernetes/*.yaml")) for each in yaml.safe_load_all(file.read_text())
]
PODS = {
    each["metadata"]["labels"]["process"]: each["spec"]["template"]["spec"]
    for each in OBJECTS
    if each["kind"] in ("Deployment", "Job")
}
OWN = ("web", "worker", "beat", "events", "release")
# Variables of PostgreSQL's image, the proxy, backups, Docker and Python.
NOT_OURS = re.compile(
    r"POSTGRES_\w+|PUBLIC_HOST|FAILURE_URL|BACKUP_(RECIPIENT|DAYS)|TRACING|PATH|PIP_\w+|PYTHON\w+|\w+_RPC_URL"
)


def version_of(program: Path) -> str:
    """Return the version of a server that tests, `make run` and CI use."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    (version,) = re.findall(r"(?:PostgreSQL\) |v=)(\d[\d.]*)", said)
    return str(version)


@pytest.mark.parametrize(
    ("service", "image", "program"),
    [
        ("database", "docker.io/library/postgres", postgres.program("postgres")),
        ("redis", "docker.io/valkey/valkey", redis.program()),
    ],
)
def test_compose_names_the_versions_that_the_tests_run(service: str, image: str, program: Path) -> None:
    named = COMPOSE["services"][service]["image"]
    assert named.partition(":")[0] == image
    assert named.partition(":")[2].partition("-")[0] == version_of(program)


def test_backups_are_made_by_the_databases_own_version() -> None:
    image = COMPOSE["services"]["database"]["image"]
    assert f"FROM {image} AS backup" in (DEPLOY / "Containerfile").read_text()


def words_of(command: Any) -> list[str]:
    """Return the words that identify a process. Addresses, ports and the shell can differ."""
    text = " ".join(command) if isinstance(command, list) else command
    return re.split(r"[\s=]+", text)


def assert_runs(process: str, command: Any) -> None:
    """Check that the command has all words of the Procfile's, except those that depend on the location."""
    given = {word.rpartition("/")[2] for word in words_of(command)}
    first = PROCFILE[process].split(" && ")[0]
    for word in re.split(r"[\s=]+", first):
        if "$" not in word and word != "0.0.0.0":
            assert word.rpartition("/")[2] in given, f"{process}: {word} is missing in {command}"


@pytest.mark.parametrize("process", PROCFILE)
def test_each_process_runs_in_each_way(process: str) -> None:
    assert process in OWN
    assert_runs(process, COMPOSE["services"][process]["command"])
    (container,) = PODS[process]["containers"]
    assert_runs(process, container["command"])
    unit = (DEPLOY / f"systemd/quittance-{process}.service").read_text()
    (command,) = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    assert_runs(process, command)


def names_of_settings() -> Iterator[str]:
    for service in COMPOSE["services"].values():
        environment = service.get("environment", {})
        yield from environment
        yield from re.findall(r"\$\{(\w+)", str(environment))
    for each in OBJECTS:
        if each["kind"] == "ConfigMap":
            yield from each["data"]
    for file in (DEPLOY / "Containerfile", DEPLOY / "README.md", *DEPLOY.glob("systemd/*")):
        yield from re.findall(r"\b([A-Z][A-Z_]{3,})=", file.read_text())


def test_each_setting_that_is_named_exists() -> None:
    named = set(names_of_settings())
    assert {"BASE_URL", "DATABASE_URL", "TRUSTED_PROXIES", "EVENTS_URL"} <= named
    assert {name for name in named if name not in declared() and not NOT_OURS.fullmatch(name)} == set()


def test_only_proxy_is_published_and_database_stays_internal() -> None:
    published = {name for name, service in COMPOSE["services"].items() if "ports" in service}
    assert published == {"proxy"}
    assert COMPOSE["networks"]["inside"]["internal"] is True
    for name in ("database", "redis", "backup"):
        assert COMPOSE["services"][name]["networks"] == ["inside"]


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_container_has_no_privileges_and_bounds(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service["mem_limit"]
    assert "docker.sock" not in str(service)
    # PostgreSQL's image starts as root, to become the owner of its volume.
    assert name == "database" or service["cap_drop"] == ["ALL"]


def test_images_have_exact_versions_and_full_names() -> None:
    images = [service.get("image", "quittance:local") for service in COMPOSE["services"].values()]
    text = (DEPLOY / "Containerfile").read_text()
    images += re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    images += [container["image"] for pod in PODS.values() for container in pod["containers"]]
    for image in images:
        assert re.search(r":(\d+\.\d+(\.\d+)?(-\w+)*|local)$", image), image
        # Podman would search for a short name in all its registries. Our own images' names are chosen by the
        # operator.
        assert image.startswith(("docker.io/", "quittance")), image


def test_service_image_has_a_health_check_and_no_root() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    assert [re.match(r"\S+ AS (\w+)", stage)[1] for stage in stages] == ["build", "backup", "service"]  # type: ignore[index]
    service = stages[2]
    assert re.search(r"^USER 10001:10001$", service, re.MULTILINE)
    assert service.index("USER ") < service.index("\nCMD ")
    assert "HEALTHCHECK" in service
    assert "pip install" not in service
    for instruction in re.findall(r"^([A-Z]+) ", text, re.MULTILINE):
        assert instruction != "ADD"
    copied = re.findall(r"^COPY (?!--)(\S+)", text, re.MULTILINE)
    assert all((REPOSITORY / name).exists() for name in copied if name != "manage.py")
    assert not any(".env" in name for name in copied)
    ignored = (REPOSITORY / ".dockerignore").read_text().splitlines()
    let_through = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    sources = re.findall(r"^COPY (?!--from)(?:--\S+ )?(.+) \S+$", text, re.MULTILINE)
    assert let_through == {source for line in sources for source in line.split()}
    assert "*" in ignored


def test_backup_container_gets_the_database_and_no_key() -> None:
    backup = COMPOSE["services"]["backup"]
    assert "env_file" not in backup
    own = {"BACKUP_FOLDER", "BACKUP_RECIPIENT"}
    assert backup["environment"].keys() - own == {"DATABASE_URL"}
    assert "DATABASE_URL=%s" in (DEPLOY / "README.md").read_text()


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_log_of_a_container_is_rotated(name: str) -> None:
    logging = COMPOSE["services"][name]["logging"]
    assert logging["driver"] == "json-file"
    assert logging["options"] == {"max-size": "20m", "max-file": "5"}


def test_doctor_has_read_only_access_to_the_backup_folder() -> None:
    web, backup = COMPOSE["services"]["web"], COMPOSE["services"]["backup"]
    folder = web["environment"]["BACKUP_FOLDER"]
    assert folder == backup["environment"]["BACKUP_FOLDER"]
    assert web["volumes"] == [f"backups:{folder}:ro"]
    assert backup["volumes"] == [f"backups:{folder}"]
    # A new volume belongs to root, but the script runs as another user. So the image must have the folder.
    text = (DEPLOY / "Containerfile").read_text()
    assert re.search(
        rf"^RUN install --directory --owner=postgres .*--mode=0755 {folder}$", text, re.MULTILINE
    )
    assert "backup" in web["depends_on"]
    unit = (DEPLOY / "systemd/quittance-backup.service").read_text()
    (kept,) = re.findall(r"^Environment=BACKUP_FOLDER=(.+)$", unit, re.MULTILINE)
    assert f"--set BACKUP_FOLDER={kept} " in (DEPLOY / "README.md").read_text()


@pytest.mark.parametrize("process", PODS)
def test_a_pod_meets_the_restricted_standard(process: str) -> None:
    pod = PODS[process]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]
    assert container["volumeMounts"] == [{"name": "temporary", "mountPath": "/tmp"}]


def test_no_file_holds_a_secret() -> None:
    config = next(each for each in OBJECTS if each["kind"] == "ConfigMap")
    secret = {name for name, setting in declared().items() if setting.is_secret}
    assert not secret & config["data"].keys()
    assert not any(each["kind"] == "Secret" for each in OBJECTS)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_hardened(unit: Path) -> None:
    text = unit.read_text()
    for line in (
        "User=quittance",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=",
        "PrivateTmp=yes",
    ):
        assert f"\n{line}\n" in text, line


@pytest.mark.parametrize("name", ["backup", "doctor", "release"])
def test_failure_of_a_one_time_unit_is_reported(name: str) -> None:
    text = (DEPLOY / f"systemd/quittance-{name}.service").read_text()
    assert "\nOnFailure=quittance-failure@%n.service\n" in text
    reporting = (DEPLOY / "systemd/quittance-failure@.service").read_text()
    assert "OnFailure" not in reporting
    (script,) = re.findall(r"^ExecStart=/opt/quittance/(\S+) %i$", reporting, re.MULTILINE)
    assert os.access(REPOSITORY / script, os.X_OK)


def test_release_waits_for_the_database_before_it_migrates(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd/quittance-release.service").read_text()
    (after,) = re.findall(r"^After=(.+)$", text, re.MULTILINE)
    assert {"postgresql.service", "redis-server.service"} <= set(after.split())
    check, command = re.findall(r"^ExecStartPre=(.+)$", text, re.MULTILINE)
    assert check == "/opt/quittance/.venv/bin/python manage.py check"
    # The stub fails as long as the database is down: two times.
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\ncd $(dirname $0) && echo $* >>calls\n[ $(wc -l <calls) -gt 2 ] || { echo refused >&2; exit 1; }\n"
    )
    python.chmod(0o700)
    command = command.replace("/opt/quittance/.venv/bin/python", str(python)).replace("sleep 5", "sleep 0")
    done = subprocess.run(shlex.split(command.replace("$$", "$")), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "refused\nrefused\n")
    assert (tmp_path / "calls").read_text() == "manage.py showmigrations\n" * 3


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not on this machine")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for file in DEPLOY.glob("systemd/*"):
        text = re.sub(r"^(ExecStart(Pre)?)=.*$", r"\1=/bin/true", file.read_text(), flags=re.MULTILINE)
        (tmp_path / file.name).write_text(text)
    files = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_scripts_are_sound() -> None:
    for script in DEPLOY.rglob("*.sh"):
        assert os.access(script, os.X_OK)
        assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
        assert "set -euo pipefail" in script.read_text()
