"""Check published claims on their own tables, then on every GPU with rows: results/claims.csv."""

import inspect
import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import yaml

from analysis import InputError, stats
from analysis.claims import judges
from analysis.claims.claim import Claim, Evidence, Finding, NoDataError, Protocol
from analysis.claims.reproduction import NO_DATA
from analysis.published import Published

WHERE = ["gpu", "gpu_name", "dtype", "origin", "sweep"]
COLUMNS = ["claim", "source", "statement", *WHERE]
COLUMNS += ["quantity", "value", "low", "high", "published_value", "verdict", "why", "explained"]


def load(text: str) -> list[Claim]:
    """Return the claims of claims.yaml. Raises InputError that names what is no claim."""
    claims, entry_name = [], "not YAML"
    try:
        data, entry_name = yaml.safe_load(text), "protocols"
        protocols = {name: Protocol.from_yaml(**entry) for name, entry in data["protocols"].items()}
        for source in data["sources"]:
            for entry in source["claims"]:
                entry_name = f"{entry['id']}, {entry['quantity']}"
                judge, protocol = getattr(judges, entry["judge"]), protocols[entry["protocol"]]
                inspect.signature(judge).bind(None, **entry["arguments"])
                resolved = {"source": source["source"], "protocol": protocol, "judge": judge}
                claims.append(Claim(**entry | resolved))
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        fault = " ".join(str(error).split())
        remedy = "correct it; the comments of the file say what an entry has"
        raise InputError(f"claims.yaml: {entry_name}: {fault}; {remedy}") from error
    return claims


CLAIMS = load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))


def check(measurements: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the table of claims, columns COLUMNS.

    Each claim has first a line of origin `published`, recomputed from the source's own table. One
    line follows for every gpu, dtype and origin: of the sweeps with rows of the claim's protocol,
    those that allow a verdict come first, then those of current code, then those of more sizes.
    Without any, the line says `no data`. `published_value` is the recomputed value, or the number
    in the source's text where no table gives one. A verdict on measured rows compares them with
    this value; the verdict on the source's own table says whether its words agree with its numbers.
    `explained`: the anchor in docs/explanation/why_kernels_differ.md.
    """
    measurements = stats.point_estimates(measurements)
    lines = []
    for claim in CLAIMS:
        scope, finding, table = on_own_table(claim, published)
        recomputed = not math.isnan(finding.value)
        columns_of_claim = {
            "claim": claim.id,
            "source": claim.source,
            "statement": claim.statement,
            "quantity": claim.quantity,
            "published_value": finding.value
            if recomputed
            else claim.arguments.get("stated", math.nan),
            "explained": claim.explained,
        }
        findings = [(scope, finding), *_measured(claim, measurements, table, finding.value)]
        lines += [columns_of_claim | scope | finding._asdict() for scope, finding in findings]
    return pd.DataFrame(lines, columns=COLUMNS)


def read(path: Path) -> pd.DataFrame:
    """Return the table of `check` from its file. Raises InputError if that is no such file."""
    text = dict.fromkeys(set(COLUMNS) - {"value", "low", "high", "published_value"}, "str")
    try:
        table = pd.read_csv(path, dtype=text)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); run `claims` first") from error
    if list(table) != COLUMNS:
        raise InputError(f"{path}: not written by `claims`: its columns differ; run it again")
    return table.fillna(dict.fromkeys(text, ""))


def judge(
    claim: Claim,
    rows: pd.DataFrame,
    published: Evidence | None = None,
    published_value: float = math.nan,
) -> Finding:
    """Return the finding of one claim on the rows of one gpu, dtype, origin and sweep.

    `published` and `published_value`: the source's own table, and the claim's quantity there.
    """
    evidence = Evidence(rows, claim.protocol, published, published_value)
    try:
        finding = claim.judge(evidence, **claim.arguments)
        return finding._replace(why="; ".join([finding.why, *evidence.marks()]))
    except NoDataError as error:
        return Finding(NO_DATA, str(error))


def on_own_table(claim: Claim, published: Published) -> tuple[dict, Finding, Evidence | None]:
    """Return where the source's own table comes from, the finding on it, and its rows."""
    scope = dict.fromkeys(WHERE, "") | {"origin": "published", "sweep": claim.protocol.name}
    if claim.untabled:
        return scope, Finding(NO_DATA, claim.untabled), None
    table = claim.protocol.table
    rows = published.rows[published.rows["table"] == table]
    if rows.empty:
        return scope, Finding(NO_DATA, f"{table}.csv is not among the published tables"), None
    finding = judge(claim, rows)
    if finding.verdict != NO_DATA:
        why = f"{finding.why}; no intervals in the source: point values only"
        finding = finding._replace(why=why)
    return rows.iloc[0][WHERE].to_dict(), finding, Evidence(rows, claim.protocol)


def _measured(
    claim: Claim,
    measurements: pd.DataFrame,
    published: Evidence | None,
    published_value: float,
) -> Iterator[tuple[dict, Finding]]:
    for _, rows in measurements.groupby(["origin", "gpu", "dtype"]):
        scope = rows.iloc[0][WHERE].to_dict()
        sweeps = {
            sweep: selected
            for sweep, sweep_rows in rows.groupby("sweep")
            if len(selected := claim.protocol.select(sweep_rows))
        }
        judged = {
            sweep: judge(claim, selected, published, published_value)
            for sweep, selected in sweeps.items()
        }
        absent = Finding(NO_DATA, f"no rows of {claim.protocol}")
        best = max(judged, key=lambda name: _preference(judged[name], sweeps[name]), default="")
        yield scope | {"sweep": best}, judged.get(best, absent)


def _preference(finding: Finding, rows: pd.DataFrame) -> tuple[bool, float, int]:
    """Return a key by which the sweep of the largest gives the verdict."""
    return finding.verdict != NO_DATA, (rows["stale"] != "true").mean(), rows["N"].nunique()
