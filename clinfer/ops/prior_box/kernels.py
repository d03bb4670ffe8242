"""The kernel of PriorBox and PriorBoxClustered."""
from __future__ import annotations

from dataclasses import dataclass

from clinfer.kernels.contract import Constant, Operand, Work, output_operand
from clinfer.kernels.jitter import literal
from clinfer.ops.prior_box.op import PriorBox, PriorBoxClustered
from clinfer.ops.shared.copying import local_items
from clinfer.ops.shared.only_kernel import OnlyKernelProblem, only_kernel
from clinfer.ops.shared.views import static

_STEPS_GIVEN, _STEPS_FILL, _STEPS_OF_HEIGHT = range(3)


@dataclass(frozen=True)
class PriorBoxProblem(OnlyKernelProblem):
    """A map, and the boxes of each of its places."""

    primitive: PriorBox | PriorBoxClustered

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (output_operand(self),)

    @property
    def constants(self) -> dict[str, Constant]:
        primitive = self.primitive
        boxes = ", ".join("{" + ", ".join(literal(float(number)) for number in box) + "}" for box in primitive.boxes)
        variance = primitive.variance or (0.1,)
        step_y, step_x, grows = primitive.steps
        kind = _STEPS_FILL if step_y == step_x == 0 else _STEPS_OF_HEIGHT if step_y < 0 else _STEPS_GIVEN
        return {"BOXES": "{" + boxes + "}", "COUNT": len(primitive.boxes), "STEPS": kind, "STEP_Y": float(step_y),
                "STEP_X": float(step_x), "STEPS_GROW": grows, "MIDDLE": float(primitive.middle), "CLIP": primitive.clip,
                "VARIANCES": "{" + ", ".join(literal(float(variance[i % len(variance)])) for i in range(4)) + "}"}

    @property
    def arguments(self) -> dict[str, int]:
        return {name: self.values[index].reshape(-1).tolist()[place] if index in self.values else 1
                for index, kind in enumerate(("map", "picture"))
                for place, name in enumerate((f"{kind}_height", f"{kind}_width"))}

    @property
    def work(self) -> Work:
        return local_items(static(self.outputs[0].shape)[1] // 4)


KERNELS = only_kernel("prior_box_ref", PriorBoxProblem)
