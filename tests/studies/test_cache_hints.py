"""What hints to the cache save: the kernels give right results, the table says what was saved."""

import pandas as pd
import pytest
import torch

from studies import cache_hints

pytestmark = pytest.mark.slow  # an experiment that no sweep runs


@pytest.mark.parametrize("hint", cache_hints.HINTS)
def test_hints_change_no_result(hint, device):
    x = torch.randn(3, 700, device=device)
    for kernel, expected in (("softmax", torch.softmax(x, dim=1)), ("copy", x)):
        out = torch.full_like(x, torch.nan)
        cache_hints.series(kernel, hint, None)(x, out)
        torch.testing.assert_close(out, expected)


def test_what_follows_gets_the_result(device):
    x, seen = torch.randn(3, 700, device=device), []
    out = torch.empty_like(x)
    cache_hints.series("copy", cache_hints.NONE, seen.append)(x, out)
    assert seen[0] is out


def test_every_follower_runs_on_a_result(device, monkeypatch):
    monkeypatch.setattr(cache_hints, "PRODUCT", 64)
    x = torch.randn(3, 700, device=device)
    for follow in cache_hints.followers(x, 2**20).values():
        follow(x)


def test_what_is_saved_is_a_share_of_the_kernel_s_own_time():
    lines = [
        ("float32", 8, 8, "copy", hint, then, time_us, plain / time_us, 1.0, 1.0)
        for then, plain, hinted in (
            *((cache_hints.ALONE, 10.0, 9.0), ("reader", 20.0, 21.0)),
            *(("neighbour", 30.0, 30.0), ("product", 100.0, 95.0)),
        )
        for hint, time_us in ((cache_hints.NONE, plain), ("loads evict_last", hinted))
    ]
    data = pd.DataFrame(lines, columns=cache_hints.COLUMNS)
    (line,) = cache_hints.table(data).splitlines()[2:]
    expected = "copy | 10.00 | loads evict_last | +10.0 % | -10.0 % | +0.0 % | +50.0 % |"
    assert line == f"| float32 8x8 | {expected}"
