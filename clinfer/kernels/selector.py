"""The kernel selector: picks the best kernel of a table and says why every other was passed over."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.kernels.spec import Formats, KernelParams, KernelSpec, stages_of
from clinfer.kernels.tails import tail_layout, tails_refusal


@dataclass(frozen=True)
class Forced:
    """A demand on the selector: the output format and the kernel's name, each empty for "any"."""

    format: str = ""
    kernel: str = ""


ANYTHING = Forced()


@dataclass(frozen=True)
class Selection:
    """The kernels of one primitive, best first, and the formats that all of them work on.

    Only the last accepts every shape that can come; those before it decide per shape (`check_shapes`).
    `rejected` pairs the name of every other kernel with the reason. `scores`: of every kernel that supports
    the primitive. `why`: what the first one was chosen for; `is_forced`: by a demand.
    """

    specs: tuple[KernelSpec, ...]
    formats: Formats
    params: KernelParams
    rejected: tuple[tuple[str, str], ...]
    scores: tuple[tuple[str, float], ...] = ()
    why: str = ""
    is_forced: bool = False


def in_formats(params: KernelParams, formats: Formats) -> KernelParams:
    """The parameters with every tensor in the given formats (a changed format drops padding); what tails read
    follows the output."""
    inputs = tuple(x if x.format == f else replace(x, format=f, padding=type(x.padding)())
                   for x, f in zip(params.inputs, formats.inputs, strict=True))
    outputs = tuple(replace(x, format=f) for x, f in zip(params.outputs, formats.outputs, strict=True))
    tails = tuple(tail_layout(x, outputs[0]) for x in params.tail_inputs)
    return replace(params, inputs=inputs, outputs=outputs, tail_inputs=tails)


def select(specs: Sequence[KernelSpec], params: KernelParams, forced: Forced = ANYTHING) -> Selection:
    """Choose among `specs`; ClinferError with every reason if none remains."""
    if forced.format:
        params = _inputs_towards(params, Format.of(forced.format))
    reasons: dict[str, str] = {}
    supported: list[tuple[float, KernelSpec, KernelParams, Formats]] = []
    for spec in specs:
        formats = spec.formats(params)
        wanted = in_formats(params, formats)
        reason = _refusal(spec, wanted, forced)
        if reason is None:
            supported.append((_score(spec, params, wanted), spec, wanted, formats))
        else:
            reasons[spec.name] = reason
    if not supported:
        raise ClinferError("no kernel supports this primitive", where=params.primitive.where,
                           values={"inputs": ", ".join(map(str, params.inputs)),
                                   "outputs": ", ".join(map(str, params.outputs)), **reasons},
                           hint="remove the forced kernel" if forced != ANYTHING else "change what the reasons name")
    supported.sort(key=lambda entry: (entry[1].name != forced.kernel, -entry[0]))
    if forced.kernel and supported[0][1].name != forced.kernel:
        raise ClinferError(f"the forced kernel {forced.kernel!r} cannot be used", where=params.primitive.where,
                           values={"kernels": ", ".join(s.name for s in specs), **reasons},
                           hint="force another kernel, or none")
    selection = _chain(supported, params, reasons)
    scores = tuple((spec.name, float(score)) for score, spec, _, _ in supported)
    return replace(selection, scores=scores, why=_why(scores, forced), is_forced=forced != ANYTHING)


def _score(spec: KernelSpec, present: KernelParams, wanted: KernelParams) -> float:
    """The score, less what the reorder of the first input takes off it."""
    comes_as_wanted = present.inputs[:1] == wanted.inputs[:1]
    return spec.score(wanted) - (0.0 if comes_as_wanted else spec.reorder_score(wanted))


def _why(scores: Sequence[tuple[str, float]], forced: Forced) -> str:
    demand = f"kernel {forced.kernel}" if forced.kernel else f"output format {forced.format}" if forced.format else ""
    if demand:
        return f"{demand} is forced"
    if len(scores) == 1:
        return "the only kernel that supports it"
    return f"the highest score ({scores[0][1]:g}) of {len(scores)} kernels that support it"


def _inputs_towards(params: KernelParams, fmt: Format) -> KernelParams:
    """As if the inputs of the first output's rank came in a format already: kernels that follow them follow it."""
    rank = params.outputs[0].rank
    if not fmt.fits(rank):
        raise ClinferError(f"the forced format {fmt} does not fit", where=params.primitive.where,
                           values={"output": params.outputs[0]}, hint="force another format, or none")
    following = [i not in params.primitive.value_inputs and x.rank == rank and i != params.primitive.weights_input
                 for i, x in enumerate(params.inputs)]
    formats = tuple(fmt if follows else x.format for follows, x in zip(following, params.inputs, strict=True))
    return in_formats(params, Formats(formats, tuple(x.format for x in params.outputs)))


def _refusal(spec: KernelSpec, wanted: KernelParams, forced: Forced) -> str | None:
    if forced.format and all(x.format.name != forced.format for x in wanted.outputs):
        return f"output format {forced.format} is forced"
    if any(x.element_type.is_packed for x in wanted.outputs) and not spec.writes_packed:
        return "4-bit outputs"
    if any(x.format.is_image for x in wanted.inputs) and not spec.reads_images:
        return "reads no images"
    reason = spec.supports(wanted) or tails_refusal(wanted.primitive, stages_of(spec, wanted))
    if reason is None and spec.check_shapes is not None and _is_decided(wanted):
        return spec.check_shapes(wanted)
    return reason


def _is_decided(wanted: KernelParams) -> bool:
    """Whether nothing about the primitive is left open, so that `check_shapes` can be asked now."""
    return wanted.is_static and all(i in wanted.values for i in wanted.primitive.value_inputs)


def _is_last(spec: KernelSpec, wanted: KernelParams) -> bool:
    """Whether a kernel that is supported needs no other to stand in for it."""
    return spec.check_shapes is None or _is_decided(wanted)


def _chain(supported: list[tuple[float, KernelSpec, KernelParams, Formats]], params: KernelParams,
           reasons: dict[str, str]) -> Selection:
    best_score, best, wanted, formats = supported[0]
    chain = [best]
    for score, spec, _, other in supported[1:]:
        if _is_last(chain[-1], wanted):
            reasons[spec.name] = f"score {score:g} is below {best_score:g} of {best.name}"
        elif other == formats:
            chain.append(spec)
        else:
            reasons[spec.name] = f"works on other formats than {best.name}"
    if not _is_last(chain[-1], wanted):
        raise ClinferError("no kernel of the table accepts every shape", where=params.primitive.where,
                           values={"kernels": ", ".join(s.name for s in chain), **reasons})
    return Selection(tuple(chain), formats, wanted, tuple(reasons.items()))
