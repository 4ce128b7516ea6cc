"""What is to be verified: the plan of the settings, what globs mean, and what a command runs."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InterlockError
from interlock.work.settings.values import Settings
from interlock.work.verification.counting import checks, number_of_tests, skips
from interlock.work.verification.protecting import matching
from interlock.work.verification.request import VerificationPlan, name_of, plan_of
from interlock.work.verification.runners import part_that_differs, used_by

DEFAULTS = Settings().texts("verify.tests")


def _plan(text: str, **more: tuple[str, ...]) -> VerificationPlan:
    return plan_of(Settings.of(text), **more)


def test_a_plan_is_what_the_settings_say_and_what_the_spec_adds() -> None:
    text = (
        '[verify]\ncommands = ["unit: pytest -q", "pytest -q"]\nprepare = "uv sync"\ncarry = ["./.venv/"]\nminutes = 2'
    )
    plan = _plan(text, commands=("pytest -x", "pytest -q"), protected=("a",), named=("b",))
    assert [(one.name, one.command, one.seconds) for one in plan.verifiers] == [
        ("unit", "pytest -q", 120.0),
        ("pytest", "pytest -q", 120.0),
        ("pytest-2", "pytest -x", 120.0),
    ]
    assert (plan.prepare, plan.carry, plan.protected, plan.named) == ("uv sync", (".venv",), ("a",), ("b",))
    assert plan.is_apart
    assert not _plan("").is_apart


@pytest.mark.parametrize("path", ["/etc", "../x", "a/../../x", ".git", ".git/hooks", ".ralf/journal.db", "."])
def test_what_is_carried_lies_in_the_repository_and_is_not_git_s_or_ours(path: str) -> None:
    with pytest.raises(InterlockError) as caught:
        _plan(f'verify.carry = ["{path}"]')
    assert caught.value.code == "settings_invalid"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pytest -q", "pytest"),
        (".venv/bin/pytest -q", "pytest"),
        ("python -m pytest", "pytest"),
        ("uv run pytest", "pytest"),
        ("CI=1 npm test", "npm test"),
        ("make check", "make check"),
        ("cargo test --all", "cargo test"),
        ("./scripts/check.sh", "check.sh"),
        ("echo 'oh", "echo"),
        ("sh -c true", "true"),
        ("FOO=1", "verifier"),
    ],
)
def test_a_verifier_is_called_after_what_it_runs(command: str, name: str) -> None:
    assert name_of(command) == name


@given(st.text(min_size=1, max_size=100))
def test_every_command_has_a_short_name(command: str) -> None:
    assert 0 < len(name_of(command)) <= 40


@pytest.mark.parametrize(
    ("glob", "path", "means"),
    [
        ("tests/**", "tests/a/b.py", True),
        ("tests/**", "src/tests/a.py", False),
        ("**/tests/**", "src/tests/a.py", True),
        ("**/tests/**", "tests/a.py", True),
        ("**/test_*.py", "test_a.py", True),
        ("**/test_*.py", "a/test_a.py", True),
        ("**/test_*.py", "a/mytest_a.py", False),
        ("*.py", "a/b.py", False),
        ("data", "data/x/y", True),
        ("data/", "data/x", True),
        ("./data", "data", True),
        ("data", "database", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("[ab]", "a", False),
        ("*", "odd\nname", True),
    ],
)
def test_a_glob_means_what_people_expect(glob: str, path: str, means: bool) -> None:
    assert (matching(path, [glob]) is not None) is means


_PARTS = st.lists(st.text("ab.-_", min_size=1, max_size=3).filter(lambda one: one.strip(".")), min_size=1, max_size=4)


@given(_PARTS)
def test_a_path_is_meant_by_itself_by_its_directories_and_by_every_glob_over_it(parts: list[str]) -> None:
    path = "/".join(parts)
    for glob in (path, "**", "**/*", f"**/{parts[-1]}", f"{parts[0]}", "/".join("*" for _ in parts)):
        assert matching(path, [glob]) == glob
    for parent in PurePosixPath(path).parents:
        assert parent == PurePosixPath() or matching(path, [str(parent)])


@pytest.mark.parametrize(
    "path",
    ["tests/x.py", "a/tests/x.py", "test_a.py", "a/b_test.go", "web/a.spec.ts", "web/__tests__/a.js", "conftest.py"],
)
def test_tests_are_found_where_people_put_them(path: str) -> None:
    assert matching(path, DEFAULTS)


@pytest.mark.parametrize("path", ["src/latest.py", "contest.py", "src/testing.py", "spec.md", "specs/v1.md"])
def test_what_only_sounds_like_a_test_is_none(path: str) -> None:
    assert matching(path, DEFAULTS) is None


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("make", "Makefile"),
        ("cd sub && make test", "sub/rules.mk"),
        ("./check.sh", "check.sh"),
        ("sh -e check.sh", "check.sh"),
        ("FOO=1 python -u tools/check.py x.py", "tools/check.py"),
        ("true && (python -m tools.check)", "tools/check.py"),
        ("uv run nox -s tests", "noxfile.py"),
        ("timeout 5 bash run.sh", "run.sh"),
    ],
)
def test_what_a_command_runs_is_found(command: str, path: str) -> None:
    globs = list(used_by(command))
    assert any(matching(path, [glob]) for glob in globs), globs


@pytest.mark.parametrize("command", ["pytest x.py", "mypy x.py", "cat x.py | sh", "python -c 'x.py'", "echo make"])
def test_what_a_command_only_names_is_not_what_it_runs(command: str) -> None:
    assert not any(matching("x.py", [glob]) or matching("Makefile", [glob]) for glob in used_by(command))


@given(st.text(max_size=60))
def test_no_command_keeps_what_it_runs_from_being_looked_for(command: str) -> None:
    assert all(list(used_by(command)))


@given(st.binary(max_size=200), st.sampled_from(["pyproject.toml", "package.json", "setup.cfg", "a/tox.ini"]))
def test_a_file_that_is_the_same_has_no_part_that_differs_and_none_is_too_odd(content: bytes, path: str) -> None:
    assert part_that_differs(path, content, content) in (None, "the whole file, which cannot be read")


@pytest.mark.parametrize(
    "mark",
    [
        *(
            "@pytest.mark.skip",
            "@pytest.mark.skipif(True)",
            "@mark.xfail",
            "pytest.skip('x')",
            "pytestmark = mark.skip",
        ),
        *("@unittest.skip('x')", "self.skipTest('x')", "raise SkipTest", "@unittest.expectedFailure"),
        *("it.skip('x', f)", "describe.only('x', f)", "xit('x', f)", "xdescribe('x', f)", "test.todo('x')"),
        *(
            't.Skip("x")',
            "t.SkipNow()",
            "#[ignore]",
            '#[ignore = "slow"]',
            "@Disabled",
            "@Ignore",
            '[Fact(Skip = "x")]',
        ),
    ],
)
def test_what_takes_a_test_out_is_counted_once(mark: str) -> None:
    assert skips(mark) == 1


@pytest.mark.parametrize("text", ["skipped = 1", "def skip_line():", "exit(0)", "bit.skip", "fit = 1", "ignore"])
def test_what_only_sounds_like_it_is_not_counted(text: str) -> None:
    assert skips(text) == 0


@given(st.lists(st.sampled_from(["assert x == 1", "self.assertTrue(x)", "expect(x).toBe(1)", "x = 1", ""])))
def test_a_check_is_found_however_it_is_indented(lines: list[str]) -> None:
    plain, deep = "\n".join(lines), "\n".join(f"        {line}  " for line in lines)
    assert checks(plain) == checks(deep)
    assert checks(plain).total() == sum(bool(line) and line != "x = 1" for line in lines)


def test_tests_are_counted() -> None:
    assert number_of_tests("def test_a():\n  pass\nasync def test_b():\n") == 2
    assert number_of_tests("it('a', f)\n  test('b', f)\nexit(1)") == 2
    assert number_of_tests("func TestA(t *testing.T) {}\n#[test]\nfn a() {}\n@Test\nvoid a() {}") == 3
