"""Names and colours of the tools, the same in the table and in the figure."""

from analysis import palette

# As measure.ALL has them; the arbiter last.
LABELS = {
    "ours": "softmax-bench (this project)",
    "do_bench": "triton do_bench",
    "do_bench_cudagraph": "triton do_bench_cudagraph",
    "blocked_autorange": "torch blocked_autorange",
    "cuda_bench": "nvbench (cuda-bench)",
    "cupti": "CUPTI (torch.profiler)",
}
ARBITER = "cupti"
COLOURS = {
    "ours": palette.VERMILION,
    "do_bench": palette.BLUE,
    "do_bench_cudagraph": palette.SKY,
    "blocked_autorange": palette.ORANGE,
    "cuda_bench": palette.GREEN,
    "cupti": palette.BLACK,
}
