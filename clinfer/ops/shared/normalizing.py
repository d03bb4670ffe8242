"""The kernel table of an operation that maps every vector along some axes to one of the same length."""
from __future__ import annotations

from clinfer.kernels.spec import KernelParams, KernelSpec
from clinfer.ops.shared.axis_stages import AxisStages, Constants, axes_given
from clinfer.ops.shared.reduction import AxesOf, cpu_only


def normalizing_kernels(name: str, constants: Constants, axes_of: AxesOf = axes_given) -> tuple[KernelSpec, ...]:
    """`<name>_rows`, `_columns16` and `_columns` (both from `_columns.cl`) and `_ref`; all for floats, with tails.

    `constants` gives the macros that all of them read, `axes_of` the axes (by default those in input 1).
    """
    stages = AxisStages(name, constants, axes_of)
    return (
        KernelSpec(f"{name}_rows", stages.rows_stages(), _floats, lambda params: 30.0, stages.formats,
                   stages.rows.reason),
        KernelSpec(f"{name}_columns16", stages.vector_columns_stages(), _floats_on_cpu, lambda params: 20.0,
                   stages.formats, stages.vector_columns.reason),
        KernelSpec(f"{name}_columns", stages.columns_stages(), _floats, lambda params: 10.0, stages.formats,
                   stages.columns.reason),
        KernelSpec(f"{name}_ref", stages.reference_stages, _floats, formats=stages.formats),
    )


def _floats(params: KernelParams) -> str | None:
    return None if params.inputs[0].element_type.is_float else "made for floats"


def _floats_on_cpu(params: KernelParams) -> str | None:
    return cpu_only(params) or _floats(params)
