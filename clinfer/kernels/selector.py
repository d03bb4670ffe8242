"""The kernel selector: picks the best kernel of a table and says why every other was passed over."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clinfer.base.errors import ClinferError
from clinfer.base.format import Format
from clinfer.kernels.spec import Formats, KernelParams, KernelSpec, stages_of
from clinfer.kernels.tails import tail_layout, tails_refusal


@dataclass(frozen=True)
class Forced:
    """A demand on one primitive: output format, kernel's name and implementation type, each empty for "any"."""

    format: str = ""
    kernel: str = ""
    type: str = ""


ANYTHING = Forced()
ALIKE = 1.0
"""Kernels whose scores differ by less are alternatives of each other: the difference is the part of its time that
the lower one takes longer, and the reorders around it decide."""


@dataclass(frozen=True)
class Selection:
    """The kernels of one primitive, best first, and the formats that all of them work on.

    Only the last accepts every shape that can come; those before it decide per shape (`check_shapes`).
    `rejected` pairs the name of every other kernel with the reason. `scores`: of every kernel that supports
    the primitive. `why`: what the first one was chosen for; `is_forced`: by a demand. `loss`: how far its score is
    below the highest.
    """

    specs: tuple[KernelSpec, ...]
    formats: Formats
    params: KernelParams
    rejected: tuple[tuple[str, str], ...]
    scores: tuple[tuple[str, float], ...] = ()
    why: str = ""
    is_forced: bool = False
    loss: float = 0.0


def in_formats(params: KernelParams, formats: Formats) -> KernelParams:
    """The parameters with every tensor in the given formats (a changed format drops padding); what tails read
    follows the output."""
    inputs = tuple(x if x.format == f else replace(x, format=f, padding=type(x.padding)())
                   for x, f in zip(params.inputs, formats.inputs, strict=True))
    outputs = tuple(replace(x, format=f) for x, f in zip(params.outputs, formats.outputs, strict=True))
    tails = tuple(tail_layout(x, outputs[0]) for x in params.tail_inputs)
    return replace(params, inputs=inputs, outputs=outputs, tail_inputs=tails)


Supported = tuple[float, KernelSpec, KernelParams, Formats]
Judged = dict[tuple[int, Formats], tuple[KernelParams, str | None, float]]
"""By place in the table and formats, the parameters in these formats, why it is refused, and its score."""


def select(specs: Sequence[KernelSpec], params: KernelParams, forced: Forced = ANYTHING) -> Selection:
    """The best of `specs`, with those that stand in for it; ClinferError with every reason if none remains."""
    return alternatives(specs, params, forced)[0]


def alternatives(specs: Sequence[KernelSpec], params: KernelParams, forced: Forced = ANYTHING,
                 judged: Judged | None = None) -> tuple[Selection, ...]:
    """For each choice of formats whose best kernel scores less than `ALIKE` below the best of all: that kernel, with
    those that stand in for it; best first. ClinferError with every reason if no kernel remains.

    `judged`: what was found out already with the inputs in other formats; what is new is added.
    """
    if forced.format:
        params = _inputs_towards(params, Format.of(forced.format))
    is_padded = any(layout.padding for layout in params.inputs)
    supported, reasons = _judge(specs, params, forced, {} if judged is None or is_padded else judged)
    if forced.kernel:
        if supported[0][1].name != forced.kernel:
            raise ClinferError(f"the forced kernel {forced.kernel!r} cannot be used", where=params.primitive.where,
                               values={"kernels": ", ".join(s.name for s in specs), **reasons},
                               hint="force another kernel, or none")
        return (_chain(0, supported, params, reasons, forced),)
    leaders: dict[Formats, int] = {}
    for place, (score, _, _, formats) in enumerate(supported):
        if score > supported[0][0] - ALIKE:
            leaders.setdefault(formats, place)
    first, *others = leaders.values()
    return (_chain(first, supported, params, reasons, forced),
            *(_chain(place, supported, params, reasons, forced) for place in others if _accepts_all(place, supported)))


def _judge(specs: Sequence[KernelSpec], params: KernelParams, forced: Forced,
           judged: Judged) -> tuple[list[Supported], dict[str, str]]:
    """What supports the primitive, the forced one first, then by score; the reasons of the others."""
    reasons: dict[str, str] = {}
    supported: list[Supported] = []
    for place, spec in enumerate(specs):
        formats = spec.formats(params)
        if (place, formats) not in judged:
            wanted = in_formats(params, formats)
            reason = _refusal(spec, wanted, forced)
            judged[place, formats] = wanted, reason, float(spec.score(wanted)) if reason is None else 0.0
        wanted, reason, score = judged[place, formats]
        if reason is None:
            supported.append((score, spec, wanted, formats))
        else:
            reasons[spec.name] = reason
    if not supported:
        raise ClinferError("no kernel supports this primitive", where=params.primitive.where,
                           values={"inputs": ", ".join(map(str, params.inputs)),
                                   "outputs": ", ".join(map(str, params.outputs)), **reasons},
                           hint="remove the forced kernel" if forced != ANYTHING else "change what the reasons name")
    supported.sort(key=lambda entry: (entry[1].name != forced.kernel, -entry[0]))
    return supported, reasons


def _why(score: float, scores: Sequence[tuple[str, float]], forced: Forced) -> str:
    demand = (f"kernel {forced.kernel}" if forced.kernel else f"output format {forced.format}" if forced.format else
              f"implementation type {forced.type}" if forced.type else "")
    if demand:
        return f"{demand} is forced"
    if len(scores) == 1:
        return "the only kernel that supports it"
    if score < scores[0][1]:
        return f"its formats, at a score of {score:g}; {scores[0][0]} has {scores[0][1]:g}"
    return f"the highest score ({score:g}) of {len(scores)} kernels that support it"


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
    if forced.type and spec.type != forced.type:
        return f"implementation type {forced.type} is forced"
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


def _accepts_all(place: int, supported: Sequence[Supported]) -> bool:
    """Whether one of those that work on the formats of the kernel in that place accepts every shape."""
    return any(formats == supported[place][3] and _is_last(spec, wanted) for _, spec, wanted, formats in supported)


def _chain(place: int, supported: Sequence[Supported], params: KernelParams, refusals: Mapping[str, str],
           forced: Forced) -> Selection:
    """The kernel in that place, and what stands in for it where it does not decide for every shape."""
    best_score, best, wanted, formats = supported[place]
    chain, reasons = [best], dict(refusals)
    for score, spec, _, other in (*supported[:place], *supported[place + 1:]):
        if other == formats and not _is_last(chain[-1], wanted):
            chain.append(spec)
        elif score <= best_score and _is_last(chain[-1], wanted):
            reasons[spec.name] = f"score {score:g} is below {best_score:g} of {best.name}"
        else:
            reasons[spec.name] = f"works on other formats than {best.name}"
    if not _is_last(chain[-1], wanted):
        raise ClinferError("no kernel of the table accepts every shape", where=params.primitive.where,
                           values={"kernels": ", ".join(s.name for s in chain), **reasons})
    scores = tuple((spec.name, score) for score, spec, _, _ in sorted(supported, key=lambda entry: -entry[0]))
    loss = scores[0][1] - best_score
    return Selection(tuple(chain), formats, wanted, tuple(reasons.items()), scores, _why(best_score, scores, forced),
                     forced != ANYTHING, max(loss, 0.0))
