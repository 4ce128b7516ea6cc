"""`ralph completion`: the scripts, accepted and used by real shells."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from faces.programs import SECONDS, clean_environment, run, run_here
from interlock.faces.cli.main import NOUNS, verbs_of
from interlock.machine import SHIPPED

_ASK = """
source "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
COMPREPLY=()
_ralph ralph "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script for bash, in a file."""
    place = tmp_path_factory.mktemp("bash")
    file = place / "ralph.bash"
    file.write_text(run("completion", "bash", cwd=place, env=clean_environment(place)).out, encoding="utf-8")
    return file


def _completed(script: Path, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> list[str]:
    """What bash offers for the last of the words."""
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", _ASK, "bash", "ralph", *words],
        env={"PATH": "/usr/bin:/bin", **(env or {}), "SCRIPT": str(script)},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def _shell_accepts(shell: str, text: str) -> None:
    done = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_accepts_the_script(script: Path) -> None:
    _shell_accepts("bash", script.read_text(encoding="utf-8"))


def test_bash_completes_nouns(script: Path) -> None:
    assert {*NOUNS, "--json", "--help", "--version"} == set(_completed(script, ""))
    assert _completed(script, "mac") == ["machine"]
    assert set(_completed(script, "d")) == {"demo", "doctor"}
    assert _completed(script, "xyz") == []


@pytest.mark.parametrize("noun", [noun for noun in NOUNS if "" not in verbs_of(noun)])
def test_bash_completes_verbs(noun: str, script: Path) -> None:
    assert set(verbs_of(noun)) <= set(_completed(script, noun, ""))


def test_bash_completes_the_beginning_of_a_verb(script: Path) -> None:
    assert _completed(script, "machine", "sh") == ["show"]
    assert _completed(script, "journal", "v") == ["verify"]


@pytest.mark.parametrize("verb", ["show", "check", "diagram"])
def test_bash_completes_machines(verb: str, script: Path) -> None:
    assert set(SHIPPED) <= set(_completed(script, "machine", verb, ""))
    assert set(_completed(script, "machine", verb, "t")) == {"ticket", "thread"}


def test_bash_completes_open_tickets(script: Path, repository: Path, environment: dict[str, str]) -> None:
    for title in ("Parse dates", "Print dates"):
        run_here("ticket", "create", title, cwd=repository, env=environment)
    programs = {**environment, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    for words in (("work",), ("ticket", "show")):
        assert {"1", "2"} <= set(_completed(script, *words, "", cwd=repository, env=programs))
    assert _completed(script, "work", "2", cwd=repository, env=programs) == ["2"]
    titles = run_here("completion", "tickets", "--titles", cwd=repository, env=environment).out
    assert titles == "1\tParse dates\n2\tPrint dates\n"


def test_bash_completes_options_and_their_values(script: Path) -> None:
    assert _completed(script, "machine", "diagram", "--f") == ["--format"]
    assert _completed(script, "machine", "diagram", "thread", "--format", "s")[:1] == ["svg"]
    assert "--output" in _completed(script, "journal", "export", "--")
    assert set(_completed(script, "log", "--")) >= {"--follow", "--number", "--json", "--help"}
    assert set(_completed(script, "completion", "")) >= {"bash", "zsh", "fish"}


@pytest.mark.parametrize("words", [["--json", ""], ["--json", "mac"]], ids=" ".join)
def test_bash_completes_nouns_behind_an_option_too(words: list[str], script: Path) -> None:
    assert "machine" in _completed(script, *words)


def test_bash_completes_verbs_behind_an_option_too(script: Path) -> None:
    assert _completed(script, "--json", "machine", "sh") == ["show"]


def test_bash_knows_which_program_it_completes(script: Path) -> None:
    done = subprocess.run(
        ["bash", "--norc", "-c", f'source "{script}"; complete -p ralph'],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert "-F _ralph ralph" in done.stdout


def test_the_script_for_zsh_says_what_it_completes(outside: Path, environment: dict[str, str]) -> None:
    text = run_here("completion", "zsh", cwd=outside, env=environment).out
    assert text.startswith("#compdef ralph\n")
    assert "bashcompinit" in text
    if shutil.which("zsh"):
        _shell_accepts("zsh", text)


def test_the_script_for_fish_offers_every_noun_and_verb(outside: Path, environment: dict[str, str]) -> None:
    text = run_here("completion", "fish", cwd=outside, env=environment).out
    lines = text.splitlines()
    assert all(re.match(r"complete -c ralph( -[a-z]+( '[^']*'| [\w-]+)?)+$", line) for line in lines), lines
    assert all(line.count("'") % 2 == 0 for line in lines)
    for noun in NOUNS:
        assert any(f"-n __fish_use_subcommand -a {noun} " in line for line in lines)
        for verb in filter(None, verbs_of(noun)):
            assert any(re.search(rf"seen_subcommand_from {noun}; and not .* -a {verb} ", line) for line in lines)
    if shutil.which("fish"):
        _shell_accepts("fish", text)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_in_an_envelope_is_the_same(shell: str, outside: Path, environment: dict[str, str]) -> None:
    data = run_here("completion", shell, "--json", cwd=outside, env=environment).data
    assert data == {"shell": shell, "script": run_here("completion", shell, cwd=outside, env=environment).out}
