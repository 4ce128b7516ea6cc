"""Tables of programs and what they do to files; nothing is run, and nothing is looked up.

A program that is not here runs something that only its name says, as a script or a target of `make` does.
"""

from __future__ import annotations

__all__ = [
    "AGENT_SETTINGS",
    "BUILTINS_THAT_EVALUATE",
    "COPIERS",
    "INTERPRETERS",
    "LOOKS",
    "OUTPUTS",
    "REMOVERS",
    "RUNNERS",
    "RUNNER_OPTIONS",
    "SHELLS",
    "TEMPORARY",
    "VERBS",
    "kind_of",
    "row_of",
]


def _rows(text: str) -> dict[str, str]:
    """Names and what is said of them, a row each; a name may stand in several."""
    found: dict[str, str] = {}
    for names, _, rule in (row.partition(" : ") for row in text.strip().splitlines()):
        for name in names.split():
            found[name] = f"{found[name]}|{rule}" if name in found else rule
    return found


_PROGRAMS = _rows(r"""
[ [[ case cal cat cd cksum cmp colordiff column comm cut declare df diff diff3 dir dirname : read
basename break case continue do done du echo egrep else esac exa : read
exit export expr eza factor false fgrep fi file fmt fold for : read
free getconf getent getopts groups hash head hexdump hostid id in jobs join jq lastlog let local locale : read
locate look ls lsblk lscpu lsof md5sum nl nm nproc numfmt objdump od paste pgrep popd printenv printf ps : read
pstree pushd pwd read readelf readlink readonly realpath return rev scc select seq set : read
sha1sum sha256sum sha512sum shift shopt sleep ss stat strings sum tac tail test then tokei top tput tr : read
true tty type typeset ulimit umask uname unset uptime vdir w wait wc whatis whereis which who whoami zcat : read
zgrep zless b2sum base32 bat batcat bzcat delta netstat sdiff size tsort xzcat yes unexpand expand : read
date : read -s! --set! -d= --date= -f= -r= -I?
find fd fdfind : read
base64 iconv : read -o> --output> -i= --input= -f= -t= --from-code= --to-code=
grep rg ag ack : read -e= -f= -m= -A= -B= -C= -g= -t= -T= -j= --pre$ --hostname-bin$ --regexp= --glob= --type=
history : read -w! -a! -c! -d!
man : read -P$ --pager$ -H? --html?
less more : read -o> -O> --log-file> --LOG-FILE> -k= -p= -t= -P=
sort shuf : read -o> --output> -k= --key= -t= --field-separator= -T= --temporary-directory= -S= --buffer-size=
sort shuf : --compress-program$ --files0-from= --parallel= --batch-size= --random-source= -n -i -e
tree : read -o> -L= -P= -I= --filelimit= --charset= -H= -T= --sort=
uniq : read -f= -s= -w= --skip-fields= --skip-chars= --check-chars=
xmllint : read -o> --output> --xpath= --schema= --encode= --shell!
xxd : read -c= -cols= -g= -l= -len= -s= -seek= -o= -r -p -ps
sed gsed : read -i?! --in-place?! -e= --expression= -f= --file= -l= --line-length=
awk gawk mawk : read -f= --file= -v= --assign= -F= --field-separator= -e= --source= -i= --include= -l= --load= -E=
awk gawk mawk : -o?! --pretty-print?! -d?! --dump-variables?! -p?! --profile?! -D?! --debug?!
cloc : read --out> --report-file> --exclude-dir= --include-lang=
split : write --filter$ -b= -l= -n= -a= -C= -t= --bytes= --lines= --number= --suffix-length= --additional-suffix=
aider apply_patch chgrp chown csplit ed emacs ex gemini link mkfifo mknod nano nvim rename rmdir sponge : write
unlink vi vim virtualenv venv zip sudoedit visudo edit setfacl setfattr chattr : write
crontab : write -l~ -u=
black : write --check~ --diff~ -c=~ --code=~ -l= -t= --line-length= --target-version= --config= -q -v
isort : write -c~ --check~ --check-only~ -d~ --diff~ --show-files~ --show-settings~ -l= -p= -s= -w= --profile=
rustfmt : write --check~ --emit= --edition= --config=
gofmt goimports shfmt : run -w! -d -l -s -i= -r=
prettier biome eslint stylelint clang-tidy oxlint : run -w! --write! --fix! --apply! --apply-unsafe! -o> -c= --config=
prettier biome eslint stylelint clang-tidy oxlint : --output-file> --export-fixes> -f= --format= --ext= --fix-errors!
autopep8 yapf clang-format autoflake pyupgrade docformatter : run -i! --in-place! --inplace!
yq : run -i! --in-place! --inplace! -s! --split-exp!
rubocop : run -a! -A! -x! --auto-correct! --auto-correct-all! --autocorrect! --autocorrect-all! --auto-gen-config! -o>
rubocop : --out> -c= --config= --only= --except= -f= --format=
ruff : run --fix! --fix-only! --unsafe-fixes --add-noqa! --check~ --diff~ --config= -o> --output-file> --select=
chmod : write --reference=
cp : write -t> --target-directory> -s -l --symbolic-link --link -S= --suffix= --backup?
mv : write -t> --target-directory> -S= --suffix= --backup?
ln : write -t> --target-directory> -S= --suffix= --backup?
install : write -t> --target-directory> -m= --mode= -o= --owner= -g= --group= -S= --suffix= --strip-program$
scp : write -P= -i= -F= -o= -S$ -c= -l= -J=
rsync : write -n~ --dry-run~ --list-only~ -e$ --rsh$ --rsync-path$ --log-file> --backup-dir> --write-batch> -f=
rsync : --only-write-batch> --partial-dir= --temp-dir= --files-from= --exclude= --include= --filter= --out-format= -T=
dos2unix unix2dos : write -i~ --info~ -c= -n
mkdir : write -m= --mode= -Z
mktemp : read -p> --tmpdir?
patch : write --dry-run~ -i= --input= -o> --output> -r> --reject-file> -d@ --directory@ -D= -p= -F= -B= -z= -V= -Y=
rm : write --interactive?
sd : write -p~ --preview~ -f= -n=
shred : write -n= -s= --iterations= --size= --random-source=
tee : write --output-error?
touch : write -d= --date= -r= --reference= -t= --time=
truncate : write -s= --size= -r= --reference=
7z 7za 7zr : write -o? -w?
bunzip2 bzip2 gunzip gzip unxz xz zstd : write -c~ --stdout~ -l~ --list~ -t~ --test~ -o> -S= -T= -M= -D=
unzip : write -l~ -p~ -t~ -v~ -z~ -Z~ -c~ -d> -x= -P=
tar bsdtar gtar : run -f= --file= -C@ --directory@ -I$ --use-compress-program$ --to-command$ -F$ --info-script$
tar bsdtar gtar : --new-volume-script$ --rsh-command$ --rmt-command$ --checkpoint-action=! -T= --files-from= -X= -b= -H=
tar bsdtar gtar : --exclude= --exclude-from= --index-file> -g> --listed-incremental> --one-top-level? --transform= -O
tar bsdtar gtar : --to-stdout --extract --get --create --append --update --delete --catenate --concatenate --checkpoint?
curl : run -o> --output> --output-dir= -O --remote-name --remote-name-all -J! --remote-header-name! -D> -c> -K=
curl : --dump-header> --cookie-jar> --trace> --trace-ascii> --stderr> --etag-save> --hsts> --alt-svc> --libcurl>
curl : -X= -H= -d= -F= -u= -A= -e= -b= -m= -w= -x= -T= -r= -y= -Y= -z= -E= -C= -P= -Q= -t= -U= --config= --request=
curl : --header= --data= --data-raw= --data-binary= --data-urlencode= --form= --user= --user-agent= --referer= --url=
curl : --cookie= --write-out= --proxy= --upload-file= --range= --cacert= --cert= --key= --resolve= --max-time=
curl : --retry= --connect-timeout= --max-redirs= --json= --retry-delay= --limit-rate= --interface= --unix-socket=
wget : write -O> --output-document> -o> --output-file> -a> --append-output> -P= --directory-prefix= --spider~ -U= -t=
wget : -T= -e= -i= -B= -Q= -w= --header= --user-agent= --tries= --timeout= --post-data= --method= --save-cookies>
dd : run
make gmake : run --eval#! -f= --file= --makefile= -C@ --directory@ -I= -o= -W= -j? -l?
cmake : run -E -P -B= -S= -G= -D= -U= -C=
go : run -exec$ --exec$ -toolexec$ --toolexec$ -vettool$ -o> -C@ -run= -bench= -count= -timeout= -tags= -ldflags=
go : -coverprofile> -cpuprofile> -memprofile> -trace>
cargo : run --fix! --config= -p= --package= --features= --test= --bin= --example= --manifest-path= --target= -Z= -j=
cargo : --check~ --dry-run~ --target-dir= --edition= --profile=
sqlite3 : run
psql : run -c# --command# -o> --output> -L> --log-file> -f= -d= -h= -p= -U= -v= -F= -R= -P= -T= --dbname= --host=
mysql mariadb : run -e# --execute# --tee> -u= -h= -P= -D= -B
gdb lldb : run -ex# -iex# --eval-command# -eval-command# -x= --command= -o# -O# --one-line# -b -batch --batch
gdb lldb : -args --args -p= --pid= -s= --symbols= -q -quiet
fzf : run --preview$ --bind$ -q= -f= --query= --filter=
mapfile readarray : read -C$ -c= -n= -O= -s= -u= -d=
compgen complete : read -C$ -F= -W= -A= -G= -P= -S= -X= -o=
ralph : run --dry-run~
claude codex opencode : write -v~ -V~ -h~
7zip : write
npm pnpm yarn bun bundle : run -v~ -h~ -C@ --prefix@ --cwd@ --dir@ --dry-run~ -w= --workspace= -F= --filter=
npm pnpm yarn bun bundle : --script-shell$
apt apt-get brew composer gem : run -s~ --dry-run~ --simulate~ --just-print~ -o= -t= -c=
pip pdm pipenv poetry uv : run --dry-run~ --check~ --diff~ --directory@ -C@ --project@ -r= -c= -t> --target> -i=
pip pdm pipenv poetry uv : --index-url=
gh : run -R= --repo= -q= --jq= --json= -t= --template= -o> --output> -O> -D> --dir> -L= --limit= -S= --search=
claude-code : write
perl : run -e# -E# -i?! -n -p -M= -m= -I= -F= -d? -C? -D? -l? -0? -x?
python pypy ipython : run -c#. -m=. -W= -X= --check-hash-based-pycs=
ruby : run -e# -i?! -n -p -r= -I= -E= -F= -K? -W? -x? -C@
node nodejs tsx ts-node : run -e# --eval# -p# --print# -pe# -r= --require= --import= --loader= -C=
node nodejs tsx ts-node : --experimental-loader=
node nodejs tsx ts-node : --test -O= -P= --env-file= --inspect? --input-type= --test-name-pattern= --test-reporter= -i
bun : run -e# --eval# -p# --print# -r= --preload=
deno : run -A -c= --config= --import-map= -r?
php : run -r# -R# -B# -E# -d= -c= -z= -f= -F= -S= -t=
lua luajit : run -e# -l= -i -v
r rscript : run -e#
julia : run -e# -E# -L= -p= -t= -C= -J= --eval# --print# --project? --threads=
octave scilab : run --eval#
elixir iex : run -e# --eval# -r= -S= -pa=
erl : run -eval# -s= -pa= -sname= -name=
osascript groovy scala ghc swift clojure bb racket guile crystal haxe nim : run -e# --eval# -c# -l=
sbcl clisp : run --eval# -x# --load=
pwsh powershell : run -c# -command# -Command# -e# -ec# -EncodedCommand# -f= -File=
gjs qjs d8 : run -c# -e# --eval#
jrunscript gnuplot mongosh mongo : run -e# --eval#
expect tclsh wish : run -c#
command : carry -p -v~ -V~
builtin busybox toybox nohup setsid unbuffer : carry
chronic rlwrap fakeroot dbus-run-session catchsegv torsocks proxychains : carry
npx bunx uvx pnpx : carry -p= --package= --from= --with= -c$ --call$ -w= --workspace= --python= -y
tini dumb-init s6-setuidgid ssh-agent : carry -g -p= -a= -t=
chroot gosu su-exec setarch faketime taskset chrt : carry1 -c -a -b -f -r -R -u= --userspec= --groups=
timeout gtimeout : carry1 -k= -s= --kill-after= --signal=
flock : carry1 -w= --timeout= --wait= -E= -c$ --command$
doas sudo : carry -C= -D@ -g= -h= -p= -R= -r= -T= -t= -U= -u= --chdir@ --group= --host= --prompt= --role= --type=
doas sudo : --user=
doas sudo : -e! --edit! --chroot= -s -i
runuser pkexec : carry -u= --user= -g= --group= -c$ --command$ -s= --shell= -w=
env : carry -u= --unset= -C@ --chdir@ -S$ --split-string$ -i -v -a= --argv0=
exec : carry -a= -c -l
ionice nice : carry -c= -n= --class= --classdata= --adjustment= -p=
parallel : carry -a= -d= -I= -j= -L= -n= -N= -P= --arg-file= --delimiter= --jobs= --max-args= --joblog> --results> --wd@
stdbuf : carry -i= -o= -e= --input= --output= --error=
time : carry -f= -o> --format= --output> -p -a -v
watch : carry -n= --interval= -d? -q= --equexit=
xargs : carry -a= -d= -E= -I= -L= -n= -P= -s= -i? -l? -e? --arg-file= --delimiter= --max-args= --max-chars= --max-procs=
xargs : --process-slot-var= --replace? --eof? --max-lines?
strace ltrace : carry -o> --output> -e= -p= -s= -a= -E= -u= -P= -b= -O= -S= -X= -I=
unshare nsenter : carry -t= -S= -G= -w@ --wd@ -R= --target= --setuid= --setgid= --root=
setpriv prlimit numactl capsh cgexec : carry -C= -g= -N= -m= -p= --reuid= --regid= --pid=
valgrind : carry --log-file> --xml-file> --tool=
ld.so : carry --library-path= --preload= --argv0= --audit=
zipfile tarfile : run -c! -e! --create! --extract!
ensurepip : write
timeit : run -n= -r= -s= -u=
json.tool : run --indent=
systemd-run : carry -u= --unit= -p= --property= -M= --machine= -E= --setenv= --uid= --gid= --slice= --working-directory@
xvfb-run : carry -n= -s= -e> -f= -p= -w= --server-args= --server-num= --error-file>
script : write -c$ --command$ -O> -I> -B> -T> -E= -m= -o= --log-out> --log-io> --log-in> --log-timing>
hyperfine pee entr watchexec : run -w= -e=
nix-shell : run --run$ --command$ -p= -A= -E= -I=
coreutils : run --coreutils-prog=
""")
"""Each program: `read` (it only looks), `write`, `run` (what it does has another name) or `carry` (it runs the words
after its options; `carry1`, after one more word). Then its options, as `options` reads them."""

