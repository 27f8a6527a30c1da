"""The files that let strangers carry the project on agree with each other."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra docs")
ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def supported() -> list[str]:
    """The versions of Python that pyproject.toml names."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_scripts_that_exist_under_every_supported_python(path: Path) -> None:
    for job in read(path)["jobs"].values():
        versions = job["strategy"]["matrix"].get("python", supported())
        assert [
            version for version in versions if not version.endswith("t")
        ] == supported()  # 3.14t: without a GIL
        assert {"ubuntu-latest", "macos-latest"} <= set(job["strategy"]["matrix"]["os"])
        commands = " ".join(step.get("run", "") for step in job["steps"])
        scripts = re.findall(r"scripts/\S+", commands)
        assert all(os.access(ROOT / script, os.X_OK) for script in scripts)
        assert scripts or path.name == "wheels.yml"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_leave_no_credentials(path: Path) -> None:
    """A tag can be moved to other code; a token on the disk can be read by every later step."""
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    actions = [step["uses"] for step in steps if "uses" in step]
    assert [action for action in actions if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
    for step in steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    # For people: the version that the commit was released as.
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "uses: " in line]
    assert all(re.search(r"  # v\d+\.\d+\.\d+$", line) for line in lines)


def test_every_promise_of_security_names_tests_that_exist() -> None:
    rows = []
    for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines():
        cells = line.strip("| ").split(" | ")
        if line.startswith("| ") and cells[0] != "promise":
            rows.append(cells)
    assert len(rows) > 20
    for promise, tests in rows:
        paths = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        assert paths, f"no test holds: {promise}"
        assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_every_week_the_newest_versions_are_tried() -> None:
    """With those of constraints.txt, as before, nothing that a new one breaks could be seen."""
    workflow = read(ROOT / ".github" / "workflows" / "test.yml")
    (constraints,) = (
        step["env"]["ARCSPAN_CONSTRAINTS"]
        for step in workflow["jobs"]["test"]["steps"]
        if "env" in step
    )
    assert "github.event_name == 'schedule' && '/dev/null'" in constraints
    script = (ROOT / "scripts" / "test").read_text("utf-8")
    assert (
        "constraints=${ARCSPAN_CONSTRAINTS:-constraints.txt}" in script
        and '-c "$constraints"' in script
    )
    for path in WORKFLOWS:
        assert "schedule" in read(path)[True]  # `on`, which YAML takes for a truth value


def test_the_changes_of_this_version_have_a_section_and_a_date() -> None:
    from arcspan import __version__

    released = read(ROOT / "CITATION.cff")["date-released"]
    assert f"\n## {__version__} ({released})\n" in (ROOT / "CHANGELOG.md").read_text(
        encoding="utf-8"
    )


def test_every_supported_python_is_tried_by_the_test_command() -> None:
    script = (ROOT / "scripts" / "try-package").read_text(encoding="utf-8")
    tried = re.search(r"for version in ([\dt. ]+);", script)
    assert tried is not None
    assert {*tried[1].split(), "3.11"} == {*supported(), "3.14t"}  # 3.11 is what the tests run with


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_asks_each_question_once(path: Path) -> None:
    form = read(path)
    if path.name == "config.yml":
        assert set(form) <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert names and len(set(names)) == len(names)
    assert all(
        part["attributes"].get("label") for part in form["body"] if part["type"] != "markdown"
    )


def test_hooks_call_tools_of_the_environment_and_scripts_that_exist() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    for hook in repository["hooks"]:
        tool, *arguments = hook["entry"].split()
        assert tool.startswith(".venv/bin/")
        assert all((ROOT / part).exists() for part in arguments if part.endswith(".py"))


def test_the_version_is_the_same_everywhere() -> None:
    from arcspan import __version__

    assert read(ROOT / "CITATION.cff")["version"] == __version__


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").iterdir()), ids=lambda path: path.name)
def test_a_shell_script_is_well_formed(script: Path) -> None:
    if script.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash"):
        subprocess.run(["bash", "-n", str(script)], check=True)
    assert os.access(script, os.X_OK)


def test_the_test_command_installs_no_system_packages() -> None:
    """Installing Chromium without being asked, as scripts/test once did, is left to .ci/run."""
    script = (ROOT / "scripts" / "test").read_text(encoding="utf-8")
    assert not re.search(r"^\s*(?!.*echo).*apt-get", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("failing", "code"),
    [("", 0), (".venv/bin/mypy", 1), ("scripts/check-native", 1), ("scripts/try-package", 1)],
)
def test_the_test_command_ends_with_0_only_when_all_is_well(
    tmp_path: Path, failing: str, code: int
) -> None:
    """It ended with 1 when all was well: nothing was left to kill."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    script = tmp_path / "scripts" / "test"
    script.write_text((ROOT / "scripts" / "test").read_text(encoding="utf-8"), encoding="utf-8")
    for name in (
        ".venv/bin/python",
        ".venv/bin/ruff",
        ".venv/bin/mypy",
        "scripts/try-package",
        "scripts/check-native",
    ):
        tool = tmp_path / name
        tool.write_text(
            f"#!/usr/bin/env bash\necho {name}\nexit {int(name == failing)}\n", encoding="utf-8"
        )
        tool.chmod(0o755)
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True)
    assert done.returncode == code
    assert failing in done.stdout + done.stderr, "what a tool says is shown, in the background too"
    assert "scripts/try-package" in done.stdout + done.stderr or failing not in (
        "",
        "scripts/try-package",
    )
