"""MkDocs hooks, which add pages from outside docs/ and the API reference, and convert links that lead out of docs/."""

import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from website import reference  # noqa: E402 - MkDocs loads this file by its path

# The site's pages that show sections of the README. For each page: its title, and these sections.
SECTIONS = {
    "quick-start.md": ("Quick start", ("Try it",)),
    "first-integration.md": ("From your shop's code", ("Request a payment", "Receive the webhook")),
    "deployment.md": ("Deployment", ("Deploy it",)),
    "how-it-is-built.md": ("How it is built", ("How it is built",)),
}
# The site's pages that show a file of the repository. For each page: the file.
FILES = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security-policy.md": "SECURITY.md",
    "client-python.md": "clients/python/README.md",
    "client-typescript.md": "clients/typescript/README.md",
}
MERMAID = REPOSITORY / "website" / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"
MERMAID_HERE = "assets/javascripts/mermaid.min.js"
MERMAID_ELSEWHERE = '"https://unpkg.com/mermaid@11/dist/mermaid.min.js"'

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\]|\n(?!\n))*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(\s*)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"<p>\s*(?:<img [^>]*>\s*)+</p>")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add each decision to the navigation, newest first."""
    assert config.nav is not None
    (entry,) = [entry for entry in config.nav if "Decisions" in entry]
    entry["Decisions"] = [
        {"All decisions": "decisions/index.md"},
        *({title: path} for path, title in reversed(decisions().items())),
    ]
    return config


def decisions() -> dict[str, str]:
    """Return the title of each decision by its page, oldest first."""
    found = sorted((REPOSITORY / "docs" / "decisions").glob("[0-9]*.md"))
    return {f"decisions/{path.name}": path.read_text().split("\n", 1)[0].removeprefix("# ") for path in found}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/, and the script that draws diagrams."""
    pages = {path: _sections(title, names) for path, (title, names) in SECTIONS.items()}
    pages |= {path: (REPOSITORY / source).read_text() for path, source in FILES.items()}
    pages |= reference.pages()
    listed = (f"- [{title}]({posixpath.basename(path)})" for path, title in decisions().items())
    pages["decisions/index.md"] = (
        "# Decisions\n\nChoices that are hard to change, and their reasons.\n\n" + "\n".join(listed)
    )
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, MERMAID_HERE, abs_src_path=str(MERMAID)))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Load the script that draws diagrams from the site, not from a third party."""
    (bundle,) = (Path(config.site_dir) / "assets" / "javascripts").glob("bundle.*.min.js")
    script = bundle.read_text()
    if script.count(MERMAID_ELSEWHERE) != 1:
        raise PluginError("the theme loads Mermaid in another way than website/hooks.py expects")
    bundle.write_text(script.replace(MERMAID_ELSEWHERE, f'""+new URL("{MERMAID_HERE}",__md_scope)'))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert links to pages of the site, or to the published source. If neither is possible, keep only the text."""
    path = page.file.src_uri
    if path == "index.md":
        page.meta["hide"] = ["navigation"]
    if path.startswith("reference/") or path == "decisions/index.md":
        return markdown
    folder = source_folder(path)
    known = {file.src_uri for file in files}
    # Don't convert links in fenced code blocks.
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_linked(markdown[end : fence.start()], path, folder, known, config), fence[0]]
        end = fence.end()
    return "".join([*parts, _linked(markdown[end:], path, folder, known, config)])


def source_folder(path: str) -> str:
    """Return the folder to which the links of a page are relative, as a path from the repository's root."""
    if path in SECTIONS:
        return ""
    return posixpath.dirname(FILES.get(path, f"docs/{path}"))


def _linked(text: str, page: str, folder: str, known: set[str], config: MkDocsConfig) -> str:
    def replaced(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            if target.startswith("#") and page in SECTIONS:
                return f"[{words}]({_within_readme(target, page)})"
            return match[0]
        file, _, anchor = target.partition("#")
        address = site_address(posixpath.normpath(posixpath.join(folder, file)), anchor, known)
        if address is not None:
            return f"{mark}[{words}]({posixpath.relpath(address, posixpath.dirname(page) or '.')})"
        if not (REPOSITORY / folder / file).exists():
            return match[0]  # MkDocs then stops the build
        source = config.extra.get("source_url") or os.environ.get("DOCS_SOURCE_URL", "")
        inside = posixpath.normpath(posixpath.join(folder, target))
        return f"[{words}]({source.rstrip('/')}/{inside})" if source else words

    return _LINK.sub(replaced, text)


def site_address(file: str, anchor: str, known: set[str]) -> str | None:
    """Return the path at which the site shows a file of the repository. Return None if the site doesn't show it."""
    shown = {source: path for path, source in FILES.items()}
    if file == "README.md":
        return _within_readme(f"#{anchor}", "") if anchor else "index.md"
    if file == "docs/decisions":
        return "decisions/index.md"
    path = shown.get(file) or file.removeprefix("docs/")
    if path not in known or (file not in shown and not file.startswith("docs/")):
        return None
    return f"{path}#{anchor}" if anchor else path


def _within_readme(anchor: str, page: str) -> str:
    """Return the page and anchor that show a heading of the README."""
    for path, (_, names) in SECTIONS.items():
        for name in names:
            text = _section(name)
            headings = re.findall(r"^##+ (.+)$", text, re.MULTILINE)
            if anchor.removeprefix("#") in {_slug(heading) for heading in headings}:
                is_title = len(names) == 1 and anchor.removeprefix("#") == _slug(name)
                return path if is_title else (anchor if path == page else f"{path}{anchor}")
    return "index.md"


def _sections(title: str, names: tuple[str, ...]) -> str:
    text = "\n".join(_section(name) for name in names)
    if len(names) == 1:  # the section's heading is the title of the page
        text = text.split("\n", 1)[1]
    return f"# {title}\n\n{text}"


def _section(name: str) -> str:
    """Return a section of the README with its heading. Raises KeyError if there is none."""
    sections = re.split(r"^(?=## )", (REPOSITORY / "README.md").read_text(), flags=re.MULTILINE)
    return {part.split("\n", 1)[0].removeprefix("## "): part for part in sections}[name]


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def slugify(**_: Any) -> Any:
    """Return the function that makes anchors of headings as GitHub does."""
    return lambda text, _: _slug(re.sub(r"<[^>]*>", "", text))
