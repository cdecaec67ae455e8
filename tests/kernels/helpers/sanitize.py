"""Run every CUDA C++ kernel in every config under NVIDIA's compute-sanitizer.

``python -m tests.kernels.helpers.sanitize`` compiles the kernels of ``code_paths``, runs them under
each tool, and prints how many launches and errors each has. It ends with 1 if a tool has an error
to report, if a result is wrong, or if a tool does not report a kernel that is broken.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch

from kernels.terminal import replace_missing_characters
from measure import ROOT

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SHARDS = 3  # processes of a tool: starting one takes longer than its launches
SANITIZER = shutil.which("compute-sanitizer", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
ERRORS_FOUND = 66  # exit code of the sanitizer then
TIMEOUT_S = 540
# cuda-bindings asks the driver for functions newer than it: no error of a kernel
OPTIONS = ("--report-api-errors", "no", "--error-exitcode", str(ERRORS_FOUND))
# Without torch's cache every tensor is a separate allocation, and its end is known.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
    "OMP_NUM_THREADS": "2",  # the processes of all tools share the cores
}


def run_shard(shard: int) -> None:
    """Run every SHARDS-th of all launches, one after the other, and print the outcome of each."""
    from kernels.cuda.launch import gpu_info
    from tests.kernels.helpers.launches import code_paths, problem_of

    for code_path in code_paths(gpu_info(0), "contributed")[shard::SHARDS]:
        try:
            problem = problem_of(code_path)
        except Exception as error:
            problem = f"{code_path}: {error!r}".partition("\n")[0]
        print(f"launched {code_path.plan.source.stem}: {problem or 'right'}", flush=True)


def run_broken(tool: str) -> None:
    """Launch the kernel that the tool must report."""
    from kernels.cuda import launch
    from kernels.cuda.plan import LaunchPlan

    source, name = Path(__file__).with_name("broken.cu"), f"broken_{tool}<float>"
    x, out = torch.empty(2, 1, 64, device="cuda")
    launch.run(lambda problem: (LaunchPlan(source, name, 64, 1),), x, out)
    torch.cuda.synchronize()


def compile_all() -> None:
    """Fill the cache of compiled kernels, so that no process under a tool compiles."""
    from kernels.cuda import nvrtc
    from kernels.cuda.launch import gpu_info
    from tests.kernels.helpers.launches import code_paths

    gpu = gpu_info(0)
    arch = "sm_{}{}".format(*gpu.capability)
    sources = {
        (code_path.plan.source, code_path.plan.kernel)
        for code_path in code_paths(gpu, "contributed")
    }
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0)), context) as pool:
        for code_path in sources:  # a kernel that does not compile is reported by its launch
            pool.submit(nvrtc.build_once, *code_path, arch)


def under(tool: str, job: str) -> str:
    """Return what a process of this module prints under a tool, after its exit code."""
    module = [sys.executable, "-m", "tests.kernels.helpers.sanitize", "--job", job]
    command = [SANITIZER, "--tool", tool, *OPTIONS, *module]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": ROOT}
    try:
        done = subprocess.run(command, env=os.environ | ENVIRONMENT, timeout=TIMEOUT_S, **streams)
    except subprocess.TimeoutExpired as late:
        return f"exit code none after {TIMEOUT_S} s\n{late.stdout}"
    return f"exit code {done.returncode}\n{done.stdout}"


def count(output: str) -> tuple[collections.Counter, int]:
    """Return launches by kernel, and the errors: of the tool's summary, of results, of a crash."""
    outcomes = re.findall(r"^launched (\w+): (.*)$", output, re.MULTILINE)
    errors = sum(outcome != "right" for _, outcome in outcomes)
    summary = re.findall(r"SUMMARY: (\d+) (?:errors?|hazards?)", output)
    crashed = not re.match(rf"exit code (0|{ERRORS_FOUND})\n", output)
    errors += sum(map(int, summary)) + crashed + (not summary)
    return collections.Counter(name for name, _ in outcomes), errors


def main() -> int:
    """Return 0 if all tools are silent on the project's kernels, and none on the broken ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", help=argparse.SUPPRESS)  # a shard, or the tool of a broken kernel
    if job := parser.parse_args().job:
        return run_shard(int(job)) if job.isdecimal() else run_broken(job)
    if SANITIZER is None:
        parser.error("compute-sanitizer is not here; it is part of the CUDA toolkit")
    compile_all()
    faults, shards = [], [str(number) for number in range(SHARDS)]
    with concurrent.futures.ThreadPoolExecutor() as pool:  # all tools at once
        all_runs = [[pool.submit(under, tool, job) for job in (tool, *shards)] for tool in TOOLS]
    for tool, (broken, *runs) in zip(TOOLS, all_runs, strict=True):
        if not count(text := broken.result())[1] or f"broken_{tool}" not in text:
            faults.append(f"{tool} does not report a broken kernel:\n{text}")
        launched, errors = collections.Counter(), 0
        for text in (shard.result() for shard in runs):
            of_shard, shard_errors = count(text)
            launched, errors = launched + of_shard, errors + shard_errors
            faults += [f"{tool}:\n{text[-20_000:]}"] * bool(shard_errors)
        sums = launched.total(), len(launched), errors
        print("{}: {} launches of {} kernels, {} errors".format(tool, *sums))
    print("\n\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    replace_missing_characters()
    sys.exit(main())
