"""Kernels as PTX, NVIDIA's binaries, spells them out ("Parallel Thread Execution ISA")."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

_MOST_LOCAL_BYTES = 200 << 10
"""Tiles that fill more of it hold more sums than a work-item of a megakernel has registers for."""
_MOST_PRIVATE_BYTES = 256
"""Of a work-item, in memory; all work-items of a megakernel have room for those of all of its bodies."""
_PARAMETER = re.compile(r"\.param\s+(?:\.[usfb](?P<bits>\d+)(?P<pointer>\s+\.ptr\s+\.(?P<space>\w+)"
                        r"(?:\s+\.align\s+\d+)?)?\s+(?P<name>\w+)"
                        r"|\.align\s+(?P<align>\d+)\s+\.b8\s+(?P<array>\w+)\[(?P<bytes>\d+)\])")
VARIABLE = re.compile(r"^\s*\.shared\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\];\n", re.MULTILINE)
"""A variable in a group's local memory: its alignment, name and bytes."""
_PRIVATE = re.compile(r"^\s*\.local\s.*\[(\d+)\];$", re.MULTILINE)
_TABLE = re.compile(r"^\.global\s[^\n=]*?([\w$]+)\[\d+\] = \{[^}]*\};$", re.MULTILINE)
"""A variable of a program that has its value from the beginning: its name."""
_FOREIGN = re.compile(r"\bcall\b|\.(?:const|texref|samplerref|surfref)\b|%(?:nctaid|clock|dynamic)"
                      r"|\bbar(?:rier)?(?:\.cta)?\.(?:arrive|red)|\bbar\.sync\s+(?!\s|0;)|\bexit;|\btrap;"
                      r"|%envreg(?:[789]|\d\d)")
"""What only a kernel of its own may have: functions, other kinds of memory, other barriers than that of all, a size of
its own, and numbers of the driver's that mean something else."""
_AWAITS = re.compile(r"^\s*// awaits others, has read((?: \d+)*)$", re.MULTILINE)
"""A line of a kernel before which it reads no memory but that of parameters with these numbers, and writes none."""
_INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(\{[^}]*\}|[^,;]*)([^;]*);", re.MULTILINE)
_NAME, _ADDRESS = re.compile(r"[%\w$]+"), re.compile(r"\[([^\]]*)\]")
_ELSEWHERE = re.compile(r"\.(?:param|shared|local|const)\b(?!.*\.global\b)")


class NotJoinable(Exception):
    """What a kernel has that no body of a megakernel may have."""


@dataclass(frozen=True)
class Parameter:
    """Where a kernel's parameter lies among the arguments of a stage, in bytes."""

    name: str
    offset: int
    nbytes: int
    is_pointer: bool


