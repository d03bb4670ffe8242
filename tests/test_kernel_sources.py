"""The rules of the house for sources of kernels."""
from __future__ import annotations

import re
from pathlib import Path

from tests.sources import MAX_WIDTH, OPERATIONS, SHARED, files, place


def test_kernel_sources_are_as_narrow_as_python() -> None:
    wide = [place(path, number) for path in files(".cl", ".h") if path.parent.name != "include"
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if len(line) > MAX_WIDTH]
    assert not wide, "\n".join(wide)


def test_what_kernels_declare_has_a_name_of_its_kernel() -> None:
    """Several kernels make a program, whose functions, types and constants have a name each: `FUNC(name)`."""
    wrong = []
    for path in (p for p in files(".cl", ".h") if p.is_relative_to(OPERATIONS)):
        text = path.read_text(encoding="utf-8")
        own = {"FUNC", "KERNEL", *re.findall(r"^#define (\w+) FUNC\(", text, re.MULTILINE)}
        wrong += [f"{place(path, text.count(chr(10), 0, found.start()) + 1)}: {found['name']}"
                  for found in _DECLARED.finditer(text) if found["name"] not in own]
    assert not wrong, "\n".join(wrong)


def test_headers_of_a_kernel_do_not_declare_the_same() -> None:
    """What one device never compiles together another one may."""
    wrong = []
    for kernel in (p for p in files(".cl") if p.is_relative_to(OPERATIONS)):
        users: dict[str, list[str]] = {}
        for path in _with_headers(kernel):
            for name in set(_OF_KERNEL.findall(path.read_text(encoding="utf-8"))):
                users.setdefault(name, []).append(place(path))
        wrong += [f"{place(kernel)}: {name} of {' and '.join(sorted(by))}" for name, by in users.items() if len(by) > 1]
    assert not wrong, "\n".join(wrong)


_OF_KERNEL = re.compile(r"^[A-Za-z].*?FUNC\((\w+)\)(?= ?[(;={A-Z\[])", re.MULTILINE)
_INCLUDED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def _with_headers(path: Path) -> set[Path]:
    """A file and those of operations that it includes, and that these include."""
    found, todo = set[Path](), [path]
    while todo:
        here = todo.pop()
        found.add(here)
        headers = {(OPERATIONS if name.startswith(f"{SHARED}/") else here.parent) / name
                   for name in _INCLUDED.findall(here.read_text(encoding="utf-8"))}
        todo += [header for header in headers if header.exists() and header not in found]
    return found


_DECLARED = re.compile(r"^(?:\} ?|(?:(?:typedef|struct|union|enum) )+|constant [\w ]+ |"
                       r"(?!return|asm|else)(?:\w+[ *]+)+)(?P<name>(?!struct|union|enum)\w+)(?=[(;=\[]| [{=])",
                       re.MULTILINE)


def test_kernels_include_headers_of_their_own_operation_or_shared_ones() -> None:
    """A header lies beside the files that include it; where they are in several operations, or shared
    themselves, in `shared/`."""
    users: dict[Path, set[str]] = {path: set() for path in files(".h") if path.is_relative_to(OPERATIONS)}
    wrong = []
    for path in (p for p in files(".cl", ".h") if p.is_relative_to(OPERATIONS)):
        for name in _INCLUDED.findall(path.read_text(encoding="utf-8")):
            header = (OPERATIONS if name.startswith(f"{SHARED}/") else path.parent) / name
            if header in users:
                users[header].add(place(path))
            elif name != "clinfer.cl":
                wrong.append(f"{place(path)} includes {name}")
    assert not wrong, "\n".join(wrong)
    alone = [place(header) for header, places in users.items() if len(places) < 2]
    assert not alone, f"included by fewer than two files: {alone}"
    shared = {header: places for header, places in users.items() if header.parent.name == SHARED}
    folders = {header: {Path(p).parent for p in places} for header, places in shared.items()}
    one_operation = [place(h) for h, within in folders.items()
                     if len(within) < 2 and not any(folder.name == SHARED for folder in within)]
    assert not one_operation, f"belongs into the one operation that uses it: {one_operation}"


def test_every_kernel_source_starts_with_a_header() -> None:
    bare = []
    for path in files(".cl", ".h"):
        text = path.read_text(encoding="utf-8").lstrip()
        header = re.match(r"/\*(.*?)\*/|((?://[^\n]*\n)+)", text, flags=re.DOTALL)
        if header is None or len(re.findall(r"\w+", header[0])) < 5:
            bare.append(place(path))
    assert not bare, f"no header comment that says what it does: {bare}"
