"""`clinfer explain --memory`: what lies where in device memory over the steps of one inference."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from clinfer.api.ports import port_name
from clinfer.base.errors import ClinferError
from clinfer.base.shape import show
from clinfer.base.turns import Token
from clinfer.cli.inputs import InputOrder, make_inputs
from clinfer.cli.session import ModelOrder, Session, Subject
from clinfer.cli.table import print_json, print_line, print_table
from clinfer.network.reports.memory_picture import MemoryPicture, PicturedTensor

_STRIP = 40


@dataclass(frozen=True)
class TypeUse:
    """Bytes of one type of memory that the engine holds, held at most, and what stands behind the type."""

    allocation_type: str
    native_type: str
    current: int
    peak: int


@dataclass(frozen=True)
class MemoryReport:
    """The memory of a compiled model in one inference with inputs of these shapes."""

    subject: Subject
    inputs: dict[str, str]
    picture: MemoryPicture
    types: tuple[TypeUse, ...]


def explain_memory(order: ModelOrder, inputs: InputOrder) -> MemoryReport:
    """Compile a model, run it once, and look at its memory, which has no room for other shapes."""
    session = Session(order)
    arrays = make_inputs(session.ports, inputs)
    compiled, _ = session.compile(NUM_STREAMS=1, preallocation_bytes=0)
    compiled.create_infer_request().infer(arrays)
    token = Token()
    picture = compiled.pool.take(token).memory_picture()
    token.is_over = True
    if picture is None:
        raise ClinferError("the inference left nothing to look at", where="command line")
    engine = compiled.engine
    held, most = engine.ledger.held(), engine.ledger.most()
    types = tuple(TypeUse(kind, engine.native_types[kind], held[kind], most[kind]) for kind in held if most[kind])
    shapes = {port_name(port): show(array.shape) for port, array in zip(session.ports.inputs, arrays, strict=True)}
    return MemoryReport(session.subject(compiled), shapes, picture, types)


def pictures_of(picture: MemoryPicture, name: str = "") -> Iterator[tuple[str, MemoryPicture]]:
    """A picture and those of its bodies, by name (the program's own is empty)."""
    yield name, picture
    for inner, body in picture.bodies:
        yield from pictures_of(body, f"{name}/{inner}" if name else inner)


def as_data(report: MemoryReport) -> dict[str, object]:
    """The report as JSON-ready data."""
    return {**asdict(report.subject), "inputs": report.inputs, "types": [asdict(use) for use in report.types],
            "pictures": [{"name": name, **_picture_data(picture)} for name, picture in pictures_of(report.picture)]}


def _picture_data(picture: MemoryPicture) -> dict[str, object]:
    data = asdict(picture)
    del data["bodies"]
    return {**data, "live": picture.live, "lower_bound": picture.lower_bound, "peak": picture.peak}


def print_memory(report: MemoryReport, as_json: bool) -> None:
    """Print the report as tables or as JSON."""
    if as_json:
        print_json(as_data(report))
        return
    print_line(f"{report.subject}, " + " ".join(f"{name}{shape}" for name, shape in report.inputs.items()))
    print_table("types of memory", ("type", "on this device", "bytes now", "bytes at most"),
                [(use.allocation_type, use.native_type, str(use.current), str(use.peak)) for use in report.types])
    for name, picture in pictures_of(report.picture):
        _print_picture(name, picture)


def _print_picture(name: str, picture: MemoryPicture) -> None:
    where = f" of {name}" if name else ""
    print_table(f"memory{where}", ("what", "value"), summary(picture))
    print_table(f"tensors{where} by place, then time", ("block", "offset", "bytes", "steps", "when", "kind", "tensor"),
                [_row(picture, tensor) for tensor in in_order(picture)])


def summary(picture: MemoryPicture) -> list[tuple[str, str]]:
    """(what, value) of one network."""
    bound = picture.lower_bound
    ratio = f" ({picture.peak / bound:.3f} times the lower bound)" if bound else ""
    return [("constants", f"{picture.constants} bytes"), ("inputs", f"{picture.inputs} bytes"),
            ("intermediate results and outputs", f"{picture.peak} bytes in {len(picture.blocks)} blocks{ratio}"),
            ("lower bound", f"{bound} bytes live at step {_busiest(picture)}" if picture.steps else "0 bytes"),
            ("without sharing", f"{sum(tensor.nbytes for tensor in picture.tensors)} bytes")]


def _busiest(picture: MemoryPicture) -> str:
    step = picture.live.index(picture.lower_bound)
    return f"{step} of {len(picture.steps)}, {picture.steps[step]}"


def in_order(picture: MemoryPicture) -> list[PicturedTensor]:
    """The tensors by block, offset and time."""
    return sorted(picture.tensors, key=lambda t: (t.block, t.offset, t.first))


def _row(picture: MemoryPicture, tensor: PicturedTensor) -> tuple[str, ...]:
    count = len(picture.steps)
    width = min(_STRIP, count)
    begin, end = tensor.first * width // count, tensor.last * width // count
    strip = "." * begin + "#" * (end - begin + 1) + "." * (width - end - 1)
    return (str(tensor.block), str(tensor.offset), str(tensor.nbytes), f"{tensor.first}-{tensor.last}", strip,
            tensor.kind, f"{tensor.name}{tensor.shape}")