VERBS = _rows(r"""
apt apt-get brew composer gem : install|remove|require|uninstall|update|upgrade|autoremove|purge|clean
bun bundle npm pnpm yarn : add|audit\nfix|ci|create|dedupe|i|init|install|link|patch|pkg\n(?:set|delete)|prune
bun bundle npm pnpm yarn : rebuild|remove|rm|set|uninstall|unlink|up|update|upgrade|version\n\w+
cargo : add|clean|fix|fmt|init|install|new|remove|update|vendor
gh : pr\ncheckout|release\ndownload|repo\n(?:clone|fork|sync)|run\ndownload
go : fix|fmt|generate|get|install|mod\n(?:download|edit|init|tidy|vendor)|work\n(?:init|use)|clean
pdm pip pipenv poetry uv : add|download|init|install|lock|new|pip\n(?:un)?install|pip\nsync|remove|sync|tool\ninstall
pdm pip pipenv poetry uv : uninstall|update|venv|wheel
ralph : init
ruff : format
yarn : \Z|workspace\n.*\n(?:add|install|remove|up)
""")
"""Words after the options, each a line, with which a program writes."""
LOOKS = _rows(r"""
7z 7za 7zr : l|t
claude codex opencode : mcp(?:\n(?:get|list)|\Z)
""")
"""The same for programs that write otherwise."""

