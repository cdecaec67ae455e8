"""The tables of the literature, to the digit."""

import pytest
import yaml

from analysis import InputError, claims, published
from measure import ROOT

FOLDER = ROOT / "data/published"


def test_recomputed_claims(tables):
    checked = claims.check(tables.rows.iloc[:0], tables).set_index(["claim", "quantity"])

    def value(claim, part):
        (hit,) = [v for (c, q), v in checked["value"].items() if c == claim and part in q]
        return hit

    assert round(1 / (1 - value("S0-a", "reduction")), 3) == 1.353
    assert round(value("S3-a", "smallest"), 2) == 1.96
    for claim in (candidate for candidate in claims.CLAIMS if "stated" in candidate.arguments):
        if claim.untabled:
            assert f"{claim.arguments['stated']:g}" in claim.statement
        else:
            number = value(claim.id, claim.quantity)
            assert f"{number:.{claim.arguments['decimals']}f}" == str(claim.arguments["stated"])
    whys = checked["why"].to_dict()
    (s3,) = [why for (claim, _), why in whys.items() if claim == "S3-a"]
    assert "2.736x at N = 16" in s3
    assert "1.965x at N = 512" in s3
    assert any("slower at N = 256, 512, 1024, 2048, 16384" in why for why in whys.values())


def test_a_table_without_its_source_its_column_or_its_times_is_refused(tmp_path):
    entry = yaml.safe_load((FOLDER / "sources.yaml").read_text(encoding="utf-8"))[
        "a100_online_softmax_2024.csv"
    ]
    (tmp_path / "t.csv").write_text(
        "gpu,gpu_name,dtype,M,N,variant\na100,A,float32,1,2,x\n", encoding="utf-8"
    )
    for sources, complaint in (
        ([], "t.csv: no entry in sources.yaml"),
        (["t.csv", "gone.csv"], "gone.csv: an entry but no table"),
        (["t.csv"], "column time_ms is missing"),
    ):
        (tmp_path / "sources.yaml").write_text(
            yaml.safe_dump(dict.fromkeys(sources, entry)), encoding="utf-8"
        )
        with pytest.raises(InputError, match=complaint):
            published.load(tmp_path)
    heads = "gpu,gpu_name,dtype,M,N,variant,time_ms\n"
    for line, complaint in (
        ("a,A,float32,1,2,x,0", "M, N and time_ms must be above 0"),
        ("a,A,float32,1,2,x,inf", "time_us is 'inf', expected a finite number"),
        ("../a,A,float32,1,2,x,1", "line 2: gpu is '../a', expected lower-case letters"),
        ("a,A,../x,1,2,x,1", "dtype is '../x', expected one of float32"),
    ):
        (tmp_path / "t.csv").write_text(f"{heads}{line}\n", encoding="utf-8")
        with pytest.raises(InputError, match=complaint):
            published.load(tmp_path)
    (tmp_path / "t.csv").write_text(f"{heads}a,A,float32,1,2,x,1\n", encoding="utf-8")
    assert len(published.load(tmp_path).rows) == 1
    sources = {"t.csv": entry | {"sweep": "x/../../out"}}
    (tmp_path / "sources.yaml").write_text(yaml.safe_dump(sources), encoding="utf-8")
    with pytest.raises(InputError, match=r"sweep is 'x/\.\./\.\./out', expected"):
        published.load(tmp_path)
