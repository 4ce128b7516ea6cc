"""What a person is shown of two trees: all text, whatever the repository says, and a name for everything else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.world.git import diff, tree_hash
from world.git.repositories import git, made, write

EVIL = "import os; os.system('evil')\n"


def _excluded(root: Path) -> None:
    write(root, {".git/info/exclude": ".gitattributes\n", ".gitattributes": "* -diff\n"})


def _configured(root: Path) -> None:
    (root.parent / "attributes").write_text("*.py -diff\n")
    git("config", "core.attributesFile", str(root.parent / "attributes"), cwd=root)


def _driven(root: Path) -> None:
    write(root, {".gitattributes": "*.py diff=hide\n"})
    git("config", "diff.hide.binary", "true", cwd=root)


WAYS: dict[str, Callable[[Path], object]] = {
    "an attribute": lambda root: write(root, {".gitattributes": "*.py -diff\n"}),
    "an attribute of git's directory": lambda root: write(root, {".git/info/attributes": "*.py binary\n"}),
    "an excluded file of attributes": _excluded,
    "a configured file of attributes": _configured,
    "a driver": _driven,
    "a NUL byte": lambda root: write(root, {"app.py": f"#\0\n{EVIL}"}),
    "a byte that is no UTF-8": lambda root: write(root, {"app.py": b"# \xff\n" + EVIL.encode()}),
    "many such bytes": lambda root: write(root, {"app.py": b"\xff\0" * 5 + b"\n" + EVIL.encode()}),
    "a comment that makes it binary": lambda root: write(
        root, {"app.py": b"# coding: latin-1\n#" + b"\xe9" * 120 + b"\n" + EVIL.encode()}
    ),
    "control characters at the end": lambda root: write(root, {"app.py": EVIL.encode() + b"#" + b"\x01" * 60}),
    "a long line": lambda root: write(root, {"app.py": f"x = 1;{' ' * 5000}{EVIL}"}),
    "UTF-16": lambda root: write(root, {"app.py": EVIL.encode("utf-16")}),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_hides_text(tmp_path: Path, way: str) -> None:
    root = made(tmp_path / "r", {"app.py": "print('good')\n"})
    write(root, {"app.py": EVIL})
    WAYS[way](root)
    text = diff(root, "HEAD", tree_hash(root)).text
    assert EVIL in text.replace("\0", "")


def test_a_byte_that_is_no_text_is_marked_and_a_carriage_return_ends_no_line(tmp_path: Path) -> None:
    root = made(tmp_path / "r", {"a": "1\n"})
    write(root, {"a": b"\xff\xc3\rsame\n"})
    assert "+⟦0xFF⟧⟦0xC3⟧\rsame\n" in diff(root).text


def test_what_is_no_text_is_named_with_its_sizes_and_hashes(tmp_path: Path) -> None:
    binary = hashlib.sha512(b"1").digest() * 20
    library = made(tmp_path / "library")
    root = made(tmp_path / "r", {"old.bin": binary, "tool": "#!/bin/sh\n", "kind": "text\n", "gone": ""})
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib", cwd=root)
    write(root, {"old.bin": binary * 2, "new\n.bin": binary, "empty": ""})
    (root / "tool").chmod(0o755)
    (root / "kind").unlink()
    (root / "kind").symlink_to("/etc/passwd")
    (root / "gone").unlink()
    names = {size: git("hash-object", "--stdin", cwd=root, feed=binary * (size // 1280)) for size in (1280, 2560)}
    parts = diff(root).text.split("diff --git ")[1:]
    found = {part.partition("\n")[0]: part.partition("\n")[2].splitlines() for part in parts}
    assert found["a/old.bin b/old.bin"] == [
        f"index {names[1280]}..{names[2560]}",
        "size 1280..2560 bytes",
        "binary file, of which only the readable parts are shown",
        "--- a/old.bin",
        "+++ b/old.bin",
        "@@ -1 +1 @@",
        "-⟦1280 bytes⟧",
        "+⟦2560 bytes⟧",
    ]
    assert found["a/new⟦U+000A⟧.bin b/new⟦U+000A⟧.bin"][:3] == [
        "new file mode 100644",
        f"index {'0' * 40}..{names[1280]}",
        "size 0..1280 bytes",
    ]
    assert found["a/tool b/tool"][:2] == ["old mode 100644", "new mode 100755"]
    assert {"old mode 100644", "new mode 120000", "symbolic link", "-text", "+/etc/passwd"} <= {*found["a/kind b/kind"]}
    assert found["a/gone b/gone"][0] == "deleted file mode 100644"
    assert found["a/empty b/empty"][0] == "new file mode 100644"
    commit = git("rev-parse", "HEAD", cwd=library)
    assert {"new file mode 160000", "submodule", f"+Subproject commit {commit}"} <= {*found["a/lib b/lib"]}


def test_a_name_that_git_would_not_take_is_shown(tmp_path: Path) -> None:
    """A tree can hold it, whatever an index refuses."""
    root = made(tmp_path / "r", {"a": "1\n"})
    blob = git("rev-parse", "HEAD:a", cwd=root)
    inner = git("mktree", cwd=root, feed=f"100644 blob {blob}\tconfig\n".encode())
    tree = git("mktree", cwd=root, feed=f"100644 blob {blob}\ta\n040000 tree {inner}\t.GIT\n".encode())
    assert "+++ b/.GIT/config" in diff(root, "HEAD", tree).text
