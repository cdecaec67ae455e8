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
        """Take rows of these lengths."""

        lengths: tuple[int, ...] = ()
        unavailable = staticmethod(lambda call: None)

        def __init__(self, call):
            self.call = call

        @classmethod
        def refusal(cls, call):
            return None if call.shape[1] in cls.lengths else "another kernel"

        def program(self, build):
            return build({})

    class Padded(Kernel):
        refusal = staticmethod(lambda call: None)

        def _compile(self, config):
            rows, cols = self.call.shape
            return Program(self.call, rows, -(-cols // 256) * 256)

    class Cluster(Kernel):
        lengths = (512,)

        def _compile(self, config):
            rows, cols = self.call.shape
            return Program(self.call, 2 * rows, cols // 2)

    class Split(Kernel):
        lengths = (300, 301)

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

    fake(modules, "tilelang", set_log_level=calls.append)
    fake(
        modules, "tilelang.contrib", nvcc=SimpleNamespace(find_cuda_path=lambda: "/usr/local/cuda")
    )
    reduction = "tileops._kernels.reduction"
    fake(modules, f"{reduction}.call_spec", SoftmaxCall=Call)
    by_module = {
        "softmax": {
            "SoftmaxKernel": Padded,
            "SoftmaxSplitKernel": Split,
            "SoftmaxStreamingKernel": Kernel,
        },
        "softmax_on_chip": {"SoftmaxClusterSplitKernel": Kernel, "SoftmaxOnChipKernel": Cluster},
        "softmax_warp_rows": {"SoftmaxWarpRowsKernel": Kernel},
    }
    for module, classes in by_module.items():
        fake(modules, f"{reduction}.{module}", **classes)
