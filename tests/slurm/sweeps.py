"""Sweeps on the lab's cluster: copies of the project, whose points are stand-ins."""

import json
import shutil
import subprocess
from pathlib import Path

import yaml

from tests import copies
from tests.analysis import synthetic
from tests.processes import until
from tests.slurm.lab import Lab
from tests.workflow import runner

HERE = Path(__file__).parent
# Ways to request a GPU: by its type, or by where it is and what its node offers.
REQUESTS = {
    "gpu_model": {"a100": "a100", "l40s": "l40s"},
    "slurm_partition": {"h200": "h200s"},
    "constraint": {"h200": "has_h200"},
}
VARIANTS = ["torch_softmax", "torch_naive", "torch_jit", "triton_online"]


class Sweep(runner.Runner):
    """A copy of the project with a configuration and with REQUESTS in the profile."""

    # the command of docs/howto/cluster.md, which looks at the queue after 2 s instead of 40
    mode = (
        "--workflow-profile",
        "profiles/slurm",
        "--slurm-init-seconds-before-status-checks",
        "2",
    )

    def __init__(self, folder: Path, lab: Lab, gpus: list[str], sizes: list[int], **change):
        super().__init__(copies.copy_project(folder, recorded="none"))
        self.lab = lab
        change |= {"gpus": gpus, "shapes": [{"M": 4, "N": sizes}]}
        runner.configure(folder, **{"variants": VARIANTS} | change)
        shutil.copy(HERE / "standin.py", folder / "measure")
        for status in ("ok", "crash"):
            synthetic.write_csv(folder / f"{status}.csv", [synthetic.row(status=status)])
        with (folder / "measure/process/run_point.py").open("a", encoding="utf-8") as file:
            file.write("\n\nfrom ..standin import measure_point\n")
        profile = folder / "profiles/slurm/profile.yaml"
        settings = yaml.safe_load(profile.read_text(encoding="utf-8"))
        settings["set-resources"]["point"] |= {
            name: f"{by_gpu}.get(wildcards.gpu)" for name, by_gpu in REQUESTS.items()
        }
        profile.write_text(yaml.safe_dump(settings), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        return self.lab.environment

    def start_and_hold(self, after: int) -> subprocess.Popen:
        """Start, let so many more points pass, and return once the next one is held.

        No point is then about to end: each that began is held or has its row.
        """
        count = len(self.visits()) + after
        (self.folder / "hold").write_text(str(count), encoding="utf-8")
        run = self.start(*runner.UNTIL_MERGED)
        until(lambda: self._is_held(count) or run.poll() is not None, 240)
        assert run.poll() is None, self.printed()
        return run

    def _is_held(self, count: int) -> bool:
        visits, rows = self.visits(), self.times()
        return len(visits) > count and all("held" in v or v["point"] in rows for v in visits)

    def release(self) -> None:
        """Hold no point any more."""
        (self.folder / "hold").unlink(missing_ok=True)

    def visits(self) -> list[dict]:
        """Points that began, in order; with `end` where they ended."""
        file = self.folder / "visits.jsonl"
        begun = {}
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
            visit = json.loads(line)
            begun.setdefault(visit["id"], {}).update(visit)
        return list(begun.values())

    def times(self) -> dict[str, int]:
        """Each row, as its visit names it -> when it was written."""
        statuses = {}
        for path in self.rows():
            variant, _, replicate = path.stem.split(".")
            place = f"{path.parts[-7]}/{path.parts[-2]}/{variant}.{replicate}"
            statuses[place] = path.stat().st_mtime_ns
        return statuses

    def allocations(self) -> list[dict[str, str]]:
        """Its jobs in Slurm, in order."""
        return self.lab.jobs(self.folder)
