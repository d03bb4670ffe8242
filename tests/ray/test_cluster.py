"""Datasets over a Ray cluster of several nodes on this machine, one of which is killed in the middle.

Left out where Ray is not installed (`pip install clinfer[ray]`).
"""
from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.frontend.openvino_import import openvino as ov
from clinfer.ray import Predictor
from examples import read_folder, read_text
from tests.api.models import assert_softmax, softmax_model

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")
cluster_utils = pytest.importorskip("ray.cluster_utils")
pytestmark = pytest.mark.slow
ROWS = 120


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that computes nothing, and three nodes."""
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    cluster.workers = [cluster.add_node(num_cpus=2) for _ in range(3)]
    ray.init(cluster.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_nothing_is_lost_and_nothing_twice(cluster: Any, tmp_path: Path) -> None:
    path = tmp_path / "softmax.xml"
    ov.save_model(softmax_model({"a": [-1, -1]}), path, compress_to_fp16=False)

    def make(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.03)
        random = np.random.default_rng(row["id"])
        return {"id": row["id"], "a": random.standard_normal(random.integers(1, 5)).astype(np.float32)}

    rows = ray.data.range(ROWS, override_num_blocks=30).map(make)
    found = rows.map_batches(Predictor, fn_constructor_args=(str(path), "CPU"), concurrency=3, num_cpus=1, batch_size=4)
    seen: list[dict[str, Any]] = []
    killed = False
    for row in found.iter_rows():
        seen.append(row)
        if not killed:
            cluster.remove_node(cluster.workers.pop(), allow_graceful=False)
            killed = True
    assert sorted(row["id"] for row in seen) == list(range(ROWS))
    for row in seen:
        assert_softmax(row["a_out"], make(row)["a"])


def test_the_pages_of_a_folder(cluster: Any, tmp_path: Path) -> None:
    for number in range(4):
        shutil.copy(read_text.PICTURE, tmp_path / f"{number}.png")
    expected = read_text.EXPECTED.read_text(encoding="utf-8").splitlines()
    texts = read_folder.read_pictures([str(path) for path in sorted(tmp_path.iterdir())], 1, "CPU")
    assert len(texts) == 4 and all(lines == expected for lines in texts.values())