SHELLS = frozenset("ash bash csh dash fish ksh mksh rbash sh su tcsh zsh".split())
INTERPRETERS = frozenset(
    "bun node nodejs ts-node tsx ipython pypy python deno elixir julia lua luajit osascript r rscript perl php ruby "
    "octave scilab erl groovy scala guile gjs qjs jrunscript pwsh powershell expect tclsh wish gnuplot sbcl clisp "
    "racket clojure bb".split()
)
"""Programs that run code: what stands in the call, and without a script what they are given on their input."""
BUILTINS_THAT_EVALUATE = frozenset("[ [[ declare let local printf read readonly test typeset unset".split())
"""A subscript among the words of these is evaluated, with the commands in it."""

COPIERS = frozenset("cp install ln mv rsync scp".split())
REMOVERS = frozenset("mv rm rmdir shred unlink".split())
TEMPORARY = frozenset("cp curl mkdir mktemp mv rm rmdir script sort tee touch truncate wget".split())
"""Of these: what the last word names is written; what they name is gone; a temporary place is nobody's business."""
AGENT_SETTINGS = {"claude": ".mcp.json", "codex": ".codex", "opencode": "opencode.json", "ralph": "ralph.toml"}
"""What a command of an agent, or of ours, changes of the settings that hold an agent to the rules."""
OUTPUTS = ("-o>", "--output>", "--out>", "--outfile>", "--output-file>", "--out-file>", "--output-dir>", "--outdir>")
"""Options by which programs that are not known name what they make."""

RUNNERS = _rows(r"""
bundle npm pnpm yarn : exec|x|dlx
bun conda hatch pdm pipenv pipx poetry uv mise asdf pyenv rbenv rye : run|exec|x|tool\nrun
direnv : exec\n.*
perf : record|stat|trace
""")
RUNNER_OPTIONS = tuple(
    "-n= -p= -w= -C@ --cwd@ --directory@ --env-file= --extra= --filter= --group= --package= --prefix@ --project= "
    "--with= --python= -c$ --call$ --with-requirements=".split()
)
"""Tools that run what comes after one of these words, and their options."""


def kind_of(name: str) -> str:
    """The kind of a program: read, write, run, carry or carry1; nothing for one that is not known."""
    return _PROGRAMS.get(name, "").partition(" ")[0]


def row_of(name: str) -> list[str]:
    """The options of a program that say something here, as `options` reads them."""
    words = _PROGRAMS.get(name, "").replace("|", " ").split()
    return [one for one in words if one[0] in "-+" and len(one) > 1]
