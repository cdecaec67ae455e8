"""A torch without one of its private names: the drop-in works, with the kernels, only slower."""

import ast
import json

from measure import ROOT
from tests.processes import run_code

FOLDERS = "kernels/dropin", "kernels/dropin/logits", "kernels/cuda", "kernels"
SOURCES = [path for folder in FOLDERS for path in (ROOT / folder).glob("*.py")]
# One name is missing in each process from the beginning, as in another version of torch.
CODE = """
import json, os, pkgutil, sys, traceback, types
os.environ["TRITON_INTERPRET"] = "1"
import torch, torch._dynamo, triton  # once for all: vmap of an operator imports the compiler

def check(name):
    module, _, path = name.rpartition(":")
    parent, _, last = f"torch.{module}:{path}".rpartition("." if "." in path else ":")
    owner = pkgutil.resolve_name(parent)
    there = owner.__dict__.get(last)
    if there is not None:
        delattr(owner, last)
    import kernels
    from kernels.cuda import submit
    from kernels.dropin import api, eligible, library_function
    if there is not None and last != "_current_level":  # read at each call
        setattr(owner, last, there)  # torch needs it
    launched, launch = [], library_function.LibraryFunction._first_that_works
    library_function.LibraryFunction._first_that_works = lambda self, call: (
        launched.append(self.name) or launch(self, call)
    )
    eligible.on_usable_device = lambda x: True
    api.current_device = library_function.current_device = lambda: -1
    x = torch.randn(3, 5)
    for op in ("softmax", "log_softmax"):
        launched.clear()
        ours, torchs = x.clone().requires_grad_(), x.clone().requires_grad_()
        for module, tensor in ((kernels, ours), (torch, torchs)):
            getattr(module, op)(tensor, 1).cos().sum().backward()
        torch.testing.assert_close(ours.grad, torchs.grad)
        assert launched == [op, f"{op}_backward"], launched
        mapped = [torch.func.vmap(lambda a: getattr(m, op)(a, 0))(x) for m in (kernels, torch)]
        torch.testing.assert_close(*mapped)
    if last == "_cuda_getCurrentRawStream":
        torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=device + 7)
        assert submit._raw_stream(1) == 8

for name in json.loads(sys.argv[1]):
    read, write = os.pipe()
    if not os.fork():
        try:
            check(name)
            os.write(write, b"right")
        except BaseException:
            os.write(write, traceback.format_exc()[-4000:].encode())
        os._exit(0)
    os.wait()
    os.close(write)
    print(json.dumps([name, os.read(read, 5000).decode()]))
"""


NODES = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def looked_up() -> set[str]:
    """Return the private names that the drop-in can miss: ``module:name`` below torch."""
    names = set()
    for node in NODES:
        match node:
            case ast.Call(func=ast.Name(id="torch_private"), args=given):
                names |= {text.value for text in given}
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=name), _]):
                module, _, inner = ast.unparse(owner).partition(".")
                names |= {f"{inner}:{name}"} if module == "torch" else set()
    return names


NAMES = sorted(name for name in looked_up() if "_inductor" not in name)


def test_the_drop_in_works_without_any_of_them():
    names = dict(json.loads(line) for line in run_code(CODE, json.dumps(NAMES)).splitlines())
    assert names == dict.fromkeys(NAMES, "right")


def test_no_private_name_is_needed():
    """Each that a source reads is one of those that it can miss."""
    assert len(NAMES) >= 9
    can_miss = {part for name in NAMES for part in name.replace(":", ".").split(".")}
    for node in NODES:
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value).partition(".")[0]
            private = node.attr.startswith("_") and not node.attr.endswith("__")
            assert owner not in ("torch", "forward_ad") or not private or node.attr in can_miss
