"""Which tests stay together, and that shards are about as much work each."""
from __future__ import annotations

import random
import textwrap
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.ops.shards import WEIGHT, shards_of, weight_of
from tests.ops.test_cases import ROWS
from tests.scheduling import device_of, group, place_of, split_part, stays_with

pytest_plugins = ["pytester"]


@pytest.fixture
def items(pytester: pytest.Pytester) -> list[pytest.Item]:
    """Tests of a few files on two devices, arranged as a run's are."""
    source = textwrap.dedent("""
        import pytest

        @pytest.mark.parametrize("name", ["one", "other"])
        @pytest.mark.parametrize("device", ["CPU.0", "CPU.1"])
        def test_it(device, name): ...

        def test_nothing(): ...
        """)
    files = []
    for name in ("base/test_a.py", "models/test_b.py", "models/test_c.py", "network/test_a.py", "sequences/test_d.py"):
        path = Path(pytester.path, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        files.append(path)
    found, _ = pytester.inline_genitems("--import-mode=importlib", "-p", "no:cacheprovider", *files)
    group(found)
    return sorted(found, key=place_of)


def test_files_stay_together_by_device_and_models_by_name(items: list[pytest.Item]) -> None:
    together: dict[str, set[tuple[str, str]]] = {}
    for item in items:
        together.setdefault(stays_with(item), set()).add((f"{item.path.parent.name}/{item.path.name}", device_of(item)))
    assert together["base/test_a.py CPU.0"] == {("base/test_a.py", "CPU.0")}
    assert together["network/test_a.py "] == {("network/test_a.py", "")}
    assert together["model one CPU.1"] == {("models/test_b.py", "CPU.1"), ("models/test_c.py", "CPU.1")}
    assert not any(item.get_closest_marker("xdist_group") for item in items if item.path.parent.name == "sequences")


def test_a_part_of_what_is_alike_is_left_out(pytester: pytest.Pytester) -> None:
    for folder in ("network", "runtime"):
        path = Path(pytester.path, folder, "test_a.py")
        path.parent.mkdir()
        path.write_text(textwrap.dedent("""
            import pytest

            @pytest.mark.parametrize("row", range(40))
            @pytest.mark.parametrize("device", ["CPU.0", "CPU.1"])
            def test_it(device, row): ...

            @pytest.mark.each_device
            @pytest.mark.parametrize("row", range(40))
            @pytest.mark.parametrize("device", ["CPU.0", "CPU.1"])
            def test_here_too(device, row): ...

            @pytest.mark.first_device
            @pytest.mark.parametrize("row", range(40))
            @pytest.mark.parametrize("device", ["CPU.0", "CPU.1"])
            def test_first(device, row): ...

            @pytest.mark.sampled(1 / 4)
            @pytest.mark.parametrize("row", range(40))
            def test_alike(row): ...

            @pytest.mark.sampled(1 / 4)
            def test_alone(): ...
            """))
    markers = ["-o", "markers=each_device", "-o", "markers=first_device", "-o", "markers=sampled(share)"]
    found, _ = pytester.inline_genitems("--import-mode=importlib", "-p", "no:cacheprovider", *markers, pytester.path)
    chosen, left_out = split_part(found)
    assert len(chosen) + len(left_out) == len(found)
    counts = Counter((item.path.parent.name, item.originalname, device_of(item)) for item in chosen)
    for folder in ("network", "runtime"):
        assert (counts[folder, "test_first", "CPU.0"], counts[folder, "test_first", "CPU.1"]) == (40, 0)
        assert counts[folder, "test_it", "CPU.0"] == counts[folder, "test_here_too", "CPU.1"] == 40
        assert counts[folder, "test_alike", ""] == 10 and counts[folder, "test_alone", ""] == 1
    assert 0 < counts["network", "test_it", "CPU.1"] < 30 and counts["runtime", "test_it", "CPU.1"] == 40


def test_what_takes_long_begins_first_and_groups_are_whole(items: list[pytest.Item]) -> None:
    folders = list(dict.fromkeys(item.path.parent.name for item in items))
    assert folders == ["models", "sequences", "network", "base"]
    changes = [stays_with(item) for item in items]
    assert sum(one != other for one, other in pairwise(changes)) == len(set(changes)) - 1


def test_shards_are_whole_operations_of_about_one_weight() -> None:
    shards = shards_of(ROWS)
    assert set(shards) == {op for op, _ in ROWS}
    assert shards == shards_of(random.sample(ROWS, len(ROWS)))
    weights: dict[int, int] = {}
    ops: dict[str, int] = {}
    for op, case in ROWS:
        weights[shards[op]] = weights.get(shards[op], 0) + weight_of(op, case)
        ops[op] = ops.get(op, 0) + weight_of(op, case)
    assert max(weights.values()) <= max(1.3 * WEIGHT, *ops.values())


CONFTEST = """
    from tests.crashes import SurvivingScheduling
    from tests.scheduling import Sorting

    def pytest_configure(config):
        config.pluginmanager.register(Sorting())

    def pytest_xdist_make_scheduler(config, log):
        return SurvivingScheduling(config, log)
    """


def test_a_group_stays_in_one_process(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("""
        import os
        import time
        from pathlib import Path
        import pytest

        @pytest.mark.parametrize("group", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in "abcd"])
        @pytest.mark.parametrize("row", range(6))
        def test_it(group, row):
            time.sleep(0.05)
            Path(f"{group}-{os.getpid()}").touch()
        """)
    run = pytester.runpytest_subprocess("-n2", "--dist=loadgroup", "-p", "no:cacheprovider", timeout=120)
    run.assert_outcomes(passed=24)
    ran = [path.name.split("-") for path in pytester.path.glob("?-*")]
    assert sorted(group for group, _ in ran) == ["a", "b", "c", "d"]
    assert len({process for _, process in ran}) == 2


def test_the_others_run_when_a_process_crashes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("""
        import os
        import pytest

        @pytest.mark.parametrize("row", range(6))
        @pytest.mark.parametrize("group", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in "ab"])
        def test_it(group, row):
            if (group, row) == ("b", 2):
                os._exit(1)
        """)
    run = pytester.runpytest_subprocess("-n1", "--dist=loadgroup", "-p", "no:cacheprovider", timeout=120)
    run.assert_outcomes(passed=11, failed=1)


def test_a_process_crashes_while_the_place_of_another_is_taken(pytester: pytest.Pytester,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes the place of the first one has not told which tests it has when the second one is gone."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("""
        import os
        import time
        from pathlib import Path
        import pytest

        if Path("a").exists():
            Path("taken").touch()
            time.sleep(1)

        @pytest.mark.parametrize("row", range(4))
        @pytest.mark.parametrize("group", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in "abcd"])
        def test_it(group, row):
            if (group, row) == ("a", 1):
                Path("a").touch()
                os._exit(1)
            if (group, row) == ("b", 1):
                until = time.monotonic() + 30
                while not Path("taken").exists() and time.monotonic() < until:
                    time.sleep(0.005)
                time.sleep(0.2)
                os._exit(1)
        """)
    run = pytester.runpytest_subprocess("-n2", "--dist=loadgroup", "-p", "no:cacheprovider", timeout=120)
    run.assert_outcomes(passed=14, failed=2)
