"""Recipes: what is made of a driver's binary, and the option that sub-groups want."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clinfer.base.element_type import ElementType
from clinfer.base.errors import ClinferError
from clinfer.base.layout import Layout
from clinfer.kernels.contract import Candidate
from clinfer.kernels.implementation import generate
from clinfer.kernels.kernel_cache import KernelCache, device_macros
from clinfer.kernels.recipe import USUAL, Recipe, with_sub_groups
from clinfer.ops import kernels_of
from clinfer.ops.softmax import Softmax
from clinfer.runtime import program as programs
from clinfer.runtime.engine import Engine
from clinfer.runtime.launches import WorkSize
from clinfer.runtime.program import BuildFailure, BuildJob, Rewrite, retargeted
from clinfer.runtime.stream import Stream

PTX = """//
.version 8.8
.target sm_90, texmode_independent
.address_size 64

.visible .entry first(
	.param .u64 .ptr .global .align 4 first_param_0
)
{
	//@@ wgmma.fence.sync.aligned;
	ret;
}
.entry second(
)
{
	ret;
}
\0"""


def test_ptx_for_another_target() -> None:
    found = programs._rewritten(PTX.encode(), retargeted("sm_90", "sm_90a", 168)).decode()
    assert found == (PTX.replace("sm_90,", "sm_90a,").replace("//@@ wgmma", " wgmma").rstrip("\0")
                     .replace("first_param_0\n)", "first_param_0\n)\n.maxnreg 168")
                     .replace("second(\n)", "second(\n)\n.maxnreg 168"))
    with pytest.raises(BuildFailure, match=r"\.target"):
        programs._rewritten(found.encode(), retargeted("sm_90", "sm_90a", 168))


def test_bytes_that_no_rewrite_names_stay() -> None:
    content = bytes(range(256))
    assert programs._rewritten(content, (Rewrite(r"\Z", ""),)) == content
    assert programs._rewritten(content, (Rewrite("[\x80-\xff]", ""), Rewrite("A", "BB"))) == (
        bytes(range(65)) + b"BB" + bytes(range(66, 128)))


def test_a_rewritten_binary_that_the_driver_refuses(engine: Engine) -> None:
    job = BuildJob("kernel void f(global int* x) { x[0] = 1; }", "", (Rewrite(r"(?s).+", "no program"),))
    with pytest.raises(ClinferError, match="refused f"):
        engine.build(job)


def test_instructions_of_another_target_run(engine: Engine, stream: Stream) -> None:
    """What sm_90 lacks and sm_90a has, on a GPU of that architecture; the sum shows that operands are put in."""
    if not engine.capabilities.tensor_cores:
        pytest.skip("for NVIDIA GPUs")
    source = r"""kernel void f(global int* x) {
        int sum = 0, one = x[get_global_id(0)];
        asm volatile("//@@ wgmma.fence.sync.aligned;\n");
        asm volatile("//@@ add.s32 %0, %1, 41;\n" : "=r"(sum) : "r"(one));
        x[get_global_id(0)] = sum;
    }"""
    if ".target sm_90" not in engine.build_program(source).binary.decode("latin-1"):
        pytest.skip("for GPUs of architecture 9.0")
    program = engine.build(Recipe(rewrites=retargeted("sm_90", "sm_90a", 128)).job(source))
    memory = engine.allocate_bytes(128 * 4)
    stream.write(memory, np.ones(128, np.int32))
    kernel = engine.create_kernel(program, "f")
    kernel.set_buffer(0, memory)
    stream.enqueue(kernel, WorkSize((128,), (128,)))
    assert set(stream.read(memory).view(np.int32).tolist()) == {42}
    assert ".target sm_90a" in program.binary.decode("latin-1")


@pytest.mark.parametrize("option", ["", "-cl-std=CL3.0"])
def test_rows_are_built_with_the_option_that_sub_groups_want(engine: Engine, option: str) -> None:
    """A device whose sub-groups are there by an option only: kernels that name it use them, others do not."""
    able = replace(engine.capabilities, device_type="GPU", subgroup_builtins=("khr",), subgroup_option=option)
    other = Engine(engine.device, able)
    layout = Layout.planar((4, 300), ElementType.of("f32"))
    table = kernels_of(Softmax("s", ("x",), axis=1))
    problem = table.problem(Softmax("s", ("x",), axis=1), (layout,), (layout,), able)
    recipes = {kernel.name: generate(Candidate(kernel, kernel.configs(problem)[0]), problem).stages[0].code.recipe
               for kernel in table.kernels}
    assert recipes["softmax_rows"] == with_sub_groups(able) == Recipe((option,) if option else ())
    assert recipes["softmax_ref"] == USUAL
    assert "CLINFER_SUBGROUPS 1" in device_macros(other, recipes["softmax_rows"])
    assert ("CLINFER_SUBGROUPS 1" in device_macros(other)) == (option == "")
    if engine.capabilities.subgroup_builtins:
        kernel = next(each for each in table.kernels if each.name == "softmax_rows")
        KernelCache(other).prepare(s.code for s in generate(Candidate(kernel), problem).stages)
