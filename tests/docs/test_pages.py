"""The workflow that publishes the recorded report on GitHub Pages runs the documented command."""

import yaml

from measure import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))


def test_pages_are_published_at_a_release_and_with_no_more_rights_than_that_takes():
    triggers = WORKFLOW[True]  # YAML 1.1 reads the key `on` as true
    assert triggers["release"] == {"types": ["published"]}
    assert "push" not in triggers
    assert WORKFLOW["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}


def test_the_site_is_what_make_report_writes():
    (job,) = WORKFLOW["jobs"].values()
    commands = [step.get("run", "") for step in job["steps"]]
    assert "make report" in commands
    (upload,) = (step for step in job["steps"] if "pages-artifact" in step.get("uses", ""))
    assert upload["with"]["path"] == "results/recorded"
    assert any("report.html results/recorded/index.html" in command for command in commands)
