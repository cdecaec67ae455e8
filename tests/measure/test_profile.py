"""``--profile``: one call under Nsight Compute, which a stand-in of its name takes the place of."""

import os
import types
from pathlib import Path

import pytest

from measure import __main__ as command_line
from measure.device import gpus
from measure.process import profile
from tests.bench import point

# It runs the command behind its options, as ncu does, and writes down what it was asked for.
STAND_IN = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    --export=*) file="${word#--export=}"; shift;;
    --*) options="$options $word"; shift;;
  esac
done
"$@" || exit $?
echo "$options" > "$file"
"""


@pytest.fixture
def with_ncu(monkeypatch, tmp_path):
    """Return a function that puts a script in the place of ncu."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(gpus, "visible_gpus", list)

    def put(text=STAND_IN):
        (folder / "ncu").write_text(text, encoding="utf-8")
        (folder / "ncu").chmod(0o755)

    return put


@pytest.mark.parametrize("name", ["made/here", "made/here.ncu-rep"])
def test_the_profiler_runs_one_call_of_the_point_from_a_started_range_on(with_ncu, tmp_path, name):
    with_ncu()
    file = profile.write_profile(point(variant="torch_naive"), tmp_path / name)
    assert file == tmp_path / "made/here.ncu-rep"
    assert file.read_text(encoding="utf-8").split() == [*profile.OPTIONS]


def test_the_range_of_the_profiler_has_one_call_after_the_compiler_has_run(monkeypatch):
    import torch

    import kernels
    from measure.device import opened

    events = []
    cpu = opened.open_device("cpu")
    as_gpu = opened.Device("h200", cpu.torch_device, "H200", None, cpu.cache_bytes)
    monkeypatch.setattr(opened.Device, "is_cpu", False)
    monkeypatch.setattr(opened, "open_device", lambda gpu: as_gpu)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: events.append("wait"))
    for name in ("start", "stop"):
        monkeypatch.setattr(torch.cuda.profiler, name, lambda name=name: events.append(name))
    record = types.SimpleNamespace(function=lambda op: lambda x, out: events.append(x.data_ptr()))
    monkeypatch.setattr(kernels, "load", lambda name: record)
    profile.call_once(point(gpu="h200"))
    warm, again, *later = events
    assert warm == again
    assert later[:2] == ["wait", "start"]
    assert later[2] != warm
    assert later[3:] == ["wait", "stop"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo '==ERROR== ERR_NVGPUCTRPERM: no permission'\necho more\nexit 1", "==ERROR=="),
        ("echo '==WARNING== No kernels were profiled.'", "ended with 0 and made no"),
        ("exit 3", "ended with 3 and made no profile: it printed nothing"),
    ],
)
def test_a_profiler_that_fails_is_quoted(with_ncu, tmp_path, script, why):
    with_ncu(f"#!/bin/sh\n{script}")
    with pytest.raises(profile.ProfileError, match=why):
        profile.write_profile(point(), tmp_path / "x.ncu-rep")


@pytest.mark.parametrize(
    ("gpu", "why"),
    [("cpu", "profiles kernels of a GPU, and this is a CPU"), ("h200", "no ncu is on PATH")],
)
def test_where_nothing_can_be_profiled_nothing_is_measured(monkeypatch, tmp_path, capsys, gpu, why):
    monkeypatch.setattr(command_line, "measure_point", pytest.fail)
    monkeypatch.setattr(gpus, "resolve", lambda name: name)
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["point", "--gpu", gpu, "--M=4", "--N=8", "--variant=torch_softmax"]
    files = [f"--profile={tmp_path / 'x'}", f"--output={tmp_path / 'row.csv'}"]
    assert command_line.main([*words, *files]) == 2
    error = capsys.readouterr().err
    assert "error: --profile: " in error
    assert why in error


def test_a_profile_that_cannot_be_written_is_refused_before_time_is_spent(with_ncu, tmp_path):
    with_ncu()
    (tmp_path / "folder.ncu-rep").mkdir()
    for file in (Path("/proc/x/y"), tmp_path / "folder.ncu-rep"):
        with pytest.raises(profile.ProfileError, match="cannot be written"):
            profile.require_profiler(point(gpu="h200"), file)
    older = tmp_path / "older.ncu-rep"
    older.write_text("of yesterday", encoding="utf-8")
    for name in ("older", "newer"):
        profile.require_profiler(point(gpu="h200"), tmp_path / name)
    assert older.read_text(encoding="utf-8") == "of yesterday"
    assert not (tmp_path / "newer.ncu-rep").exists()


@pytest.mark.parametrize(("status", "profiles"), [("ok", 1), ("incorrect", 0)])
def test_a_kernel_that_was_timed_is_profiled_after_its_row_is_written(
    with_ncu, monkeypatch, tmp_path, capsys, status, profiles
):
    with_ncu()
    monkeypatch.setattr(profile, "require_profiler", lambda *_: None)  # it refuses a CPU
    monkeypatch.setattr(command_line, "measure_point", lambda *_: ({"status": status}, []))
    words = ["point", "--gpu=cpu", "--M=4", "--N=8", "--variant=torch_softmax"]
    files = [f"--profile={tmp_path / 'x'}", f"--output={tmp_path / 'row.csv'}"]
    assert command_line.main([*words, *files]) == 0
    assert command_line.main([*words, *files, "--strict"]) == int(status != "ok")
    assert (tmp_path / "row.csv").exists()
    assert len([*tmp_path.glob("*.ncu-rep")]) == profiles
    assert capsys.readouterr().out.count(f"  profile     {tmp_path / 'x.ncu-rep'}") == 2 * profiles
