"""Failed assertions of the beliefs show both sides, as those of tests do."""
import pytest

pytest.register_assert_rewrite("tests.canary.openvino_beliefs", "tests.canary.pyopencl_beliefs")
