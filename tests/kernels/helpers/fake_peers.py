"""Modules in place of other projects' packages, for tests without a GPU."""

from types import ModuleType, SimpleNamespace

import torch


def fake(modules, name: str, **members) -> None:
    """Add a module of this name, and the packages that it lies in."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        modules.setdefault(".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    vars(modules[name]).update(members)


def fake_tileops(modules, calls: list) -> None:
    """Add a TileOPs whose kernels note what they are given, and take a row by its length."""

    class Call(SimpleNamespace):
        m = property(lambda self: self.shape[0])

    class Program:
        def __init__(self, call, *shape):
            self.call, self.single = call, (shape, call.dtype)
            self.adapter = SimpleNamespace(get_exportable_executable=lambda: self.run)

        def run(self, x, *statistics_and_out):
            *statistics, out = statistics_and_out
            calls.append((x, statistics, out))
            rows = x.view(self.call.shape)
            right = getattr(torch, self.call.op_kind)(rows, dim=-1)
            out.view(len(rows), -1)[:, : rows.shape[1]] = right

        def __call__(self, x):  # allocates its output
            out = torch.empty(*self.single[0])
            self.run(x, out)
            return out

    class Kernel:
        def __init__(self, call):
            self.call = call

        def unavailable(call):
            return None

        @classmethod
        def refusal(cls, call):
            return None if cls.lengths is None or call.shape[1] in cls.lengths else "another kernel"

        def program(self, build):
            return build({})

        def _compile(self, config):
            return Program(self.call, *self.shape(*self.call.shape))

    class Split(Kernel):
        def _launcher(self, config):
            call, num_segs = self.call, 3
            rows, cols = call.shape
            if cols == 300:
                fused = Program(call, rows, cols)
                return lambda x: fused(x, num_segs)
            finalize = Program(call, rows, cols)

            def partials(x):
                return torch.zeros(rows * num_segs), torch.ones(rows * num_segs)

            return lambda x: finalize(x, *partials(x))

    def kernel(name, lengths, shape=None, base=Kernel):
        return {name: type(name, (base,), {"lengths": lengths, "shape": staticmethod(shape)})}

    fake(modules, "tilelang", set_log_level=calls.append)
    fake(
        modules, "tilelang.contrib", nvcc=SimpleNamespace(find_cuda_path=lambda: "/usr/local/cuda")
    )
    reduction = "tileops._kernels.reduction"
    fake(modules, f"{reduction}.call_spec", SoftmaxCall=Call)
    fake(
        modules,
        f"{reduction}.softmax",
        **kernel("SoftmaxKernel", None, lambda rows, cols: (rows, -(-cols // 256) * 256)),
        **kernel("SoftmaxSplitKernel", (300, 301), base=Split),
        **kernel("SoftmaxStreamingKernel", ()),
    )
    fake(
        modules,
        f"{reduction}.softmax_on_chip",
        **kernel("SoftmaxClusterSplitKernel", ()),
        **kernel("SoftmaxOnChipKernel", (512,), lambda rows, cols: (2 * rows, cols // 2)),
    )
    warp_rows = kernel("SoftmaxWarpRowsKernel", (64,), lambda *shape: shape)
    fake(modules, f"{reduction}.softmax_warp_rows", **warp_rows)
