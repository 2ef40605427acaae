"""The project's layout: imports run in one direction, and files are small."""

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
# Each app may import the ones before it. Of `config`, apps may import only the modules in SHARED.
ORDER = ("config", "chains", "merchants", "webhooks", "payments", "checkout")
SHARED = (
    "config.api",
    "config.admin",
    "config.backoff",
    "config.bounded_body",
    "config.database",
    "config.doctor.finding",
    "config.due_work",
    "config.mail",
    "config.observe.outside_calls",
    "config.tracing",
)
OUTSIDE = ("demo", "tests", "bench", "clients", "quittance")
LONGEST_FILE = 430
MAX_FILES = 15  # files per folder, including `__init__.py`
WIDGET = REPOSITORY / "checkout/frontend/src"


def imports(file: Path) -> Iterator[str]:
    """Yield the dotted name of every import in `file`, including those inside functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide where they lead"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("app", ORDER)
def test_an_app_imports_only_what_stands_before_it(app: str) -> None:
    allowed = {*ORDER[: ORDER.index(app)], app}
    for file in (REPOSITORY / app).rglob("*.py"):
        for name in imports(file):
            room = name.split(".")[0]
            assert room not in OUTSIDE, f"{file} imports {name}, which is no part of the product"
            assert room not in ORDER or room in allowed, f"{file} imports {name}, which stands after it"


@pytest.mark.parametrize("app", ORDER[1:])
def test_of_config_apps_import_the_shared_conventions_alone(app: str) -> None:
    for file in (REPOSITORY / app).rglob("*.py"):
        for name in imports(file):
            assert not name.startswith("config") or name.startswith(SHARED), f"{file} imports {name}"


def modules() -> dict[str, Path]:
    """Return every module of the product by its dotted name. A package has its folder's name."""
    found = {}
    for app in ORDER:
        for file in (REPOSITORY / app).rglob("*.py"):
            if "migrations" not in file.parts:
                name = ".".join(file.relative_to(REPOSITORY).with_suffix("").parts)
                found[name.removesuffix(".__init__")] = file
    return found


def test_inside_an_app_no_packages_import_each_other() -> None:
    """Inside each package, imports between modules and subpackages form no cycle, so that each can be read alone."""
    known = modules()
    below: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, file in known.items():
        for imported in imports(file):
            target = imported if imported in known else imported.rpartition(".")[0]
            package, own, others = shared_package(name, target)
            if target in known and package and own != others:
                below[package][own].add(others)
    for package, graph in below.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(f"inside {package}: " + " <- ".join(error.args[1]))


def shared_package(one: str, other: str) -> tuple[str, str, str]:
    """Return the innermost package that contains both modules, and the parts directly below it that contain each."""
    ones, others = one.split("."), other.split(".")
    depth = 0
    while depth < min(len(ones), len(others)) and ones[depth] == others[depth]:
        depth += 1
    if depth in (0, len(ones), len(others)):
        return "", "", ""
    return ".".join(ones[:depth]), ones[depth], others[depth]


@pytest.mark.parametrize(
    ("model", "writer"),
    [
        ("Transition", "payments.requests.transitions"),
        ("Payment", "payments.requests.new_payments"),
        ("ConsumedTransfer", "payments.verification.consumption"),
        ("Event", "webhooks.events"),
        ("DepositAddress", "payments.deposits.showing"),
    ],
)
def test_rows_of_a_model_are_inserted_by_one_module(model: str, writer: str) -> None:
    """Rows inserted without `create` or SQL, such as saved new instances, are not found."""
    inserting = re.compile(rf"\b{model}\.objects\.\w*create|INTO \w+_{model.lower()}\b")
    assert {name for name, file in modules().items() if inserting.search(file.read_text())} == {writer}


def test_folders_stay_small_enough_to_read_at_a_glance() -> None:
    for app in ORDER:
        for folder in {file.parent for file in (REPOSITORY / app).rglob("*.py")}:
            files = list(folder.glob("*.py"))
            assert len(files) <= MAX_FILES or folder.name == "migrations", f"{folder}: {len(files)}"


def test_no_drawer_for_odds_and_ends_and_no_hidden_plumbing() -> None:
    for app in ORDER:
        for file in (REPOSITORY / app).rglob("*.py"):
            assert file.stem not in ("utils", "common", "helpers", "signals"), file


def test_files_stay_short() -> None:
    for app in ORDER:
        for file in (REPOSITORY / app).rglob("*.py"):
            assert len(file.read_text().splitlines()) <= LONGEST_FILE or "migrations" in file.parts, file


def test_no_file_of_the_widget_imports_itself_round_a_corner() -> None:
    modules = {re.sub(r"(\.d)?\.ts$", "", str(file)): file for file in WIDGET.rglob("*.ts")}
    graph = {name: set(imported_modules(name, file.read_text())) for name, file in modules.items()}
    assert set().union(*graph.values()) <= modules.keys(), "an import leads nowhere"
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def imported_modules(name: str, text: str) -> Iterator[str]:
    """Yield the modules that `name` imports, even if only for types, because they must be read together."""
    for path in re.findall(r'(?:from |import\()"(\.[^"]+)"', text):
        if not path.endswith(".json"):
            yield os.path.normpath(os.path.join(os.path.dirname(name), path))
