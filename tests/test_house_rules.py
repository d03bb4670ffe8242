"""The rules of the house, checked on the source text; of clinfer only the table of knobs is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from clinfer.base.knobs import KNOBS
from clinfer.base.knobs import page as knobs_page
from tests.sources import OPERATIONS, PACKAGE, ROOT, SHARED, files, is_ours, place, python_files

# Who stands higher may import who stands lower; those in one row do not know each other.
LAYERS = (
    ("base",),
    ("runtime", "symbolic"),
    ("topology", "tuning"),
    ("kernels",),
    ("ops",),
    ("program",),
    ("network", "frontend"),
    ("remote",),
    ("api",),
    ("serve",),
    ("ray",),
    ("cli",),
)
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
OWNERS = {"pyopencl": {"runtime", "remote"}, "openvino": {"frontend", "api"}}

MAX_FILE, MAX_FUNCTION = 300, 80
TEXT = {".py", ".cl", ".h", ".md", ".toml", ".txt", ".sh", ".yml", ""}


@dataclass(frozen=True)
class Source:
    """What is kept of a Python file; all trees at once would take 300 MB. `imports`: (module, line) of each, wherever
    it stands; for `from a import b` both a and a.b. `code`: the numbers of lines that hold code: no blank lines,
    comments or docstrings. `functions`: (name, first line, last line)."""

    imports: tuple[tuple[str, int], ...]
    code: frozenset[int]
    functions: tuple[tuple[str, int, int], ...]
    is_silent: bool
    """Whether it has code and does not say what it is."""


def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, the module first."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))))


@cache
def source_of(path: Path) -> Source:
    nodes = nodes_of(path)
    module = nodes[0]
    assert isinstance(module, ast.Module)
    functions = ((node.name, node.lineno, node.end_lineno or node.lineno) for node in nodes
                 if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return Source(tuple(_imported(path, nodes)), _code_lines(path, nodes), tuple(functions),
                  bool(module.body) and ast.get_docstring(module) is None)


def module_of(path: Path) -> str:
    """The dotted name of the package in which relative imports of this file start."""
    return ".".join(path.relative_to(ROOT).parent.parts)


def _imported(path: Path, nodes: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module_of(path).split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [node.module])])
            yield base, node.lineno
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node).endswith(("import_module", "__import__")):
            names = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            yield from ((name, node.lineno) for name in names if isinstance(name, str))


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def layer_of(path: Path) -> str:
    """The folder of the package in which a file stands, or "" for a file directly in the package."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def operation_names() -> list[str]:
    folders = (p for p in OPERATIONS.iterdir() if p.is_dir() and any(p.glob("*.py")) and is_ours(p))
    return sorted(p.name for p in folders if p.name != SHARED)


def _code_lines(path: Path, nodes: Sequence[ast.AST]) -> frozenset[int]:
    text = path.read_text(encoding="utf-8").split("\n")
    lines = {number for number, line in enumerate(text, 1) if line.strip() and not line.lstrip().startswith("#")}
    docstrings: set[int] = set()
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings |= lines_of(first)
        elif isinstance(node, (ast.Constant, ast.JoinedStr)):
            lines |= lines_of(node)
    return frozenset(lines - docstrings)


def lines_of(node: ast.expr | ast.stmt) -> set[int]:
    """Where a node stands, blank lines and what looks like comments within strings included."""
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def strip_cl_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)


def test_every_folder_of_the_package_is_a_known_layer() -> None:
    assert {layer_of(path) for path in python_files(PACKAGE)} - {""} <= set(RANK)


def test_imports_go_one_way() -> None:
    wrong = []
    for path in python_files(PACKAGE):
        own = layer_of(path)
        for module, line in source_of(path).imports:
            parts = module.split(".")
            if not own or parts[0] != "clinfer":
                continue
            other = parts[1] if len(parts) > 1 else "__init__"
            allowed = other == own or RANK.get(other, len(LAYERS)) < RANK[own]
            if not allowed:
                wrong.append(f"{place(path, line)}: {own} imports {module}")
    assert not wrong, "\n".join(sorted(set(wrong)))


@pytest.mark.parametrize("library", OWNERS)
def test_libraries_have_owners(library: str) -> None:
    wrong = [
        f"{place(path, line)} imports {module}"
        for path in python_files(PACKAGE)
        if layer_of(path) not in OWNERS[library]
        for module, line in source_of(path).imports
        if module.split(".")[0] == library
    ]
    assert not wrong, "\n".join(wrong)


