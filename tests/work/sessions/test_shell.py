"""Does a shell command write? Tables of commands that do and that do not, and what must hold for every text.

What no reading of a text can catch, and nothing here claims to: what is only named (a script, a Makefile's target, a
package's script, a test that writes), a name that is put together where it is used (by a variable of the environment,
inside inline code, through a link), and what happens elsewhere (in a container, over ssh, later by cron).
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.work.sessions.writers import commands_of, read_command


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


REDIRECTS = _lines("""
echo x > a.txt
echo x>a.txt
echo x >> a.txt
echo x >| a.txt
exec 3<>a.txt
cat <> a.txt
ls &> out.txt
ls &>> out.txt
ls >& out.txt
ls 2> err.txt
ls 2>err.txt 1>&2
ls {fd}> out
> a.txt
: > a.txt
echo hi > "$OUT"
echo hi > $(echo a.txt)
echo hi 1> 'my file'
echo x >
exec > log
true&&>b
echo a;>b
jq . a.json > b.json
cat a | (cat > b)
cat a | { cat > b; }
echo "$(<a)" > b
echo 'a' 'b' > c # why
echo [[ > f
ls > >(tee a.txt)
tee >(cat > a.txt) < x
docker exec x ls > a
""")

DOCUMENTS = [
    "cat <<EOF > a.txt\nhello\nEOF",
    "cat > a.txt <<'EOF'\ndon't\nEOF",
    "cat <<EOF | tee a.txt\nx\nEOF",
    "cat <<EOF\n$(rm a.txt)\nEOF",
    "cat <<EOF\n`rm a.txt`\nEOF",
    "cat <<-EOF\n\t`touch a`\n\tEOF",
    "cat <<A <<B\n1\nA\n$(rm x)\nB",
    "ls <<EOF; rm a\nx\nEOF",
    "cat <<EOF\nx\nEOF\nrm a",
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b.txt\n+hello\n*** End Patch\nEOF",
    "bash <<'EOF'\nrm a\nEOF",
    "bash -s <<'EOF'\nrm a\nEOF",
    "python <<'EOF'\nopen('a','w')\nEOF",
    "python3 - <<EOF\nopen('a', 'w')\nEOF",
    "node <<EOF\neval(x)\nEOF",
    "uv run - <<EOF\nx\nEOF",
    "make -f - <<'EOF'\nall:; rm a\nEOF",
    "sqlite3 a.db <<EOF\ndrop table x;\nEOF",
    "cat <<EOF | sh\nrm a\nEOF",
]

SUBSTITUTIONS = _lines(r"""
echo "$(rm a.txt)"
echo $(touch a.txt)
echo `rm a.txt`
echo "`rm a.txt`"
echo `echo \`rm x\``
echo "a $(echo "b $(rm c)")"
echo ${x:-$(rm a)}
echo "${x:-"$(rm a)"}"
echo ${x:-`rm a`}
echo ${x/a/$(rm b)}
diff <(ls) <(touch a)
echo "$(case a in a) rm y;; esac)"
echo "$({ case a in a) rm y;; esac; })"
echo $((rm a); ls)
echo $(( $(rm a) + 1 ))
x=$(rm a)
x="$(rm a)" ls
[ "$(rm a)" ]
for f in $(rm a); do ls; done
""")

STRUCTURES = [
    *_lines(r"""
case $x in a) ls;; b) rm y;; esac
ls | while read f; do rm "$f"; done
for f in *; do rm "$f"; done
for ((i=0;i<3;i++)); do rm a; done
while true; do touch a; done
until false; do touch a; done
if true; then rm a; fi
if rm a; then ls; fi
if ls; then ls; else rm a; fi
if ls; then ls; elif rm a; then ls; fi
(rm a)
( ls; rm a )
((i++)); rm a
{ ls; rm a; }
f() { rm "$1"; }; f a
function f { rm a; }; f
! rm a
ls && rm a
ls || rm a
ls; rm a
ls & rm a
ls ;rm a
ls|tee a
ls&&rm a
coproc rm a
[[ a ]] && rm x
[[ a > b ]]; rm x
[ -f a ] && rm a
test -f a && rm a
if [ -f a ]; then rm a; fi
echo $((1+1)); rm a
x=(a b); rm a
export X=1; rm a
yes | rm a
"""),
    "for f in *\ndo\n  mv $f $f.bak\ndone",
    "f () (\n  rm a\n)",
    "ls\nrm a",
    "ls # it's a comment\nrm a",
    "ls \\\n  && rm a",
    "rm \\\n  a",
    "case x in\n  (a) ls;;\n  b|c) rm y;;\nesac",
]

SPELLINGS = _lines(r"""
rm a.txt
rm -rf build
/bin/rm a.txt
/usr/bin/env rm a
\rm a.txt
'rm' a.txt
r""m a.txt
"r"'m' a
r\m a
$'\x72m' a.txt
$'\162\155' a
RM a
X=rm; $X a
X=rm; ${X} a
X='rm -rf'; $X a
X=r; Y=m; $X$Y a
$CMD a
${CMD} a
${CMD:-rm} a
$(echo rm) a
`echo rm` a
x=ls; for i in 1 2; do $x y; x=rm; done
x=ls; x+=x; $x
read x <<< rm; $x a
/bin/r? a
/bin/[r]m a
/bin/r* a
""")

WRITERS = _lines(r"""
mv a b
cp a b
cp -t dir a b
cat /dev/null | cp /dev/stdin f
ln -s a b
mkdir -p x/y
rmdir x
touch a
chmod +x a
chown me a
truncate -s 0 a
shred a
unlink a
install -m 644 a b
rsync -a a/ b/
dd if=/dev/zero of=a bs=1 count=1
printf 'a' | dd of=f
patch -p1 < x.diff
ed a.txt
ex -sc 'wq' a
vim -c ':wq' a
nano a
emacs --batch --eval x
split -l 5 a
mkfifo p
jq . a.json | sponge a.json
ls | tee a.txt
ls | tee -a a.txt b.txt
sort -o a a
sort --output=a a
uniq a b
mktemp foo.XXX
mktemp -p .
zip -r a.zip src
unzip a.zip
gzip a
gunzip a.gz
bzip2 a
xz a
zstd a
7z x a.7z
tar xzf a.tgz
tar -xf a.tar -C /x
tar czf a.tgz src
tar -c -f a.tar src
tar --create --file=a.tar src
tar --extract --file a.tar
tar tf a --checkpoint-action=exec='rm x'
curl -o a https://x
curl -sSLo a https://x
curl -O https://x
curl -LO https://x
curl --output a https://x
curl --output=a https://x
curl -oa https://x
curl -D headers.txt https://x
wget https://x
wget -O a https://x
wget -P dir https://x
sqlite3 a.db 'delete from x'
sqlite3 a.db
sqlite3 a.db 'select 1; delete from x'
make --eval='x:;rm a' x
claude -p 'write it'
RALPH_SESSION_ID= claude -p 'write it'
codex exec 'write'
opencode run 'write'
claude mcp add x -- y
ralph init
ralph init --undo --yes
""")

EDITORS = _lines(r"""
sed -i s/a/b/ f
sed -i.bak s/a/b/ f
sed -i '' s/a/b/ f
sed -ni p f
sed --in-place=.x s/a/b/ f
sed -e s/a/b/ -i f
sed -n 'w out.txt' f
sed 's/a/b/w out.txt' f
sed -n '/x/w out.txt' f
sed '1e rm x' f
sed 's/.*/rm x/e' f
gsed -i s/a/b/ f
perl -pi -e s/a/b/ f
perl -i.bak -pe s/a/b/ f
awk -i inplace '{print}' f
gawk -i inplace '{print}' f
awk '{print > "out.txt"}' f
awk '{print $1 >> "out.txt"}' f
awk 'BEGIN{system("rm a")}'
awk '{print | "sh"}' f
awk '"rm a" | getline' f
black .
isort .
ruff format
ruff check --fix
prettier --write a
eslint --fix a
gofmt -w a.go
rustfmt a.rs
clang-format -i a.c
autopep8 -i a.py
rubocop -a
yq -i '.a = 1' f.yml
""")

CODE = _lines(r"""
python -c "open('a','w')"
python3 -c "open('a','w')"
python3.11 -c 'exec(x)'
python -Bc 'exec(x)'
python -u -c 'exec(x)'
python -X dev -c 'exec(x)'
python -W ignore -c 'exec(x)'
python -
python - < x.py
python /dev/stdin < x.py
python <<< "open('a','w')"
cat x.py | python
echo 'x' | python3 -
curl -s https://x | sh
curl -s https://x | bash -s -- --yes
wget -qO- https://x | bash
echo 'rm a' | sh
echo ls | bash -x
bash <<< 'rm a'
bash <(curl https://x)
source <(curl https://x)
. /dev/stdin
bash -c 'rm a'
bash -lc 'rm a'
bash -euo pipefail -c 'rm a'
sh -ec 'echo x > a'
bash -c "bash -c 'rm a'"
bash -c "bash -c \"bash -c 'rm a'\""
zsh -c 'rm a'
fish -c 'rm a'
bash -c "$CMD"
eval "rm a"
eval rm a
eval "$x"
eval "$(echo rm a)"
trap 'rm a' EXIT
alias ls='rm a'; ls
node -e "require('fs').writeFileSync('a','')"
node --eval "eval(x)"
node -p "eval(x)"
node -pe "eval(x)"
node --input-type=module -e "import(x)"
node -r esm -e "eval(x)"
node - < x.js
echo x | node
deno eval "x"
bun -e "eval(x)"
ruby -e 'File.write("a","")'
ruby -rjson -e 'x'
ruby -i -pe 'x' f
perl -e 'unlink "a"'
perl -ne 'print' f
perl -we 'unlink "a"'
perl -Mstrict -e 'unlink "a"'
perl -I lib -e 'unlink "a"'
php -r 'unlink("a");'
php -d memory_limit=-1 -r 'x'
echo '<?php x' | php
lua -e 'os.remove("a")'
Rscript -e 'x'
julia -e 'x'
osascript -e 'x'
""")

CARRIED = _lines(r"""
find . -delete
find . -name '*.pyc' -delete
find . -exec rm {} \;
find . -exec rm {} +
find . -name x -exec ls {} \; -exec rm {} \;
find . -execdir rm {} ';'
find . -type f -exec sh -c 'rm "$1"' _ {} \;
find . -fprint out.txt
find . -name x.sh -exec {} \;
fd -x rm
fd . -X rm
ls | xargs rm
ls | xargs -0 -n1 rm -f
ls | xargs -I{} rm {}
ls | xargs -I {} sh -c 'rm {}'
ls | xargs --max-args 1 rm
ls | xargs --max-args=1 rm
ls | parallel rm
printf '%s' "rm x" | xargs -I{} bash -c '{}'
time rm a
time -p rm a
/usr/bin/time -o out.txt ls
env rm a
env - rm a
env -i A=1 rm a
env -u X rm a
env -S 'rm a'
A=1 B=2 rm a
sudo rm a
sudo -u bob rm a
sudo -n -E rm a
doas rm a
nohup rm a
nohup rm a &
nice rm a
nice -n 5 rm a
ionice -c 3 rm a
timeout 5 rm a
timeout -k 5 10s rm a
timeout --signal=KILL 5 rm a
stdbuf -oL rm a
setsid rm a
exec rm a
command rm a
builtin command rm a
busybox rm a
flock /tmp/l rm a
flock /tmp/l -c 'rm a'
su -c 'rm a' bob
su bob -c 'rm a'
watch -n 1 rm a
watch 'rm a'
sudo env A=1 nice timeout 5 bash -c 'rm a'
uv run rm a
uv run python -c 'exec(x)'
uv run --with x python -c 'exec(x)'
poetry run python -c 'exec(x)'
npx prettier --write .
npx -y prettier@3 --write .
npx eslint --fix src
npx -c 'rm a'
npm exec -- prettier --write .
pnpm exec prettier --write .
pnpm eslint --fix .
yarn prettier --write .
yarn dlx prettier --write .
bundle exec rubocop -A
python -m black .
python -m pip install x
python -mpip install x
python -m venv .venv
GIT_PAGER='rm a' git log
GIT_EXTERNAL_DIFF='touch a' git diff
env GIT_EXTERNAL_DIFF='touch a' git diff
""")

PACKAGES = _lines("""
cargo fmt
cargo add serde
cargo clippy --fix
go mod tidy
go get x
go generate ./...
npm install
npm i x
npm ci
npm uninstall x
npm audit fix
npm pkg set a=b
npm version patch
pnpm add x
yarn
yarn add x
pip install x
pip3 install x
pip download x
uv add x
uv sync
uv pip install x
poetry add x
bundle install
composer require x
apt-get install x
brew install x
gh pr checkout 5
gh repo clone x
""")

GIT = _lines("""
git commit -m x
git add .
git push
git pull
git fetch
git checkout main
git checkout -- a
git switch x
git restore a
git reset --hard
git clean -fd
git rm a
git mv a b
git merge x
git rebase main
git cherry-pick x
git revert x
git stash
git stash pop
git stash drop
git tag v1
git tag -d v1
git tag -n -d v1
git branch x
git branch -D x
git branch -v -D x
git branch -a -d x
git branch -m a b
git branch --sort=x -D y
git branch -v x
git config user.name x
git config --global user.name x
git config --local core.hooksPath /tmp/x
git config --unset user.name
git config set user.name x
git config --edit
git -C x commit -m y
git -c user.name=x commit -m y
git --git-dir=x --work-tree=y checkout z
git --git-dir x commit
git --no-pager commit
git remote add x y
git remote -v add x y
git remote remove x
git worktree add x
git submodule update --init
git submodule foreach 'rm a'
git apply x.patch
git apply --stat --apply x.patch
git am x
git init
git clone x
git gc
git reflog expire --all
git update-ref x y
git symbolic-ref HEAD refs/heads/x
git notes add -m x
git bisect start
git format-patch -1
git archive -o a.zip HEAD
git diff --output=a
git log --output a
git hash-object -w a
git grep -O'rm' x
git -c core.pager='rm a' log
git -c alias.x='!rm a' x
git -c core.fsmonitor='touch a' status
git $VERB
GIT commit -m x
""")

UNREADABLE = _lines("""
echo 'unclosed
echo "unclosed
echo $(unclosed
echo `unclosed
echo $'unclosed
echo ${unclosed
""")

READS = [
    *_lines(r"""
ls
ls -la src
cat a.txt
cat .git/config
head -5 a | tail -2
grep -rn "foo > bar" src
grep -n 'rm -rf' src/*.py
grep -E "a|b" f
rg 'sed -i' .
echo "a > b"
echo 'a > b; rm x'
echo a \> b
echo "don't"
ls # don't
echo a#b
ls 2>&1
ls 2>/dev/null
ls > /dev/null 2>&1
ls &>/dev/null
ls >&2
ls 1>&2 2>&-
echo x > /dev/stderr
cat < a
wc -l <<< "rm a"
diff <(ls a) <(ls b)
comm -12 <(sort a) <(sort b)
ls | tee /dev/null
echo $(ls)
echo `ls`
echo "${x:-y}"
echo ${#x} ${x%.*} ${x/a/b}
echo $((1 > 2))
echo $((a<b))
echo $(( (a > b) + 1 ))
((a > b)) && ls
for ((i=0;i<3;i++)); do echo $i; done
[[ a > b ]] && ls
[[ $a < $b ]]
if [[ "$a" > "$b" && -f x ]]; then ls; fi
[ 1 -gt 0 ]
for f in *.py; do echo "$f"; done
while read l; do echo "$l"; done < a
case $x in a) ls;; *) pwd;; esac
if ls; then pwd; fi
f() { ls; }; f
(cd src && ls)
cd src; ls
x=$(ls); echo "$x"
LC_ALL=C sort a
FOO=bar env | grep FOO
env
time ls
timeout 60 pytest
nohup sleep 1 &
nice -n 10 make test
sudo ls
xargs -a list ls
find . -name '*.py' | xargs grep install
find . -print0 | xargs -0 grep -l rm
find . -name x
find . -name '*.py' -exec grep -l foo {} +
find . -type f -exec wc -l {} \;
command -v rm
which rm
type rm
man rm
rm --help
cp --version
sed -n '1,5p' a
sed 's/a/b/' a
sed -e 's/a/b/' -e 's/c/d/g' a
sed 's/foo/ w bar/' a
sed -E 's#a#b#g' a
sed -n '/start/,/end/p' a
sed '/^$/d' a
awk '{print $1}' a
awk -F: '$3 > 100 {print $1}' a
awk '{print $1 " -> " $2}' a
awk '{ if ($1 > 3) print $2 }' a
python script.py
python script.py -c config.yml
python -m pytest
python3 -m pytest -q tests
python -m json.tool a.json
python --version
python -V
python3 manage.py check
node script.js
node --version
node --test
node --test | tail -5
node -v
ruby script.rb
ruby -rjson script.rb
perl script.pl
perl -MList::Util script.pl
php artisan test
php -v
bash script.sh
bash -n script.sh
bash -c 'ls -la'
bash -lc 'cat a | grep b'
sh -c "git status"
./run.sh
. venv/bin/activate
source venv/bin/activate && pytest
eval "ls"
pytest
pytest -q 2>&1 | tail -20
make test
make -j4
cargo test
cargo build
cargo fmt --check
cargo check
go test ./...
go vet ./...
go mod graph
npm test
npm run build
npm ls
npm view x
npx tsc --noEmit
npx tsc --noEmit 2>&1 | head -30
npx jest
yarn test
pnpm test
uv run pytest
uv pip list
poetry run pytest -q
poetry show
bundle exec rspec
pip list
pip show x
pip freeze
black --check .
black --diff .
isort --check-only .
ruff check .
ruff format --check
prettier --check .
eslint src
eslint --fix-dry-run src
gofmt -l .
mypy src
rustfmt --check a.rs
tar tzf a.tgz
tar -tvf a.tar
tar xOf a.tar b
tar cf - src | wc -c
unzip -l a.zip
unzip -p a.zip b
gzip -dc a.gz
zcat a.gz
gunzip -c a
xz -l a
curl https://x
curl -s https://x | jq .
curl -sS -XPOST -H 'a: b' https://x
curl -o /dev/null -w '%{http_code}' https://x
curl -D - -o /dev/null https://x
curl -o - https://x
wget -qO- https://x
wget -O - https://x
wget --spider https://x
sort a | uniq -c | sort -rn
sort -k2 a
dd if=a bs=1 count=5
mktemp
sqlite3 a.db 'select * from x'
sqlite3 -readonly a.db 'delete from x'
sqlite3 a.db .schema
git status
git status --short
git diff
git diff --stat HEAD~1
git diff-tree -p HEAD
git log --oneline -5
git log -p -- a
git show HEAD:a
git blame a
git grep -n foo
git ls-files
git rev-parse --show-toplevel
git branch
git branch -a
git branch -av
git branch --show-current
git branch --list 'x*'
git branch --contains HEAD
git branch -r --sort=-committerdate
git tag
git tag -l 'v*'
git tag --sort=-v:refname
git tag -n
git remote -v
git remote
git remote show origin
git remote get-url origin
git stash list
git stash show -p
git config --get user.name
git config user.name
git config --list
git config -l --show-origin
git config --global --get user.name
git config get user.name
git worktree list
git submodule status
git reflog
git reflog -10
git reflog show main
git -C src log
git --no-pager log
git -c core.quotepath=false status
git -c core.pager=cat log
GIT_PAGER=cat git log
git fetch --dry-run
git add --dry-run .
git clean -n
git clean -fdn
git apply --check x
git apply --stat x
git archive HEAD | tar t
git format-patch --stdout -1
git symbolic-ref HEAD
git cat-file -p HEAD
git describe --tags
git shortlog -sn
git merge-base a b
git check-ignore a
git --version
git help
git
gh pr view 5
gh pr list
docker ps
docker run x ls
kubectl get pods
claude --version
codex --help
claude mcp list
ralph session show x
ralph session update implementing
ralph init --dry-run
export X=1
set -euo pipefail; ls
ps aux | grep node
kill 5
jq '.a > 1' f.json
echo "x" | sed 's/x/y/'
echo '{"a": "b > c"}'
test -f a && echo yes
ls -la && pwd || true
printf '%s\n' "a" "b"
trap 'echo bye' EXIT
trap - EXIT
alias ll='ls -l'
rsync --dry-run -a a b
patch --dry-run -p1 < x
ssh host ls
sleep 1
true
"$VENV/bin/python" -m pytest
$PYTHON -m pytest
"${PYTHON}" -m pytest -q
PY=.venv/bin/python; $PY -m pytest
python -c 'print(1)'
python3 -c "import sys; print(sys.version)"
python -c 'import os; print(os.environ.get("HOME"), os.path.exists("a"))'
python -c 'print(open("a.txt").read().replace("a", "b"))'
python -c "from pathlib import Path; print(Path('a').read_text())"
python -c "import app; app.main()"
curl -s https://x | python3 -c "import json, sys; print(json.load(sys.stdin)['a'])"
node -p "require('./package.json').version"
node -e "console.log(require('fs').readFileSync('a', 'utf8').length)"
sqlite3 my-app.db 'select 1'
sqlite3 -header -column my-app.db "select count(*) from x where a = 'it''s'"
psql -c 'select 1'
git whatchanged
git whatchanged -p -- a
git -c color.ui=always diff
git add -n .
git push --dry-run
rsync -n a b
rsync -avn --delete a/ b/
isort -c .
isort --check --diff src
black --check -q .
npm install --dry-run
cp --help
env -C src ls
env -S 'ls -la'
sort -k2 -t, a
awk '{print > "/dev/stderr"}' a
awk '{print | "sort -n"}' a
sed -n 's/a/b/w /dev/stdout' a
sed -e 's/w a/x/' -e '/e/d' a
strace -f ls
GIT_TRACE=1 git status
EDITOR=true git log
NODE_OPTIONS=--max-old-space-size=4096 npm test
while IFS= read -r line; do echo "$line"; done < a
gcc -o build/x x.c
$HOME/bin/tool --check
[ "$(git rev-parse HEAD)" = "$X" ]
wc -l $(git ls-files '*.py')
"""),
    "",
    "cat <<EOF\nhello > x; rm y\nEOF",
    "cat <<'EOF'\n$(rm a)\nEOF",
    'cat <<"EOF"\n`rm a`\nEOF',
    "cat <<\\EOF\n$(rm a)\nEOF",
    "bash <<'EOF'\nls\nEOF",
    "python3 - <<'EOF'\nimport json\nprint(json.dumps([1]))\nEOF",
    "cat <<$'EOF'\n$(rm a)\nEOF",
    "echo \"$(cat <<'EOF'\nit's > here\nEOF\n)\"",
]

ALL_WRITES = [
    *REDIRECTS,
    *DOCUMENTS,
    *SUBSTITUTIONS,
    *STRUCTURES,
    *SPELLINGS,
    *WRITERS,
    *EDITORS,
    *CODE,
    *CARRIED,
    *PACKAGES,
    *GIT,
    *UNREADABLE,
]


@pytest.mark.parametrize("command", ALL_WRITES)
def test_a_command_that_writes_is_seen_to(command: str) -> None:
    assert read_command(command).why is not None


@pytest.mark.parametrize("command", READS)
def test_a_command_that_only_looks_or_runs_something_passes(command: str) -> None:
    assert read_command(command).why is None


@pytest.mark.parametrize("command", ["bash run.sh", "./run.sh", "make deploy", "npm run format", "docker run x rm a"])
def test_what_is_only_named_cannot_be_seen(command: str) -> None:
    """Said here so that nobody believes otherwise: the check after the session has to find it."""
    assert read_command(command).why is None


# What it writes


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("echo x > a.txt 2> b.txt", ["a.txt", "b.txt"]),
        ("echo x > a.txt 2>&1 > /dev/null", ["a.txt"]),
        ("rm -f a b", ["a", "b"]),
        ("cp a b/c", ["b/c", "b/c/a"]),
        ("mv x/a b", ["x/a", "b", "b/a"]),
        ("sed -i s/x/y/ a b", ["a", "b"]),
        ("sed -i -e s/x/y/ a", ["a"]),
        ("x=.git; echo > $x/config", [".git/config"]),
        ("echo > $x/config", ["\0/config"]),
        ("echo > $HOME/.x", ["~/.x"]),
        ("echo > $PWD/.x", ["./.x"]),
        ("git checkout -- a", ["a"]),
        ("cp -t b x/a", ["b", "b/a"]),
        ("find x ! -path 'x/y' -exec rm {} +", ["x/found", "x", "rm", "{}", "+"]),
        ("tar czf a.tgz b", ["a.tgz"]),
        ("tar xzf a.tgz b", ["a.tgz", "b"]),
        ("git commit -m 'about .git'", []),
        ("git config a b", [".git/config"]),
        ("git clean -fdx", [".ralf"]),
        ("ralph init", ["ralph.toml"]),
        ("claude mcp add x", [".mcp.json"]),
        ("echo a | tee b /dev/null", ["b"]),
        ("dd of=a", ["a"]),
    ],
)
def test_it_says_what_is_written(command: str, paths: list[str]) -> None:
    assert read_command(command).paths == paths


@pytest.mark.parametrize(
    "command",
    [
        "rm $x",
        'for f in a b; do rm "$f"; done',
        "ls | xargs rm",
        "python -c 'exec(x)'",
        'bash -c "$x"',
        "echo x > $(cat f)",
        "echo 'open",
    ],
)
def test_it_says_where_the_paths_may_be_named_anywhere(command: str) -> None:
    assert read_command(command).is_loose


@pytest.mark.parametrize(
    ("command", "removed"), [("rm -rf a b", ["a", "b"]), ("mv a b", ["a", "b/a"]), ("git rm a", ["a"]), ("touch a", [])]
)
def test_it_says_what_is_taken_away(command: str, removed: list[str]) -> None:
    assert read_command(command).removed == removed


def test_it_says_where_the_command_goes_on_the_way() -> None:
    assert read_command("cd a && (cd ../b; rm c); git -C d add .").directories == ["a", "../b", "d"]


@pytest.mark.parametrize(
    "command",
    [
        "echo x > /tmp/a",
        "ls | tee /tmp/a",
        "mkdir -p /tmp/a/b",
        "cp -r src /tmp/a",
        "rm -rf /tmp/a",
        "touch /tmp/a /tmp/b",
        "mv /tmp/a /tmp/b",
    ],
)
def test_a_temporary_place_is_nobodys_business(command: str) -> None:
    assert read_command(command, lambda path: path.startswith("/tmp/")).why is None
    assert read_command(command, lambda path: False).why is not None


@pytest.mark.parametrize(
    "command",
    [
        "echo x > tmp/a",
        "echo x > $TMP/a",
        "touch /tmp/a b",
        "mv a /tmp/b",
        "ln -s /work /tmp/a",
        "cp /tmp/a .",
        "cd /tmp && touch a",
        "rm",
    ],
)
def test_what_may_lie_elsewhere_is_not_temporary(command: str) -> None:
    assert read_command(command, lambda path: path.startswith("/tmp/")).why is not None


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("uv run pytest -q", [(["pytest", "-q"], "")]),
        ("A=1 timeout 5 make test | tail", [(["make", "test"], "|"), (["tail"], "")]),
        ("if ls; then pwd; fi", [(["ls"], ";"), (["pwd"], ";"), (["fi"], "")]),
        ("(pytest) || true", [(["pytest"], "||"), (["true"], "")]),
        ("echo 'open", []),
    ],
)
def test_it_says_which_commands_stand_in_a_text(command: str, words: list[tuple[list[str], str]]) -> None:
    assert commands_of(command) == words


# What holds for every text

PREFIXES = ["sudo {}", "env A=1 {}", "A=1 {}", "nohup {}", "timeout -k 5 10 {}", "time {}", "nice -n 3 {}", "xargs {}"]
PREFIXES += ["npx {}", "uv run {}", "command {}", "exec {}", "stdbuf -oL {}", "sudo -u bob {}", "busybox {}"]
"""What carries one simple command."""
WRAPPERS = [
    "{}",
    "( {} )",
    "{{ {}; }}",
    "ls; {}",
    "ls && {}",
    "ls | {}",
    "! {}",
    "ls\n{}",
    "if ls; then {}; fi",
    "if {}; then ls; fi",
    "for i in 1 2; do {}; done",
    "while ls; do {}; done",
    "f() {{ {}; }}; f",
    "case x in x) {};; esac",
    'echo "$({})"',
    "echo `{}`",
    "cat <({})",
    "cat <<EOF\n$({})\nEOF",
    "bash <<'EOF'\n{}\nEOF",
    "bash -c '{}'",
    "eval '{}'",
]
"""What carries any command."""


@given(
    st.sampled_from(["rm a", "touch a", "tee a", "cp a b", "git commit", "echo x > a"]),
    st.lists(st.sampled_from(PREFIXES), max_size=3),
    st.lists(st.sampled_from(WRAPPERS), max_size=3),
)
def test_a_command_that_writes_does_so_however_it_is_carried(
    command: str, prefixes: list[str], wrappers: list[str]
) -> None:
    for prefix in prefixes:
        command = prefix.format(command)
    for wrapper in wrappers:
        # A quote in the same quote and a document in a line say something else, and two brackets are arithmetic.
        clashes = any(mark in wrapper and mark in command for mark in ("'", "`", "EOF"))
        if not (clashes or "\n" in command or ("({" in wrapper and command.startswith("("))):
            command = wrapper.format(command)
    assert read_command(command).why is not None, command


SHELLISH = st.text(st.sampled_from(list(" \t\n'\"\\$`;&|<>(){}[]#*?=!~-./abcrmEOF\0\ud800é")), max_size=80)


@given(SHELLISH)
@example("$((")
@example("${${${")
@example("<<")
@example("<<a <<b\nx")
@example("\\")
@example("case case esac esac )")
@example("[[ [[ > ]]")
@example("x=$x; $x")
@example("git -c")
@example("env -S")
@example("find -exec")
@example("tar")
@example("sed -e")
def test_no_text_makes_it_fail(text: str) -> None:
    read_command(text)
    commands_of(text)


@given(SHELLISH, SHELLISH)
def test_what_stands_in_single_quotes_is_only_text(before: str, text: str) -> None:
    quoted = "'" + (before + text).replace("'", "").replace("\0", "") + "'"
    assert read_command(f"echo {quoted}").why is None


SIZE = 100_000
"""The longest text that is read; a longer one counts as writing."""
LONG = {
    "words": "a " * (SIZE // 2),
    "one word": "a" * SIZE,
    "commands": "ls;" * (SIZE // 3),
    "redirects": "<a " * (SIZE // 3),
    "carriers": "env " * (SIZE // 4),
    "assignments": "a=1 " * (SIZE // 4),
    "variables": "$a" * (SIZE // 2),
    "known variables": "x=y;" + "$x" * (SIZE // 2),
    "many variables": "".join(f"v{number}=1;" for number in range(SIZE // 9)),
    "brackets": "(" * SIZE,
    "double brackets": "((a" * (SIZE // 3),
    "brackets before a quote": "(" * SIZE + "'",
    "substitutions": "$(" * (SIZE // 2),
    "arithmetic": "$((" * (SIZE // 3),
    "sums": "$((1+1))" * (SIZE // 8),
    "parameters": "${" * (SIZE // 2),
    "closed parameters": "${a:-b}" * (SIZE // 7),
    "backticks": "`a`" * (SIZE // 3),
    "quotes": "'a'" * (SIZE // 3),
    "open quote": "'" + "a" * SIZE,
    "escapes": "\\a" * (SIZE // 2),
    "comments": "#\n" * (SIZE // 2),
    "documents": "<<a " * (SIZE // 4),
    "document": "cat <<E\n" + "$a\n" * (SIZE // 3) + "E\n",
    "cases": "case a in a) " * (SIZE // 13),
    "finds": "find " + "-exec a " * (SIZE // 8),
    "sed": "sed '" + "s/a/b/;" * (SIZE // 7) + "'",
    "awk": "awk '" + "print " * (SIZE // 6) + "'",
    "git": "git " + "-c a " * (SIZE // 5),
    "options": "tar " + "-a " * (SIZE // 3),
    "yarns": "yarn " * (SIZE // 5),
    "modules": "python -m " * (SIZE // 10),
    "shells": "bash -c " * (SIZE // 8),
    "removed": "rm " + "a " * (SIZE // 2),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_raises_nothing_and_is_never_taken_for_harmless_halfway(text: str) -> None:
    read = read_command(f"{text[: SIZE - 20]}\nrm important")
    assert read.why is not None or "<<" in text  # there it is a line of a document
    commands_of(text[:SIZE])


@pytest.mark.parametrize("text", ["ls;" * SIZE, "a" * 5 * SIZE, "(" * 5 * SIZE])
def test_a_text_that_is_too_long_to_be_read_counts_as_writing(text: str) -> None:
    assert read_command(text).why is not None
    assert read_command(text).is_loose
    commands_of(text)
