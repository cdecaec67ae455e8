"""Kernels that cheat, to test the checker: each is caught or flagged, by the message of its row."""

from pathlib import Path

import pytest

from tests.bench import kernel
from tests.measure.cheats import on_cpu

ON_CPU = Path(on_cpu.__file__).read_text(encoding="utf-8")
ON_GPU = Path(on_cpu.__file__).with_name("on_gpu.py").read_text(encoding="utf-8")
# Let the clock of timed samples run at half speed, from the import on.
HALF_SPEED = "import time\nreal = time.perf_counter_ns\ntime.perf_counter_ns = lambda: real() // 2"
SPECIAL = "wrong on special values: "

# The beginning of the message, which names the check that alone sees the cheat.
CHEATS = {
    "changes_input": "correctness check: changed its input",
    "backward_without_sum": "correctness check: ",  # gradients have their own float64
    "cached_by_shape": "edge case: normal values: 0.",
    "past_the_end": "edge case: padded rows: nan at column 0",  # NaN and large values between rows
    "only_where_nan": "edge case: padded rows: 2 at column",  # the output was not NaN
    "writes_padding": "edge case: padded rows: wrote beyond its rows",
    "no_maximum": f"{SPECIAL}large values: nan at column",
    "never_nan": f"{SPECIAL}rows without a result: 0 at column 0",
    "right_forty_times": "after timing: 0 at column",
    "cached_but_one": "after timing: other values in timed buffers: 0.",  # any call
    "cached_by_first_row": "after timing: other values in timed buffers",
    "memo_of_all_values": "after timing: other values in timed buffers: 2 at column",  # spoilt
    "patches_clock": "integrity: the kernel replaced time.perf_counter_ns",
    "patches_tolerance": "integrity: the kernel replaced operations.softmax.OPERATION.exact",
    "patches_dispatch": "integrity: the kernel changed what torch dispatches aten::softmax.int_out",
    "patches_threads": "integrity: the kernel changed torch.get_num_threads from",
}
EARLY = ("correctness check:", "edge case:")
CHEATS_ON_GPU = {
    "half_late": EARLY,
    "records_only_where_nan": "after timing: other values in timed buffers: 0.",
    "sets_l2_aside": "integrity: the kernel changed the L2 set aside",
    "skips_in_the_timed_graph": "recording:",
    "waits_for_nobody": EARLY,
    "memo_of_all_values": CHEATS["memo_of_all_values"],
}

# Matrices at which a cheat is worth its while; all others have 64 x 96 uniform float32 numbers.
OPTIONS = {
    "past_the_end": {"N": 90},
    "writes_padding": {"N": 90},
    "skips_in_the_timed_graph": {"M": 1024, "N": 256},
    "half_late": {"M": 16384, "N": 4096},
}


ON_A_GPU = [pytest.param(*cheat, "auto", marks=pytest.mark.gpu) for cheat in CHEATS_ON_GPU.items()]


@pytest.mark.parametrize(
    ("name", "message", "gpu"), [*((*cheat, "cpu") for cheat in CHEATS.items()), *ON_A_GPU]
)
def test_a_cheat_is_caught(bench, name, message, gpu):
    op = "softmax_backward" if name.startswith("backward_") else "softmax"
    source = f"{ON_CPU if hasattr(on_cpu, name) else ON_GPU}\n\n{op} = {name}\n"
    bench.add(name, kernel("pass", HALF_SPEED) if name == "patches_clock" else source)
    row = bench.row(name, gpu=gpu, op=op, **OPTIONS.get(name, {}))
    flagged = str(message).startswith(SPECIAL)
    assert row["status"] == ("ok" if flagged else "incorrect"), row["message"]
    assert row["message"].startswith(message), row["message"]
    assert ("edge_cases" in row["flags"].split()) == bool(row["time_us"]) == flagged