def test_cases_are_known_only_to_operations_and_passes() -> None:
    ops = {*operation_names(), SHARED}
    wrong = []
    for path in python_files(PACKAGE):
        if path.is_relative_to(OPERATIONS) or path.is_relative_to(PACKAGE / "program" / "passes"):
            continue
        for module, line in source_of(path).imports:
            parts = module.split(".")
            if parts[:2] == ["clinfer", "ops"] and len(parts) > 2 and parts[2] in ops:
                wrong.append(f"{place(path, line)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_every_operation_has_its_primitive_and_its_cases() -> None:
    ops = operation_names()
    wanted = [OPERATIONS / op / file for op in ops for file in ("op.py", "cases.py")]
    missing = [place(path) for path in wanted if not path.exists()]
    assert not missing, f"missing: {missing}"


def test_only_operations_and_what_they_share_stand_in_ops() -> None:
    loose = [place(p) for p in files(".py", ".cl", ".h")
             if p.parent == OPERATIONS and p.name not in ("__init__.py", "operation.py")]
    assert not loose, f"belongs into an operation, or into {SHARED}/ if several operations use it: {loose}"
    wrong = [
        f"{place(path, line)} imports {module}"
        for path in python_files(OPERATIONS / SHARED)
        for module, line in source_of(path).imports
        if module.split(".")[:2] == ["clinfer", "ops"] and module.split(".")[2:3] not in ([], [SHARED], ["operation"])
    ]
    assert not wrong, "what operations share knows none of them:\n" + "\n".join(wrong)


def test_files_stay_small() -> None:
    sizes = {path: len(source_of(path).code) for path in files(".py")}
    for path in files(".cl", ".h"):
        text = strip_cl_comments(path.read_text(encoding="utf-8"))
        sizes[path] = sum(1 for line in text.splitlines() if line.strip())
    large = [f"{place(path)}: {size} lines of code" for path, size in sizes.items() if size > MAX_FILE]
    assert not large, "\n".join(large)


def test_functions_fit_on_a_screen() -> None:
    large = []
    for path in files(".py"):
        source = source_of(path)
        for name, first, last in source.functions:
            size = len(source.code & set(range(first, last + 1)))
            if size > MAX_FUNCTION:
                large.append(f"{place(path, first)} {name}: {size} lines of code")
    assert not large, "\n".join(large)


def test_every_file_of_the_package_says_what_it_is() -> None:
    silent = [place(path) for path in python_files(PACKAGE) if source_of(path).is_silent]
    assert not silent, f"no docstring: {silent}"


def test_knobs_are_read_in_one_place() -> None:
    wrong = []
    for path in python_files(PACKAGE):
        if path == PACKAGE / "base" / "knobs.py":
            continue
        for node in nodes_of(path) if "CLINFER_" in path.read_text(encoding="utf-8") else ():
            if isinstance(node, (ast.Call, ast.Subscript)) and re.match(
                    r"(os\.)?(environ\b|getenv\b).*['\"]CLINFER_", ast.unparse(node)):
                wrong.append(place(path, node.lineno))
    assert not wrong, f"environment variables read outside clinfer/base/knobs.py: {wrong}"


def test_every_knob_is_documented() -> None:
    assert len(KNOBS) <= 12
    written = (ROOT / "docs" / "knobs.md").read_text(encoding="utf-8")
    assert written == knobs_page(), "write docs/knobs.md anew: clinfer knobs --markdown > docs/knobs.md"


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def folders_in_readme() -> dict[str, str]:
    """Folder -> description, as the README's tree shows them."""
    block = readme().split("## The house", 1)[1].split("```")[1]
    found: dict[str, str] = {}
    parent = ""
    for line in filter(str.strip, block.splitlines()):
        name, _, meaning = line.strip().partition(" ")
        if line.startswith(" "):
            name = parent + name
        else:
            parent = name
        found[name] = meaning.strip()
    return found


def test_the_readme_shows_the_tree_on_disk() -> None:
    on_disk = set()
    for path in files(".py", ".md", ".cl", ".h"):
        parts = path.relative_to(ROOT).parts[:-1]
        if parts:
            on_disk.add(f"{parts[0]}/")
        if len(parts) > 1 and parts[0] == "clinfer":
            on_disk.add(f"clinfer/{parts[1]}/")
    shown = folders_in_readme()
    assert set(shown) == on_disk
    assert all(meaning for folder, meaning in shown.items() if folder != "clinfer/")


def test_the_readme_shows_layers_in_import_order() -> None:
    shown = [name.split("/")[1] for name in folders_in_readme() if name.count("/") == 2]
    ranks = [RANK[name] for name in shown]
    assert ranks == sorted(ranks, reverse=True)


def test_commands_in_documents_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):(?!=)", makefile, re.MULTILINE))
    wrong = [
        f"{place(path)}: make {target}"
        for path in files(".md")
        for target in re.findall(r"(?:`|^)make ([\w-]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if target not in targets
    ]
    assert not wrong, "\n".join(wrong)


def anchors(page: Path) -> set[str]:
    """The fragments by which links reach the headings of a page: their words in small letters, joined by hyphens."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_links_in_documents_lead_somewhere() -> None:
    wrong = []
    for path in files(".md"):
        for link in re.findall(r"\]\(([^)\s]+)", path.read_text(encoding="utf-8")):
            name, _, fragment = link.partition("#")
            target = path.parent / name if name else path
            if "://" not in link and (not target.exists() or (fragment and fragment not in anchors(target))):
                wrong.append(f"{place(path)}: {link}")
    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_for_later() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK")
    pattern = re.compile(rf"\b({'|'.join(words)})\b")
    wrong = []
    for path in files(*TEXT):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if pattern.search(line):
                wrong.append(f"{place(path, number)}: {line.strip()}")
    assert not wrong, "\n".join(wrong)
