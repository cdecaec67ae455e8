"""Cold means cold: what is sampled, what it says, and what the kernel compiles to."""

import pytest
import torch

from measure.clock import cold
from tests.kernels.helpers.offline import compiled, dumped
from tests.marks import slow


# All lines that there are; a backward's three matrices; several windows, few of many lines.
@pytest.mark.parametrize(
    ("shape", "matrices", "programs"),
    [
        ((64, 256), 2, 16),
        ((64, 2**14), 3, cold.PROGRAMS // 3),
        ((64, 2**20), 2, cold.PROGRAMS // 2),
    ],
)
def test_lines_are_distinct_from_every_matrix_and_of_one_window_a_program(
    shape, matrices, programs
):
    buffers = tuple(torch.empty(shape) for _ in range(matrices))
    addresses = cold.sample_lines(buffers, seed=1)
    assert len(addresses) == len(set(addresses.tolist()))
    for tensor in buffers:
        inside = addresses - tensor.data_ptr()
        inside = inside[(inside >= 0) & (inside < tensor.nbytes)]
        assert len(inside) == programs * cold.LOADS
        assert (inside % cold.LINE_BYTES == 0).all()
    by_program = addresses.view(-1, cold.LOADS)
    spans = by_program.max(dim=1).values - by_program.min(dim=1).values
    assert spans.max() < cold.WINDOW_LINES * cold.LINE_BYTES


def test_a_matrix_of_a_few_lines_gives_no_evidence():
    """Nor does one number a row beside a matrix, which stays in L2 between calls."""
    assert cold.sample_lines((torch.empty(4, 96), torch.empty(4, 96)), seed=1) is None
    buffers = torch.empty(64, 256), torch.empty(96), (torch.empty(64), torch.empty(64, 256))
    assert len(cold.sample_lines(buffers, seed=1)) == 2 * 16 * cold.LOADS, "two matrices alone"
    matrix, values = torch.empty(4096, 2048), torch.empty(4096)
    addresses = cold.sample_lines((matrix, values), seed=1)
    assert len(addresses) == cold.PROGRAMS * cold.LOADS
    inside = addresses - matrix.data_ptr()
    assert ((inside >= 0) & (inside < matrix.nbytes)).all()


def test_loads_that_take_as_long_as_hits_are_counted_as_found():
    resident = torch.arange(200, 200 + 10 * cold.LOADS, dtype=torch.int32)
    first = torch.arange(len(resident)) % cold.LOADS == 0
    resident[first] = 10_000  # waits for the address, does not count
    summary = cold.summarise(resident, resident)
    assert summary["found_in_l2"] == pytest.approx(1.0, abs=0.01)
    late = resident.clone()
    late[::2] += 500
    summary = cold.summarise(late, resident)
    assert summary["found_in_l2"] == pytest.approx(0.5, abs=0.02)
    assert summary["resident_load_cycles"] < 400 < summary["cold_load_cycles"]
    assert cold.summarise(resident + 500, resident)["found_in_l2"] == 0
    slow = torch.full_like(resident, 500)
    assert cold.summarise(resident * 0, slow)["found_in_l2"] == 1, "nothing shows that it was cold"


# Slow: the same source, and another compute capability.
@pytest.mark.parametrize("arch", [slow(80), 90])
def test_the_clock_is_read_after_the_value_has_arrived(arch):
    """In SASS: clock, load past L1, a comparison with its value, a branch on it, clock."""
    ((*_, cubin),) = compiled(
        "from measure.clock import cold\n"
        "cold._load(torch.empty(64, dtype=torch.int32), torch.empty(64, dtype=torch.int64))",
        arch,
    )
    code = dumped(cubin, "-sass")
    places = [code.index("CLOCKLO")]
    for word in ("LDG.E.STRONG.GPU", "ISETP", "BRA", "CLOCKLO"):
        places.append(code.find(word, places[-1] + 1))
    assert places == sorted(places), "a word was not found after the one before it"


def test_every_place_of_a_round_may_be_looked_at(monkeypatch):
    rotation = [(torch.empty(64, 256), torch.empty(64, 256)) for _ in range(6)]

    class Clock:
        """Keeps the last buffers in the cache and no other."""

        turns, cycles = set(), []

        def leave_cold(self, series, turn):
            self.turns.add(turn)
            self.cycles = [200 if turn == len(rotation) - 1 else 900, 200]

    def load(cycles, addresses):
        cycles.fill_(clock.cycles.pop(0) if clock.cycles else 0)  # 0: only compiled

    clock = Clock()
    monkeypatch.setattr(cold, "_load", load)
    shares = {cold.time_loads(clock, "variant", rotation, seed=1)["found_in_l2"] for _ in range(60)}
    assert clock.turns == set(range(len(rotation)))
    assert shares == {0.0, 1 / cold.TURNS}
