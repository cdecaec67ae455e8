"""Which GPUs of this machine a point may use."""

import sys
import types
from importlib.machinery import ModuleSpec

import pytest

from measure.device import gpus
from measure.errors import PointError
from tests.measure import nvml


@pytest.fixture
def fake_nvml(monkeypatch):
    """NVML of two boards, the second cut in two, in place of the package pynvml."""
    module = types.ModuleType("pynvml")
    module.__spec__ = ModuleSpec("pynvml", None)  # a machine with a driver asks for it
    exec(nvml.FAKE, vars(module))
    monkeypatch.setitem(sys.modules, "pynvml", module)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return module


@pytest.mark.parametrize(
    ("visible_devices", "expected"),
    [
        (None, ["GPU-aaaa", "MIG-1111", "MIG-2222"]),
        ("", []),
        ("1,0", ["MIG-1111", "MIG-2222", "GPU-aaaa"]),
        ("MIG-2222", ["MIG-2222"]),
        ("GPU-a", ["GPU-aaaa"]),
        ("GPU-bbbb", ["MIG-1111", "MIG-2222"]),
        ("0,7,1", ["GPU-aaaa"]),
        # CUDA 13.0 read them so on a machine of two boards
        ("0,1,0", []),  # one board twice
        ("GPU-aaaa,GPU-aa", []),
        ("GPU-aaaa,0", ["GPU-aaaa"]),  # an index ends a list of UUIDs, and the reverse
        ("0,GPU-bbbb", ["GPU-aaaa"]),
        ("GPU-aaaa,GPU-bbbb", ["GPU-aaaa", "MIG-1111", "MIG-2222"]),
        ("GPU-aaaa, GPU-bbbb", ["GPU-aaaa"]),
        ("GPU-AAAA", ["GPU-aaaa"]),
        ("GPU-aaaazz", ["GPU-aaaa"]),
        ("1x,0:y", ["MIG-1111", "MIG-2222", "GPU-aaaa"]),
        ("4294967297", ["MIG-1111", "MIG-2222"]),  # 2^32 + 1
        ("1,,0", ["MIG-1111", "MIG-2222"]),
        (" +01 ", ["MIG-1111", "MIG-2222"]),
        ("0,-1,1", ["GPU-aaaa"]),
        ("GPU-", []),
        ("MIG-1,MIG-2", ["MIG-1111", "MIG-2222"]),
        ("MIG-1111,GPU-bbbb", ["MIG-1111"]),
        ("aaaa", []),
    ],
)
def test_gpus_are_those_that_cuda_would_show_and_slices_count(
    monkeypatch, fake_nvml, visible_devices, expected
):
    if visible_devices is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible_devices)
    visible = gpus.visible_gpus()
    assert [uuid for uuid, _ in visible] == expected
    slugs = ["h200" if uuid == "GPU-aaaa" else "a100_sxm4_40gb_mig_3g_20gb" for uuid, _ in visible]
    assert [slug for _, slug in visible] == gpus.visible_slugs() == slugs
    assert gpus.resolve("auto") == (slugs[0] if slugs else "cpu")
    assert gpus.resolve("rtx3090") == "rtx3090"


def test_a_driver_or_a_board_that_fails_is_no_gpu(monkeypatch, fake_nvml):
    def fails(*_):
        raise fake_nvml.NVMLError

    for name in ("nvmlDeviceGetUUID", "nvmlInit"):
        monkeypatch.setattr(fake_nvml, name, fails)
        assert gpus.visible_gpus() == []


def test_without_the_package_a_machine_with_a_driver_is_not_taken_for_a_cpu(monkeypatch, tmp_path):
    monkeypatch.setattr(gpus.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(gpus, "visible_slugs", list)
    monkeypatch.setattr(gpus, "CONTROL_DEVICE", tmp_path)
    with pytest.raises(PointError, match="pip install nvidia-ml-py"):
        gpus.resolve("auto")
    monkeypatch.setattr(gpus, "CONTROL_DEVICE", tmp_path / "none")
    assert gpus.resolve("auto") == "cpu"
