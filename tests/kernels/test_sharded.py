"""Log-probabilities of tokens whose logits are spread over several processes."""

import pytest
import torch
import torch.distributed as dist

from kernels.dropin.logits.api import token_log_probs
from tests.processes import run_code

SHARDS = """
import sys, torch, torch.distributed as dist
from kernels.dropin.logits.api import token_log_probs
rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
torch.manual_seed(0)
x, index = 4 * torch.randn(6, 50), torch.randint(50, (6,))
x[0, :20], x[1, 20:] = -torch.inf, -torch.inf
index[0], index[1] = 30, 5
mask, g, h = torch.tensor([1, 1, 1, 0, 1, 1]), torch.randn(6), torch.randn(6)
settings = {"temperature": 0.8, "entropy": True, "row_mask": mask}
whole = x.clone().requires_grad_()
right = token_log_probs(whole, index, **settings)
torch.autograd.backward(right, (g, h))
columns = slice(0, 20) if rank == 0 else slice(20, 50)
part = x[:, columns].clone().requires_grad_()
settings |= {"group": dist.group.WORLD, "vocab_start": columns.start}
sharded = token_log_probs(part, index, **settings)
torch.autograd.backward(sharded, (g, h))
for one, other in zip((*sharded, part.grad), (*right, whole.grad[:, columns])):
    torch.testing.assert_close(one, other)
print("equal")
"""


def test_shards_of_two_processes_give_the_rows_result(tmp_path):
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        shards = pool.map(
            lambda rank: run_code(SHARDS, str(rank), str(tmp_path / "store")), range(2)
        )
    assert [output.strip() for output in shards] == ["equal", "equal"]


@pytest.fixture
def single_process_group():
    """A group of this process alone."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_a_confident_token_keeps_its_digits(single_process_group):
    x, index = torch.tensor([[20.0, 0, 0, 0], [16.0, 0, 0, 0]]), torch.tensor([0, 0])
    log_p, entropy = token_log_probs(x, index, entropy=True, group=single_process_group)
    right = torch.log_softmax(x.double(), -1)
    torch.testing.assert_close(log_p.double(), right[:, 0], rtol=2e-7, atol=0)
    torch.testing.assert_close(entropy.double(), -(right.exp() * right).sum(1), rtol=1e-5, atol=0)


def test_equal_maxima_and_shards_without_rows_or_columns(single_process_group):
    x, index = torch.zeros(3, 4), torch.tensor([0, 1, 2])
    torch.testing.assert_close(
        token_log_probs(x, index, group=single_process_group), torch.full((3,), 0.25).log()
    )
    assert token_log_probs(x[:0], index[:0], group=single_process_group).shape == (0,)
    assert token_log_probs(x[:, :0], index, group=single_process_group).isnan().all()
