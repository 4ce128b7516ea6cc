"""What an agent does to its tree so that another tree is verified, shown, approved or committed, or code runs outside.

Each is a script for `sh`, with the paths of the repository and of a place outside in `ROOT` and `OUTSIDE`. A program
that is armed writes the file `ran` there; `TRAP` is its path.
"""

from __future__ import annotations

__all__ = ["CONVERTED", "ONLY_CONFINED", "TRICKS"]

_POISONED_INDEX = """
python3 - "$good" "$evil" <<'END'
import hashlib, os, sys
good, bad = (bytes.fromhex(one) for one in sys.argv[1:])
content = open('.git/index', 'rb').read()[:-20].partition(b'TREE')[0].replace(good, bad)
open('.git/index', 'wb').write(content + hashlib.sha1(content).digest())
os.utime('.git/index', (2e9, 2e9))
END
"""
_POISONED_OBJECT = """
mkdir -p .git/objects/$(echo $good | cut -c1-2)
python3 - .git/objects/$(echo $good | cut -c1-2)/$(echo $good | cut -c3-) <<'END'
import sys, zlib
open(sys.argv[1], 'wb').write(zlib.compress(b'blob 5\\0evil\\n'))
END
"""
_HOOKS = """
for n in pre-commit post-commit post-checkout reference-transaction; do
    mkdir -p .git/hooks; cp "$TRAP" .git/hooks/$n
done
for n in core.fsmonitor core.pager core.editor core.sshCommand diff.external gpg.program alias.status; do
    git config $n "$TRAP"
done
git config core.hooksPath "$PWD/.git/hooks"
git config commit.gpgSign true
"""
_SUBMODULE = """
git init -q s; echo 1 > s/file; git -C s add -A; git -C s commit -qm s
git update-index --add --cacheinfo 160000,$(git -C s rev-parse HEAD),s
printf '[submodule "s"]\\n\\tpath = s\\n\\turl = /etc\\n\\tupdate = !touch %s/ran\\n' "$OUTSIDE" > .gitmodules
"""
_NESTED = """
git init -q n; echo 1 > n/file
git -C n config core.fsmonitor "$TRAP"; git -C n config filter.e.clean "$TRAP"; echo '* filter=e' > n/.gitattributes
"""
_BARE = """
git init -q --bare b; git -C b config core.fsmonitor "$TRAP"; cp "$TRAP" b/hooks/post-commit
git -C b config core.worktree "$PWD"; git -C b config core.bare false
"""
_DEEP = """
python3 - <<'END'
import os
for n in range(40):
    os.mkdir('n' * 200)
    os.chdir('n' * 200)
open('f', 'w').write('1')
END
"""
_ENCODED = """
printf 'h* export-ignore\\ns* export-subst ident\\nu* working-tree-encoding=UTF-16\\nl* eol=crlf\\n' > .gitattributes
echo 1 > hidden; echo '$Id$ $Format:%H$' > subst; printf '1\\r\\n' > lines; echo 1 | iconv -t UTF-16 > utf
"""
_STRAY = """
python3 - "$ROOT" <<'END'
import os, signal, sys, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
for one in range(3):
    os.close(one)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open('stray', 'w').write('begun')
while True:
    open(sys.argv[1] + '/README', 'a').write('stray')
    time.sleep(0.001)
END
while test ! -e stray; do :; done
"""

TRICKS: dict[str, str] = {
    "a file that the index is told to assume unchanged": "git update-index --assume-unchanged README; echo 2 > README",
    "a file that the index skips": "git update-index --skip-worktree README; echo 2 > README",
    "an index with another blob under the file's times": _POISONED_INDEX,
    "a changed file with its old size and times": "cp -p README o; echo 'A project' > README; touch -r o README",
    "sparse checkout": "mkdir d; echo 1 > d/f; git add d; git commit -qm d; git sparse-checkout set --no-cone / '!d'",
    "replace refs": "git replace -f $good $evil; "
    "git replace -f HEAD $(git commit-tree -m evil $(git mktree </dev/null))",
    "grafts and a shallow history": "git rev-parse HEAD | tee .git/info/grafts > .git/shallow",
    "alternates that lead elsewhere": "git init -q /tmp/o; echo /tmp/o/.git/objects > .git/objects/info/alternates",
    "other content under the name of an object": _POISONED_OBJECT,
    "clean and smudge filters of its own": 'for n in clean smudge; do git config filter.evil.$n "$TRAP"; done; '
    "git config filter.evil.required true; echo '* filter=evil' > .git/info/attributes; echo 1 > new",
    "a filter that the person defined, for its own files": "echo 'n* filter=persons' > .gitattributes; echo 1 > new",
    "attributes that leave out, substitute and encode": _ENCODED,
    "hooks, aliases, pagers and monitors in its repository": _HOOKS,
    "an include, another work tree, a bare repository": "git config include.path /tmp/x; git config core.worktree /; "
    "git config core.bare true",
    "a submodule": _SUBMODULE,
    "a nested repository": _NESTED,
    "a bare repository among the files": _BARE,
    "a file for `.git`, which leads to the person's": 'rm -rf .git; echo "gitdir: $OUTSIDE/repository/.git" > .git',
    "a link for `.git`, which leads to the person's": 'rm -rf .git; ln -s "$OUTSIDE/repository/.git" .git',
    "no `.git`": "rm -rf .git",
    "names that git treats specially": "for d in .GIT .git. 'git~1'; do mkdir $d; echo 1 > $d/config; done",
    "names with new lines, options, control characters and bytes": "touch -- 'a\nb' --exec=x "
    "\"$(printf 'c\\033[2Jd')\" \"$(printf '\\377')\" '\"q\"' '...' '.. '",
    "names that differ in case, one of them a link": "mkdir A; echo 1 > A/f; ln -s .git a; echo 2 > readme",
    "paths longer than the system takes": _DEEP,
    "links out of the tree": 'ln -s "$OUTSIDE/secret" stolen; ln -s "$OUTSIDE" all; ln -sf /etc/passwd README',
    "pipes among the files": "mkfifo pipe",
    "a pipe for `.gitattributes`": "mkfifo .gitattributes",
    "everything ignored": "echo '*' > .gitignore",
    "commits, refs and tags of its own": "git commit -q --allow-empty -m evil; git tag -f v1; git branch -f main; "
    "git update-ref refs/ralf/evil HEAD; git update-ref refs/heads/--all HEAD; git checkout -q --detach",
    "locks that are left": "touch .git/index.lock .git/HEAD.lock .git/config.lock",
    "a state directory that comes with the tree": "mkdir -p .ralf/trees; echo x > .ralf/journal.db; git add -f .ralf; "
    "git commit -qm state",
    "a process that writes on while the tree is verified": _STRAY,
}
CONVERTED = frozenset({"attributes that leave out, substitute and encode"})
"""Those whose files git stores in another form than they have."""
ONLY_CONFINED = frozenset({"a process that writes on while the tree is verified"})
"""Those that are not tried without a sandbox, because nothing would end them."""
