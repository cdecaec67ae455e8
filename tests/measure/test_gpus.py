"""Which GPUs of this machine a point may use."""

import sys
import types

import pytest

from measure.device import gpus
from tests.measure import nvml


@pytest.mark.parametrize(
    ("visible_devices", "expected"),
    [
        (None, ["GPU-aaaa", "MIG-1111", "MIG-2222"]),
        ("", []),
        ("0", ["GPU-aaaa"]),
        ("1,0", ["MIG-1111", "MIG-2222", "GPU-aaaa"]),
        ("MIG-2222", ["MIG-2222"]),
        ("GPU-a", ["GPU-aaaa"]),
        ("GPU-bbbb", ["MIG-1111", "MIG-2222"]),
        ("0,7,1", ["GPU-aaaa"]),
    ],
)
def test_gpus_are_those_that_cuda_would_show_and_slices_count(
    monkeypatch, visible_devices, expected
):
    module = types.ModuleType("pynvml")
    exec(nvml.FAKE, vars(module))
    monkeypatch.setitem(sys.modules, "pynvml", module)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible_devices is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible_devices)
    found = gpus.visible_gpus()
    assert [uuid for uuid, _ in found] == expected
    assert gpus.visible_slugs() == [slug for _, slug in found], (
        "a sweep is planned for what can be held"
    )
    assert {slug for uuid, slug in found if uuid == "GPU-aaaa"} <= {"h200"}
    assert {slug for uuid, slug in found if uuid != "GPU-aaaa"} <= {"a100mig3g"}
