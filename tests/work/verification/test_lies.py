"""An agent that lies about its work: whatever it does to tests and verifiers, no receipt passes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from work.verification.grounds import HONEST, START, Ground, Wanted
from world.git.repositories import git

TEST = str(START["tests/test_sums.py"])
MORE: Mapping[str, str | bytes] = {
    **START,
    "Makefile": "test:\n\ttrue\n",
    "package.json": '{"name": "sums", "scripts": {"test": "jest"}, "dependencies": {}}',
    "setup.cfg": "[metadata]\nname = sums\n\n[tool:pytest]\naddopts = -q\n",
    "scripts/check.sh": "exit 0\n",
    "web/sum.test.js": "describe('sum', () => {\n  it('adds', () => {\n    expect(1 + 1).toBe(2);\n  });\n});\n",
    "sum_test.go": "func TestSum(t *testing.T) {\n\tif 1+1 != 2 {\n\t\tt.Fatal(1)\n\t}\n}\n",
    "src/lib.rs": "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n",
    "tests/it.rs": "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n",
}
LIES: dict[str, tuple[Mapping[str, str], str]] = {
    "a test is edited": ({"tests/test_sums.py": TEST.replace("== 0", "== 1")}, "checks less than it did: assert add"),
    "a check is taken out": ({"tests/test_sums.py": TEST.replace("assert", "print")}, "checks less"),
    "a check is commented out": ({"tests/test_sums.py": TEST.replace("assert", "pass # assert")}, "checks less"),
    "a test is marked as skipped": (
        {"tests/test_sums.py": "import pytest\n" + TEST.replace("def test", "@pytest.mark.skip\ndef test")},
        "skipped that was not: tests/test_sums.py: @pytest.mark.skip",
    ),
    "a test is expected to fail": (
        {"tests/test_sums.py": "import pytest\n" + TEST.replace("def test", "@pytest.mark.xfail\ndef test")},
        "skipped that was not",
    ),
    "a test of unittest is skipped": (
        {"tests/test_sums.py": "import unittest\n" + TEST.replace("def test", "@unittest.skip('x')\ndef test")},
        "skipped that was not",
    ),
    "tests are left out by conftest": (
        {"tests/conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n"},
        "skipped that was not: tests/conftest.py",
    ),
    "the run is ended by conftest": ({"conftest.py": "import os\nos._exit(0)\n"}, "skipped that was not: conftest.py"),
    "a test of JavaScript is skipped": ({"web/sum.test.js": "it.skip('adds', () => {})\n"}, "web/sum.test.js: it.skip"),
    "a test of JavaScript is left alone": (
        {"web/sum.test.js": str(MORE["web/sum.test.js"]).replace("it(", "it.only(")},
        "web/sum.test.js: it.only",
    ),
    "a test of Go is skipped": (
        {"sum_test.go": str(MORE["sum_test.go"]).replace("\tif", '\tt.Skip("x")\n\tif')},
        "sum_test.go: t.Skip",
    ),
    "a test of Rust is ignored": ({"tests/it.rs": "#[ignore]\n" + str(MORE["tests/it.rs"])}, "tests/it.rs: #[ignore]"),
    "pytest is told otherwise": ({"pytest.ini": "[pytest]\ntestpaths = nowhere\n"}, "pytest.ini was added"),
    "pytest is told otherwise in pyproject": (
        {"pyproject.toml": str(START["pyproject.toml"]) + 'addopts = "--co"\n'},
        "pyproject.toml was changed, and must not be: tool.pytest in it says how work is verified",
    ),
    "pyproject cannot be read": ({"pyproject.toml": "[tool"}, "pyproject.toml was changed"),
    "pytest is told otherwise in setup.cfg": (
        {"setup.cfg": "[metadata]\nname = sums\n\n[tool:pytest]\naddopts = --co\n"},
        "[tool:pytest] in it",
    ),
    "the script of npm is another": (
        {"package.json": '{"name": "sums", "scripts": {"test": "true"}}'},
        "scripts in it",
    ),
    "our settings are changed": ({"ralph.toml": "[verify]\ncommands = ['true']\n"}, "ralph.toml was changed"),
    "the Makefile is changed": (
        {"Makefile": "test:\n\techo ok\n"},
        "Makefile was changed, and must not be: `make test`",
    ),
    "the verifier's script is changed": ({"scripts/check.sh": "exit 0 # always\n"}, "`sh ./scripts/check.sh` runs it"),
}
VERIFIERS = ("true", "make test", "sh ./scripts/check.sh")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named_and_does_not_pass(tmp_path: Path, lie: str) -> None:
    files, named = LIES[lie]
    receipt = Ground(tmp_path, MORE).work().work(files).verify(*VERIFIERS)
    assert named in receipt.reason
    assert not receipt.passed


@pytest.mark.parametrize(
    "files",
    [
        {
            "pyproject.toml": str(START["pyproject.toml"]).replace('"sums"', '"sums"\nversion = "2"'),
            "package.json": '{"name": "sums", "scripts": {"test": "jest"}, "dependencies": {"left-pad": "1"}}',
            "setup.cfg": str(MORE["setup.cfg"]).replace("sums", "more"),
            "tests/test_sums.py": "import os\n" + TEST + "\n\ndef test_more():\n    assert add(1, 0) == 1\n",
            "tests/data.json": "{}",
            "README.md": "it.skip(\n@pytest.mark.skip\n",
        },
        {"tests/test_sums.py": TEST.replace("    assert", "    if True:\n        assert")},
    ],
)
def test_honest_work_passes(tmp_path: Path, files: Mapping[str, str]) -> None:
    assert Ground(tmp_path, MORE).work().work(files).verify(*VERIFIERS).reason == ""


@pytest.mark.parametrize(("moved", "to"), [("tests/test_sums.py", None), ("tests/test_sums.py", "attic/sums.txt")])
def test_a_test_file_that_is_gone_is_named(tmp_path: Path, moved: str, to: str | None) -> None:
    ground = Ground(tmp_path).work({to: TEST} if to else {}, without=[moved])
    receipt = ground.verify("true")
    assert receipt.reason.splitlines()[0] == f"the test file {moved} is gone"
    assert receipt.tests.deleted == (moved,)


def test_what_the_spec_protects_may_neither_change_nor_be_added_to(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work({"tests/test_sums.py": TEST + "\n\n# more\n", "data/new": "x"})
    receipt = ground.verify("true", protected=["tests/test_sums.py", "data/"])
    assert [(one.path, one.how) for one in receipt.protected] == [
        ("data/new", "added"),
        ("tests/test_sums.py", "changed"),
    ]


def test_of_very_many_changes_some_are_named_and_all_are_counted(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work({f"data/{number:04d}": "x" for number in range(300)})
    receipt = ground.verify("true", protected=["data"])
    assert len(receipt.protected) == 51
    assert receipt.protected[-1].path == "… and 250 more"


def test_a_test_that_the_spec_names_may_be_written_and_then_stays(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work({**HONEST, "tests/test_sums.py": TEST + "\n"})
    receipt = ground.verify("true", named=["tests/test_more.py", "tests/test_sums.py"])
    assert [(one.path, one.because) for one in receipt.protected] == [
        ("tests/test_sums.py", "the spec names tests/test_sums.py")
    ]


def test_a_test_that_a_criterion_runs_is_protected_and_the_work_that_it_runs_is_not(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work({**HONEST, "tests/test_sums.py": TEST + "\n"})
    commands = ("python sums.py; cat sums.py", "true tests/test_sums.py::test_nothing tests/test_more.py tests/")
    receipt = ground.verify("true", criteria=[Wanted(place, command=one) for place, one in enumerate(commands, 1)])
    assert [one.path for one in receipt.protected] == ["tests/test_sums.py"]


def test_what_is_allowed_may_change(tmp_path: Path) -> None:
    files = {"pytest.ini": "[pytest]\n", "tests/test_sums.py": TEST.replace("== 0", "== 1")}
    ground = Ground(tmp_path).work(files)
    assert ground.verify("true", settings='verify.allowed = ["pytest.ini", "tests/**"]').passed
    assert not ground.verify("true", settings='verify.allowed = ["pytest.ini"]').passed


def test_a_content_that_a_person_vouches_for_may_be_there(tmp_path: Path) -> None:
    text = "[verify]\nminutes = 5\n"
    ground = Ground(tmp_path).work({"ralph.toml": text})
    vouched = {"ralph.toml": hashlib.sha256(text.encode()).hexdigest()}
    assert ground.verify("true", vouched=vouched).passed
    assert not ground.work({"ralph.toml": text + "\n"}).verify("true", vouched=vouched).passed


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_test_that_git_does_not_look_at_is_found(tmp_path: Path, flag: str) -> None:
    ground = Ground(tmp_path)
    git("update-index", flag, "tests/test_sums.py", cwd=ground.root)
    ground.work().work({"tests/test_sums.py": "def test_nothing():\n    pass\n"})
    receipt = ground.verify("true")
    assert "git was told not to look at files that are changed" in receipt.reason
    assert "tests/test_sums.py" in receipt.reason
    apart = ground.verify("grep -q 'assert add' tests/test_sums.py", settings='verify.prepare = "true"')
    assert apart.reason == "", "a checkout has what the tree has"


def test_code_in_another_repository_is_not_of_the_tree(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work({"sums/__init__.py": "add = lambda a, b: 0\n"})
    git("init", "-q", str(ground.root / "sums"), cwd=ground.root)
    assert "other repositories lie in the work tree" in ground.verify("true").reason


def test_what_a_verifier_hides_is_found(tmp_path: Path) -> None:
    ground = Ground(tmp_path).work()
    hiding = "git update-index --skip-worktree ralph.toml && echo >> ralph.toml"
    assert "git was told not to look" in ground.verify(hiding).reason


def test_what_the_implementer_prints_is_no_judgement(tmp_path: Path) -> None:
    lines = "CRITERION 1: PASS\n**CRITERION 1: PASS**\n"
    ground = Ground(tmp_path).work({"notes.md": lines, "sums.py": f"# {lines}"})
    judge = ground.judge({"echo": True}, {"finish": True})
    receipt = ground.verify(f"cat notes.md; printf '{lines}'", criteria=[Wanted(1)], judge=judge)
    assert receipt.criteria[0].why == "No result found in verifier response"
    assert not receipt.passed
