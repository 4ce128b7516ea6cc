"""Patches of git as pages show them: all lines, in colours, whatever is in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from faces.web.looking import HOSTILE
from interlock.faces.web.patches import PatchLine, read_patch

_LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=30), max_size=8)


def _text(line: PatchLine) -> str:
    return "".join(piece.text for piece in line.pieces)


def _patch(name: str, *lines: str) -> str:
    heading = f"diff --git a/{name} b/{name}\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/{name}\n"
    return heading + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


def test_a_real_patch_has_its_files_lines_and_numbers(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", *author, *words], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60
        )
        return done.stdout

    git("init", "-q")
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    (tmp_path / "gone").write_text("x\n")
    git("add", "-A")
    git("commit", "-qm", "x")
    (tmp_path / "a.py").write_text("one = 1\ntwo = 'two'\nthree = 3\nfour = 4\n")
    (tmp_path / "gone").unlink()
    (tmp_path / "picture").write_bytes(b"\0\1")
    git("add", "-A")
    patch = read_patch(git("diff", "--cached"))
    assert [(one.path, one.added, one.removed) for one in patch.files] == [
        ("a.py", 2, 1),
        ("gone", 0, 1),
        ("picture", 0, 0),
    ]
    code, gone, picture = patch.files
    assert [(one.kind, one.old, one.new, _text(one)) for one in code.lines[1:]] == [
        ("same", 1, 1, "one = 1"),
        ("removed", 2, None, "two = 2"),
        ("added", None, 2, "two = 'two'"),
        ("same", 3, 3, "three = 3"),
        ("added", None, 4, "four = 4"),
    ]
    assert [piece.text for piece in code.lines[3].pieces if piece.kind == "string"] == ["'two'"]
    assert gone.notes == ["deleted file mode 100644"]
    assert any("Binary" in note for note in picture.notes)


def test_what_a_line_means_depends_on_those_above_it() -> None:
    [file] = read_patch(_patch("a.py", '"""Begins', "def no_code(): pass", '"""')).files
    assert {piece.kind for line in file.lines[1:] for piece in line.pieces} == {"string"}


@given(_LINES, st.sampled_from(["a.py", "a.js", "a.html", "a.md", "a.yaml", "a.c", "a", "a.unknown"]))
def test_no_character_is_lost(lines: list[str], name: str) -> None:
    files = read_patch(_patch(name, *lines)).files
    assert [_text(line) for line in files[0].lines[1:]] == lines


def test_very_long_lines_and_patches_are_bounded() -> None:
    [file] = read_patch(_patch("a.py", "x = (" * 100_000, HOSTILE)).files
    assert [len(line.pieces) for line in file.lines[1:]] == [1, 1]
    patch = read_patch(_patch("a.py", *["x"] * 5000))
    assert len(patch.files[0].lines) < 1500
    assert patch.left_out == 5000 + 7 - 1500


def test_what_is_no_patch_has_no_files() -> None:
    assert read_patch("").files == []
    assert read_patch(f"{HOSTILE}\n@@ -1 +1 @@\n+x").files == []
