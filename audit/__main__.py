"""Look up every pinned package in databases of vulnerabilities. `python -m audit sbom` lists the packages.

Exit status: 0 if there are no known vulnerabilities, 1 if there are, 2 if a database can't be reached.
"""

import json
import subprocess
import sys
from pathlib import Path

from demo.services import node

REPOSITORY = Path(__file__).resolve().parent.parent
TOOLS = REPOSITORY / ".local" / "audit" / "bin"
SBOM = REPOSITORY / ".local" / "sbom"
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")
NPM_FOLDERS = (
    "checkout/frontend",
    "clients/typescript",
    "contracts",
    "demo/services",
    "demo/wallet",
    "tests/support/accessibility",
    "tests/support/contracts",
    "tests/support/walletconnect/phone",
    "website",
)
# The folders of the npm packages that operators deploy or merchants install.
SHIPPED = ("checkout/frontend", "clients/typescript")
_UNREACHABLE = (
    "{name}: the advisory database can't be reached, so nothing is known about these packages. "
    "Run this again with a network connection.\n{detail}"
)


def audit() -> int:
    """Print the known vulnerabilities of each lock file. Return the exit status."""
    statuses = [_python(name) for name in REQUIREMENTS] + [_npm(folder) for folder in NPM_FOLDERS]
    return 1 if 1 in statuses else max(statuses)


def _python(name: str) -> int:
    command = [
        str(TOOLS / "pip-audit"),
        "--requirement",
        name,
        "--disable-pip",
        "--no-deps",
        "--format",
        "json",
    ]
    done = subprocess.run(
        [*command, "--progress-spinner", "off"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return python_result(name, done.stdout, done.stderr)


def python_result(name: str, output: str, errors: str) -> int:
    """Print the vulnerabilities in pip-audit's JSON. Return the exit status."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        return _unreachable(name, errors)
    skipped = [each for each in packages if "skip_reason" in each]
    found = [(each, problem) for each in packages for problem in each.get("vulns", ())]
    for each, problem in found:
        fixed = ", ".join(problem["fix_versions"]) or "no version yet"
        print(f"{name}: {each['name']} {each['version']}: {problem['id']}, fixed in {fixed}")
    if found:
        return 1
    if skipped:
        return _unreachable(name, f"{skipped[0]['name']}: {skipped[0]['skip_reason']}")
    print(f"{name}: nothing is known against {len(packages)} packages")
    return 0


def _npm(folder: str) -> int:
    command = [*node.npm(), "audit", "--json", "--package-lock-only"]
    done = subprocess.run(
        command, cwd=REPOSITORY / folder, env=node.environment(), capture_output=True, text=True, check=False
    )
    return npm_result(folder, done.stdout, done.stderr)


def npm_result(folder: str, output: str, errors: str) -> int:
    """Print the vulnerabilities in npm audit's JSON. Return the exit status."""
    try:
        report = json.loads(output)
        found = report["vulnerabilities"]
        count = report["metadata"]["dependencies"]["total"]
    except (ValueError, KeyError, TypeError):
        return _unreachable(folder, errors or output)
    for name, problem in found.items():
        print(f"{folder}: {name} ({problem['severity']}), fix available: {bool(problem['fixAvailable'])}")
    if found:
        return 1
    print(f"{folder}: nothing is known against {count} packages")
    return 0


def _unreachable(name: str, detail: str) -> int:
    lines = [line for line in detail.strip().splitlines() if line.strip()]
    print(_UNREACHABLE.format(name=name, detail="\n".join(f"    {line}" for line in lines[-3:])))
    return 2


def sbom() -> int:
    """Write a CycloneDX file for the deployed parts and for those that merchants install. Needs no network."""
    SBOM.mkdir(parents=True, exist_ok=True)
    for name, pins in (("python", "requirements.txt"), ("python-tracing", "requirements-tracing.txt")):
        target = SBOM / f"{name}.cdx.json"
        command = [str(TOOLS / "cyclonedx-py"), "requirements", pins, "--output-reproducible"]
        subprocess.run([*command, "--of", "JSON", "-o", str(target)], cwd=REPOSITORY, check=True)
        print(target.relative_to(REPOSITORY))
    for folder in SHIPPED:
        command = [*node.npm(), "sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--omit=dev"]
        done = subprocess.run(
            command,
            cwd=REPOSITORY / folder,
            env=node.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        target = SBOM / f"{folder.replace('/', '-')}.cdx.json"
        target.write_text(done.stdout)
        print(target.relative_to(REPOSITORY))
    return 0


if __name__ == "__main__":
    sys.exit(sbom() if sys.argv[1:] == ["sbom"] else audit())
