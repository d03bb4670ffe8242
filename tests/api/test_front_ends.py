"""An everyday model of front ends beside ONNX's and OpenVINO's own, made on the spot where the package is there, and
compared with what the package itself computes."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinfer.api.core import Core
from clinfer.frontend.openvino_import import openvino as ov
from clinfer.runtime.device import DeviceInfo
from tests.oracle import assert_close

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
PICTURES = (2, 3, 32, 40)
Made = tuple[Any, Callable[[np.ndarray], np.ndarray]]
"""What clinfer compiles, a model or its path, and what the package computes."""


def _pytorch(folder: Path) -> Made:
    """Convolutions, attention and a recurrent layer."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    nn = torch.nn

    class Recogniser(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(),
                nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.ReLU6(), nn.MaxPool2d((8, 2)))
            self.mixing = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
            self.reading = nn.LSTM(32, 24, bidirectional=True, batch_first=True)
            self.naming = nn.Linear(48, 11)

        def forward(self, pictures: Any) -> Any:
            columns = self.stem(pictures).flatten(1, 2).transpose(1, 2)
            return self.naming(self.reading(self.mixing(columns))[0]).softmax(-1)

    torch.manual_seed(1)
    network = Recogniser().eval().requires_grad_(False)
    model = ov.convert_model(network, example_input=torch.zeros(PICTURES))
    return model, lambda given: network(torch.from_numpy(given)).numpy()


def _keras() -> Any:
    """(tensorflow, a classifier of pictures whose channels come last)."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(1)
    x = given = tf.keras.Input((32, 40, 3), batch_size=2)
    x = layers.Conv2D(16, 3, 2, "same", use_bias=False)(x)
    x = layers.DepthwiseConv2D(3, padding="same")(layers.ReLU(6.0)(layers.BatchNormalization()(x)))
    x = layers.Reshape((-1, 16))(layers.AveragePooling2D(4)(x))
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x))
    x = layers.Dense(11, activation="softmax")(layers.GlobalAveragePooling1D()(x))
    return tf, tf.keras.Model(given, x)


def _tensorflow(folder: Path) -> Made:
    tf, network = _keras()
    tf.saved_model.save(network, str(folder))
    return folder, lambda given: network(np.moveaxis(given, 1, -1)).numpy()


def _tflite(folder: Path) -> Made:
    tf, network = _keras()
    (folder / "model.tflite").write_bytes(tf.lite.TFLiteConverter.from_keras_model(network).convert())
    return folder / "model.tflite", lambda given: network(np.moveaxis(given, 1, -1)).numpy()


def _paddle(folder: Path) -> Made:
    """In Paddle's older format of programs, the one that OpenVINO reads."""
    paddle = pytest.importorskip("paddle", reason="Paddle is not installed")
    nn, static = paddle.nn, paddle.static
    paddle.enable_static()
    try:
        with paddle.pir_utils.OldIrGuard():
            program, start, runs = static.Program(), static.Program(), static.Executor()
            with static.program_guard(program, start):
                paddle.seed(1)
                pictures = static.data("pictures", [-1, *PICTURES[1:]], "float32")
                x = nn.Hardswish()(nn.BatchNorm2D(16)(nn.Conv2D(3, 16, 3, 2, 1, bias_attr=False)(pictures)))
                x = nn.MaxPool2D((8, 2))(nn.ReLU6()(nn.Conv2D(16, 16, 3, 1, 1, groups=16)(x)))
                x = nn.Linear(32, 32)(nn.LayerNorm(32)(paddle.transpose(paddle.flatten(x, 1, 2), [0, 2, 1])))
                x = nn.Softmax()(nn.Linear(48, 11)(nn.LSTM(32, 24, direction="bidirect")(x)[0]))
            program = program.clone(for_test=True)
            runs.run(start)
            static.save_inference_model(str(folder / "model"), [pictures], [x], runs, program=program)
    finally:
        paddle.disable_static()

    def expected(given: np.ndarray) -> np.ndarray:
        with paddle.pir_utils.OldIrGuard():
            return runs.run(program, feed={"pictures": given}, fetch_list=[x])[0]
    return folder / "model.pdmodel", expected


@pytest.mark.parametrize("make", [_pytorch, _tensorflow, _tflite, _paddle])
def test_an_everyday_model(make: Callable[[Path], Made], core: Core, device: DeviceInfo, rng: np.random.Generator,
                           tmp_path: Path) -> None:
    model, expected = make(tmp_path)
    compiled = core.compile_model(model, device.name, F32)
    for _ in range(2):
        given = rng.standard_normal(PICTURES).astype(np.float32)
        ordered = given if make in (_pytorch, _paddle) else np.ascontiguousarray(np.moveaxis(given, 1, -1))
        assert_close(compiled([ordered])[0], expected(given), 1e-4)


@pytest.mark.parametrize("kind", ["saved model", "tflite"])
@pytest.mark.parametrize("name", ["Div", "TruncateDiv", "FloorDiv"])
def test_quotients_of_whole_numbers(name: str, kind: str, core: Core, device: DeviceInfo, rng: np.random.Generator,
                                    tmp_path: Path) -> None:
    """OpenVINO's CPU plugin differs from TensorFlow in Div."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    module = tf.Module()
    module.divide = tf.function(lambda pairs: getattr(tf.raw_ops, name)(x=pairs[0], y=pairs[1]),
                                input_signature=[tf.TensorSpec([2, 40], tf.int32)])
    path = tmp_path / "model.tflite"
    if kind == "tflite":
        function = module.divide.get_concrete_function()
        path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([function], module).convert())
    else:
        tf.saved_model.save(module, str(tmp_path))
    pairs = np.stack([rng.integers(-30, 30, 40, np.int32), rng.integers(1, 7, 40, np.int32)])
    result = core.compile_model(path if kind == "tflite" else tmp_path, device.name, F32)([pairs])[0]
    assert np.array_equal(result, module.divide(pairs).numpy())
