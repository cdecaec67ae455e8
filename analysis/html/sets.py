"""Which rows are drawn together: one set for each dtype, sweep, operation and rule for M."""

import pandas as pd

from analysis import shapes
from analysis.figures import controls
from analysis.figures.lines import copy_rate
from analysis.figures.select import Panel, Selection, existing, panels, select
from analysis.published import Published


def sets(measurements: pd.DataFrame, published: Published) -> list[dict[str, object]]:
    """Sets with one panel per GPU, side by side; sets with own rows come first.

    Of too many values of M an even choice is drawn, as in the figures of the report; a `note` says.
    `measurements`: with what controls.added has added. A panel names its rows by their position
    there (`own`) and in the published tables (`published`), and has the measured copy as (N, GB/s),
    or the vendor's memory peak where there is none.
    """
    found: dict[tuple[str, str, str], dict] = {}
    for gpu, dtype, sweep in existing(measurements, published):
        selection = select(measurements, published, gpu, dtype, sweep)
        chosen, total = panels(selection, only_timed=True)
        for panel in chosen:
            rows = panel.own if len(panel.own) else panel.published
            what = f"{rows['op'].iloc[0]}, {shapes.describe(rows)}"
            label = f"{sweep}: {dtype}, {what}"
            new = {"label": label, "note": [], "panels": []}
            entry = found.setdefault((dtype, sweep, what), new)
            entry["panels"].append(_panel(panel, selection))
            entry["note"] += _notes(panel.own, len(chosen), total, gpu)
    for entry in found.values():
        entry["note"] = " ".join(dict.fromkeys(entry["note"]))
        entry["panels"].sort(key=lambda panel: not panel["own"])
    return sorted(found.values(), key=_order)


def _notes(own: pd.DataFrame, shown: int, total: int, gpu: str) -> list[str]:
    """Sentences."""
    said = [f"{line}." for line in controls.note(own)]
    if shown < total:
        said += [f"{shown} of {total} values of M of this sweep on {gpu} are drawn, evenly chosen."]
    return said


def _order(entry: dict) -> tuple:
    """Own rows first, then the default sweep, then float32."""
    label = entry["label"]
    usual = label.startswith("online_softmax:"), ": float32, softmax," in label
    return (not entry["panels"][0]["own"], *(not each for each in usual), label)


def _panel(panel: Panel, selection: Selection) -> dict[str, object]:
    own, tables = panel.own, panel.published
    rows = own if len(own) else tables
    copy = copy_rate(own)
    peaks = [s.memory_peak_gbps for s in selection.sources if own.empty and s.memory_peak_gbps]
    return {
        "gpu": rows["gpu"].iloc[0],
        "name": rows["gpu_name"].iloc[0],
        "origin": ", ".join(sorted({*own["origin"], *tables["origin"]})),
        "input": "/".join(sorted(set(rows["distribution"]))),
        "own": own.index.tolist(),
        "published": tables.index.tolist(),
        "copy": [[int(n), rate] for n, rate in copy.items()],
        "peak": peaks[0] if peaks else None,
    }
