"""Other libraries call this one where they are told to, and only then."""

import importlib
import inspect
import sys

import pytest
import torch

from kernels import integrate

HOME = """
def double(x):
    return 2 * x

def other(x):
    return x
"""


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """Make a package whose modules import a function of another one."""
    package = tmp_path / "some_trainer"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '1.0'\n", encoding="utf-8")
    (package / "home.py").write_text(HOME, encoding="utf-8")
    for name in ("early", "late"):
        text = "from some_trainer.home import double\n"
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield lambda name: importlib.import_module(f"some_trainer.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "some_trainer"]:
        del sys.modules[name]


def test_every_module_of_a_library_has_the_replacement_until_it_ends(trainer, monkeypatch):
    """A module whose import is forbidden (None) is in nobody's way."""
    monkeypatch.setitem(sys.modules, "some_trainer.forbidden", None)
    early, theirs, ours = trainer("early"), trainer("home").double, lambda x: "ours"
    with integrate.Integration("some_trainer.home", {"double": ours}):
        assert early.double is trainer("late").double is trainer("home").double is ours
        assert trainer("home").other(3) == 3
    assert early.double is trainer("late").double is trainer("home").double is theirs


def test_replacements_end_in_any_order_and_begin_again(trainer):
    home, ours = trainer("home"), [lambda x: "first", lambda x: "second"]
    theirs = home.double
    first, second = (integrate.Integration("some_trainer.home", {"double": f}) for f in ours)
    first.undo()
    assert home.double is ours[0], "as long as one asks"
    second.undo()
    assert home.double is theirs
    for _ in range(2):
        with second, second:
            assert home.double is ours[1]
        assert home.double is theirs


def test_a_library_without_the_function_is_refused(trainer):
    with pytest.raises(AttributeError, match=r"some_trainer.home of version 1.0 has no triple"):
        integrate.Integration("some_trainer.home", {"triple": print})
    assert trainer("home").double(2) == 4
    assert not integrate._active["some_trainer.home"]


def test_trl_gets_the_same_values():
    utils = pytest.importorskip("trl.trainer.utils", exc_type=ImportError)
    torch.manual_seed(0)
    logits, index = torch.randn(2, 5, 50), torch.randint(50, (2, 5))
    mask = torch.tensor([[1, 1, 0, 1, 1], [1, 1, 1, 1, 0]])
    calls = {
        "selective_log_softmax": lambda f: f(logits, index, temperature=0.5, row_mask=mask),
        "entropy_from_logits": lambda f: f(logits),
        "selective_log_softmax_and_entropy": lambda f: f(logits, index, row_mask=mask),
    }
    theirs = {name: call(getattr(utils, name)) for name, call in calls.items()}
    with integrate.trl():
        for name, call in calls.items():
            assert getattr(utils, name).__module__ == integrate.__name__
            torch.testing.assert_close(call(getattr(utils, name)), theirs[name])
    assert utils.entropy_from_logits.__module__ == "trl.trainer.utils"


@pytest.fixture
def replaced(monkeypatch):
    """Return the module and the functions that an integration would replace in a server.

    The servers do not install without a GPU's packages, so their modules are not here.
    """
    monkeypatch.setattr(integrate, "Integration", lambda home, functions: (home, functions))
    return lambda name: getattr(integrate, name)()


def test_verl_gets_log_probabilities_and_entropies_with_its_own_arguments(replaced):
    home, functions = replaced("verl")
    assert home == "verl.utils.torch_functional"
    parameters = {name: [*inspect.signature(f).parameters] for name, f in functions.items()}
    assert parameters == {
        "logprobs_from_logits": ["logits", "labels", "inplace_backward"],
        "entropy_from_logits": ["logits"],
    }
    logits, labels = torch.randn(2, 3, 20), torch.randint(20, (2, 3))
    log_p = logits.log_softmax(-1)
    found = functions["logprobs_from_logits"](logits, labels)
    torch.testing.assert_close(found, log_p.gather(-1, labels[..., None])[..., 0])
    found = functions["entropy_from_logits"](logits)
    torch.testing.assert_close(found, -(log_p.exp() * log_p).sum(-1))


def test_sglang_gets_maxima_and_the_logarithms_of_sums(replaced):
    home, functions = replaced("sglang")
    assert home == "sglang.srt.layers.logsumexp"
    (row_logsumexp,) = functions.values()
    assert [*functions, *inspect.signature(row_logsumexp).parameters] == ["row_logsumexp", "x"]
    x = torch.randn(4, 77)
    x[1, :5], x[2] = -torch.inf, -torch.inf
    maxima, log_sums = row_logsumexp(x)
    assert torch.equal(maxima, x.max(-1).values)
    finite = [0, 1, 3]
    torch.testing.assert_close((maxima + log_sums)[finite], torch.logsumexp(x, -1)[finite])
    assert log_sums[2] == 0, "as SGLang's own"


def test_vllm_gets_log_probabilities_of_several_tokens(replaced):
    home, functions = replaced("vllm")
    assert home == "vllm.v1.worker.gpu.sample.logprob"
    (compute,) = functions.values()
    words = [*functions, *inspect.signature(compute).parameters]
    assert words == ["compute_token_logprobs", "logits", "token_ids"]
    logits, tokens = torch.randn(3, 20), torch.randint(20, (3, 4), dtype=torch.int32)
    torch.testing.assert_close(
        compute(logits, tokens), logits.log_softmax(-1).gather(1, tokens.long())
    )


@pytest.mark.parametrize("name", ["sglang", "vllm"])
def test_a_server_that_is_not_installed_is_named(name):
    with pytest.raises(ModuleNotFoundError, match=name):
        getattr(integrate, name)()