@dataclass(frozen=True)
class PtxKernel:
    """A kernel as PTX spells it out: what is within its braces, what its program says before all kernels, and the
    tables of numbers of its program that it reads, by their names."""

    name: str
    parameters: tuple[Parameter, ...]
    text: str
    header: str
    tables: tuple[tuple[str, str], ...] = ()

    @property
    def arguments_bytes(self) -> int:
        """Bytes of the arguments of a stage."""
        last = self.parameters[-1]
        return last.offset + last.nbytes

    @property
    def local_bytes(self) -> int:
        """Local memory of a group."""
        return variables(self.text)[1]

    @cached_property
    def read_early(self) -> tuple[tuple[int, ...] | None, ...]:
        """For each line at which it may await other kernels, one behind the other: the parameters that it reads before.
        None: it cannot do so there, since the line occurs twice, or a compiler has moved other reads ahead."""
        found = [*_AWAITS.finditer(self.text)]
        lines = [line[1] for line in found]
        early = [tuple(map(int, line.split())) for line in lines]
        return tuple(
            read if lines.count(line[1]) == 1 and self._reads(self.text[:line.start()]) <= set(read) else None
            for line, read in zip(found, early, strict=True))

    def _reads(self, text: str) -> set[int]:
        """The numbers of the pointers among the parameters through which the beginning of the text may read; -1 if
        it may write."""
        numbers = {parameter.name: number for number, parameter in enumerate(self.parameters) if parameter.is_pointer}
        instructions = [(found[1], {*_NAME.findall(found[2])}, found[2] + found[3], {*_NAME.findall(found[3])})
                        for found in _INSTRUCTION.finditer(text)]
        origins: dict[str, set[int]] = {name: {number} for name, number in numbers.items()}
        before = None
        while before != (before := sum(map(len, origins.values()))):
            for _, results, _, names in instructions:
                come = {number for name in names for number in origins.get(name, ())}
                for result in results if come else ():
                    origins[result] = origins.get(result, set()) | come
        read: set[int] = set()
        for name, _, operands, _ in instructions:
            if name.startswith(("st", "atom", "red")) and not _ELSEWHERE.search(name):
                read.add(-1)
            elif name.startswith(("ld", "cp.", "prefetch")) and not _ELSEWHERE.search(name):
                read |= {number for address in _ADDRESS.findall(operands) for each in _NAME.findall(address)
                         for number in origins.get(each, ())}
        return read

    def awaiting(self, wait: Callable[[int], str]) -> str:
        """Its text that awaits others by the code for each of the lines at which it can, counted from 1."""
        points = enumerate(self.read_early, 1)

        def code(_: re.Match[str]) -> str:
            point, early = next(points)
            return "" if early is None else wait(point)

        return _AWAITS.sub(code, self.text)


def find_kernel(program: str, name: str) -> PtxKernel:
    """A kernel of a program; NotJoinable: it has something that only a kernel of its own may have."""
    found = re.search(rf"\.entry\s+{re.escape(name)}\s*\((?P<parameters>[^)]*)\)[^{{]*\{{\n", program)
    if found is None:
        raise NotJoinable(f"the program spells out no kernel {name}")
    text = _to_closing_brace(program, found.end())
    tables = tuple((table[1], table[0]) for table in _TABLE.finditer(program) if table[1] in text)
    kernel = PtxKernel(name, _parameters(found["parameters"]), text, program[:program.index(".address_size")], tables)
    foreign = _FOREIGN.search(kernel.text)
    if foreign:
        raise NotJoinable(f"{name} uses {foreign[0].strip()}")
    if kernel.local_bytes > _MOST_LOCAL_BYTES:
        raise NotJoinable(f"{name} has {kernel.local_bytes} bytes of local memory")
    private = sum(map(int, _PRIVATE.findall(text)))
    if private > _MOST_PRIVATE_BYTES:
        raise NotJoinable(f"{name} has {private} bytes of memory for each work-item")
    return kernel


def _to_closing_brace(text: str, start: int) -> str:
    """What stands before the brace that closes one which was opened before `start`."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[start:start + brace.start()]
    raise NotJoinable("its text has no end")


def _parameters(text: str) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    end = 0
    for declaration in filter(None, map(str.strip, text.split(","))):
        found = _PARAMETER.fullmatch(declaration)
        if found is None or found["space"] not in (None, "global"):
            raise NotJoinable(f"it has the parameter {declaration}")
        nbytes = int(found["bytes"] or int(found["bits"] or 0) // 8)
        offset = rounded(end, int(found["align"] or nbytes))
        name = found["name"] or found["array"]
        parameters.append(Parameter(name, offset, nbytes, found["pointer"] is not None))
        end = offset + nbytes
    if not parameters:
        raise NotJoinable("it has no parameters")
    return tuple(parameters)


def rounded(value: int, multiple: int) -> int:
    """A number up to the next multiple."""
    return -(-value // multiple) * multiple


def variables(text: str) -> tuple[dict[str, int], int]:
    """Where the variables of a group's local memory begin, and the bytes of all."""
    places: dict[str, int] = {}
    end = 0
    for alignment, name, nbytes in VARIABLE.findall(text):
        places[name] = rounded(end, int(alignment))
        end = places[name] + int(nbytes)
    return places, end
