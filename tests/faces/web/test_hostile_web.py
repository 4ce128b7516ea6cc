"""Attacks on the dashboard: from pages of other sites, from programs of this machine, and from what agents write."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import anyio
import httpx2
import pytest
import uvicorn
from starlette.routing import Mount, Route

from faces.journals import opened
from faces.mcp.servers import dump, serving
from faces.programs import AUTHORIZED, RALPH, SECONDS, SERVE_TOKEN, run
from forging.arena import Arena
from interlock.faces.mcp.server import make_server
from interlock.faces.mcp.server_context import ServerContext
from interlock.faces.web import TOKEN as VARIABLE
from interlock.faces.web.acting import Hands, offered
from interlock.faces.web.app import make_app
from interlock.faces.web.patience import Patient
from interlock.machine import load_shipped
from interlock.work.driver.spawn import Drivers
from interlock.work.gates.presence import at_terminal
from interlock.work.settings.values import Settings
from work.threads.benches import DONE, SPEC, shell

from .persons import Browser, Terminal, in_terminal
from .sites import alien
from .test_acting import attempts, state

pytestmark = pytest.mark.usefixtures("own_event_loop")
TOKEN = "a secret that is long enough"
SCRIPT = "<script>alert(1)</script>"
HANDLER = '"><img src=x onerror=alert(1)>'
TURNED = "\u202eabc\u2066\x1b[31m\x07"
_FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    arena = Arena(tmp_path_factory.mktemp("arena"), "none")
    arena.begin()
    return arena


@pytest.fixture(scope="module")
def terminal(arena: Arena) -> Iterator[Terminal]:
    with in_terminal(arena.root, arena.environment) as terminal:
        yield terminal


@pytest.fixture(scope="module")
def person(terminal: Terminal) -> Browser:
    browser = terminal.browser()
    browser.log_in(terminal)
    return browser


@pytest.fixture
def thread(arena: Arena) -> str:
    return arena.new("x")


# Other sites


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "0.0.0.0", ""]
)
def test_another_host_is_refused_so_that_no_name_can_be_bound_to_loopback(
    host: str, arena: Arena, person: Browser, thread: str
) -> None:
    before = dump(arena.root)
    headers = {"host": host.replace("{port}", person.url.rpartition(":")[2])}
    assert person.http.get("/", headers=headers).status_code == 400
    answer = person.http.post(f"/thread/{thread}/act", data={"event": "abandon"}, headers=headers)
    assert answer.status_code == 400
    assert dump(arena.root) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
        {"origin": "{url}", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate"},
        {"origin": "{url}.evil.example"},
        {"origin": "http://evil.example@127.0.0.1"},
    ],
)
def test_a_form_of_another_site_is_refused_though_the_cookie_came_with_it(
    headers: dict[str, str], arena: Arena, person: Browser, thread: str
) -> None:
    given = {name: value.replace("{url}", person.url) for name, value in headers.items()}
    for path, fields in ((f"/thread/{thread}/act", {"event": "abandon"}), ("/logout", {"x": "y"})):
        assert person.http.post(path, data=fields, headers=given).status_code == 403
    assert state(arena, thread) == "Drafting"
    person.get("/login")
    assert "is yours" in person.text


def test_the_cookie_is_not_for_scripts_and_not_for_other_sites(arena: Arena) -> None:
    with in_terminal(arena.root, arena.environment) as terminal:
        code = {"code": terminal.login_code()}
        answer = httpx2.post(f"{terminal.url}/login", data=code, headers=AUTHORIZED, verify=False, timeout=SECONDS)
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "domain" not in cookie


# Programs of this machine


def test_a_form_without_the_cookie_is_refused_and_kept(arena: Arena, terminal: Terminal, thread: str) -> None:
    browser = terminal.browser()
    browser.post(f"/thread/{thread}/act", event="abandon")
    assert browser.status == 403
    assert "not known to be the person's" in browser.text
    assert state(arena, thread) == "Drafting"
    assert len(attempts(arena, thread)) == 1


def test_the_cookie_of_another_start_of_the_server_is_nothing(arena: Arena, thread: str) -> None:
    with in_terminal(arena.root, arena.environment) as first:
        browser = first.browser()
        browser.log_in(first)
        [(name, secret)] = list(browser.http.cookies.items())
        first.end()
        with in_terminal(arena.root, arena.environment) as second:
            other = second.browser()
            before, now = (one.url.rpartition(":")[2] for one in (browser, other))
            assert before in name
            other.http.cookies.set(name.replace(before, now), secret)
            other.post(f"/thread/{thread}/act", event="abandon")
            assert other.status == 403
    assert state(arena, thread) == "Drafting"


def test_a_login_code_is_void_after_five_guesses_and_new_ones_are_not_endless(arena: Arena) -> None:
    with in_terminal(arena.root, arena.environment) as terminal:
        browser = terminal.browser()
        code = terminal.login_code()
        for _ in range(5):
            assert "the code is wrong" in browser.post("/login", code="2222-2222")
        browser.post("/login", code=code)
        assert browser.status == 403
        for _ in range(5):
            browser.post("/login", again="yes")
            assert browser.status == 200
        assert "6 codes were asked for" in browser.post("/login", again="yes")
        codes = terminal.login_codes(6)
        assert len(set(codes)) == len(codes) == 6
        browser.post("/login", code=codes[0])
        assert browser.status == 403
        browser.post("/login", code=codes[-1])
        assert browser.status == 200
        browser.post("/login", code=codes[-1])
        assert browser.status == 403, "it was used"


def test_a_gate_code_is_void_after_three_guesses(
    arena: Arena, terminal: Terminal, person: Browser, thread: str
) -> None:
    after = len(terminal.screen)
    person.post(f"/thread/{thread}/act", event="finalize")
    form, code = person.form(f"/thread/{thread}/act", code=""), terminal.gate_code("finalize", after)
    for guess in ("2222-2222", "3333-3333", "4444-4444", code):
        person.post(f"/thread/{thread}/act", **{**form, "code": guess})
    assert state(arena, thread) == "Drafting"
    assert len(attempts(arena, thread)) == 4


def test_without_the_token_nothing_is_shown_and_a_browser_is_asked_for_it_once(arena: Arena) -> None:
    environment = {**arena.environment, "RALPH_SERVE_TOKEN": TOKEN}
    with serving(arena.root, environment) as served:
        assert httpx2.get(served.url, verify=False, timeout=SECONDS).status_code == 401
        assert httpx2.get(f"{served.url}/static/style.css", verify=False, timeout=SECONDS).status_code == 200
        with httpx2.Client(
            base_url=served.url, verify=False, timeout=SECONDS, headers={"accept": "text/html"}
        ) as browser:
            asked = browser.get("/")
            assert asked.status_code == 401
            assert 'action="/token"' in asked.text
            assert browser.post("/token", data={"token": "wrong"}).status_code == 401
            assert browser.post("/token", data={"token": TOKEN}, headers={"origin": "http://evil"}).status_code == 403
            assert browser.get("/").status_code == 401
            assert browser.post("/token", data={"token": TOKEN}).status_code == 303
            assert browser.get("/").status_code == 200
            [(name, secret)] = list(browser.cookies.items())
            assert TOKEN not in secret
            thread = arena.new("x")
            assert browser.post(f"/thread/{thread}/act", data={"event": "abandon"}).status_code == 403
        with serving(arena.root, environment) as other:
            cookies = {name.replace(served.url.rpartition(":")[2], other.url.rpartition(":")[2]): secret}
            assert httpx2.get(other.url, cookies=cookies, verify=False, timeout=SECONDS).status_code == 401


def test_an_agent_in_the_loop_that_tries_every_way_passes_nothing_and_is_in_the_journal(tmp_path: Path) -> None:
    arena = Arena(tmp_path, "none")
    arena.begin()
    target, attack = arena.new("target"), arena.new("attack", "--quick")
    plan = tmp_path / "plan.json"
    program = [sys.executable, str(Path(__file__).with_name("forger.py")), str(plan)]
    arena._script("script", [[{"run": program}, *DONE]])
    with in_terminal(arena.root, arena.environment) as terminal:
        browser = terminal.browser()
        browser.log_in(terminal)
        browser.post(f"/thread/{target}/act", event="finalize")  # the person is about to decide on the other one
        about = browser.form(f"/thread/{target}/act", code="")["about"]
        told = {"url": terminal.url, "thread": target, "about": about, "ralph": str(RALPH), "root": str(arena.root)}
        plan.write_text(json.dumps({**told, "terminal": terminal.device}))
        browser.gate(terminal, attack, "finalize")
        browser.reached(attack, "PendingReview")
        codes = re.findall(r"ten minutes: (\S+)", terminal.screen)
    forged = json.loads((tmp_path / "forged.json").read_text())
    said = dict(forged)
    assert state(arena, target) == "Drafting"
    assert {answer for name, answer in forged if name == "a guess at the login"} == {"403"}
    assert {answer for name, answer in forged if name == "asks for codes"} <= {"200", "403"}
    assert not any(code in said["reads the person's terminal"] for code in codes)
    assert said["a dashboard of its own"] == "403 403"
    assert said["another method in a header"] == said["the move in the address"] == "405"
    posted = [answer for name, answer in forged[:7]]
    assert posted == ["403"] * 7
    assert len(attempts(arena, target)) == 8, "seven here, and one at its own dashboard"
    listed = run("gate", "list", "--json", cwd=arena.root, env=arena.environment).data["refused"]
    assert len(listed) >= 8


# What agents write


@pytest.fixture(scope="module")
def hostile(arena: Arena, terminal: Terminal, person: Browser) -> dict[str, str]:
    """Text that would do something, in every field that has one; the names that addresses need."""
    title = f"{SCRIPT} {HANDLER}"
    spec = SPEC.replace("People", f"{SCRIPT}{HANDLER}{TURNED} People")
    file = arena.place / "hostile.md"
    file.write_text(spec)
    words = ("thread", "new", title, "--file", str(file), "--quick", "--json")
    thread = str(run(*words, cwd=arena.root, env=arena.environment).data["id"])
    git = ["git", "-C", str(arena.root), "switch", "-qc", SCRIPT]
    subprocess.run(git, env=arena.environment, check=True, timeout=SECONDS)
    says = [{"say": f"{SCRIPT}{HANDLER}{TURNED}"}, shell("touch '<script>alert(1)<script>'")]
    arena._script("script", [[*says, *DONE]])
    person.gate(terminal, thread, "finalize")
    person.reached(thread, "PendingReview")
    drafting = str(run(*words, cwd=arena.root, env=arena.environment).data["id"])
    made = run("ticket", "create", title, "--body", title, "--json", cwd=arena.root, env=arena.environment)
    number = str(made.data["number"])
    person.post(f"/ticket/{number}/handoff", to="Human Needed", reason=f"{title}{TURNED}")
    with opened(arena.root) as journal:
        sessions = journal.recent("session", 1)
    return {"thread": thread, "drafting": drafting, "number": number, "session": sessions[0].id if sessions else thread}


def _routes(tmp_path: Path) -> list[Route]:
    """Every route of the application."""
    with opened(tmp_path) as journal:
        context = ServerContext(journal, tmp_path / ".ralf", tmp_path)
        acting = offered(lambda: at_terminal({}, tmp_path), lambda text: False, lambda: 0.0, os.urandom)
        drivers = Drivers(journal, tmp_path, tmp_path / ".ralf", {}, frozenset())
        hands = Hands(acting, journal, tmp_path / ".ralf", tmp_path, Settings({}), {}, drivers)
        app = make_app(make_server(context, load_shipped), context, "127.0.0.1", TOKEN, anyio.Event(), hands)
        assert all(isinstance(one, (Route, Mount)) for one in app.routes)
        return [one for one in app.routes if isinstance(one, Route)]


def test_nothing_changes_by_a_get_and_no_page_runs_what_agents_wrote(
    arena: Arena, person: Browser, hostile: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".ralf").mkdir()
    routes = [one for one in _routes(tmp_path) if one.path not in ("/mcp", "/events", "/live")]
    writing = {one.path for one in routes if "GET" not in (one.methods or ())}
    reading = {one.path for one in routes if "GET" in (one.methods or ())}
    assert {"/thread/{called}/act", "/ticket/{called}/handoff", "/run/{called}/act", "/story/{called}/act"} <= writing
    values = {"{event}": "approve", "{number}": hostile["number"], "{called}": hostile["thread"], "{name}": "thread"}
    before = dump(arena.root)
    shown = 0
    for route in routes:
        for id_ in (hostile["thread"], hostile["session"]):
            path = route.path.replace("{id}", id_)
            for name, value in values.items():
                path = path.replace(name, value)
            for address in (path, f"{path}?reason={HANDLER}&q={SCRIPT}&next={SCRIPT}"):
                answer = person.http.get(address, headers={"accept": "text/html"})
                assert answer.status_code < 500, address
                if route.path in writing - reading:
                    assert answer.status_code in (404, 405), address
                shown += _harmless(answer)
    assert shown > 4
    assert dump(arena.root) == before


def _harmless(answer: httpx2.Response) -> bool:
    """A page in which nothing of what agents wrote can run; whether it was a page."""
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    if not answer.headers.get("content-type", "").startswith("text/html"):
        return False
    _check_harmless(answer.text, str(answer.url))
    return True


def _check_harmless(page: str, where: str) -> None:
    for bad in ("<script>alert", "<img src=x", "\u202e", "\u2066", "\x1b", "\x07"):
        assert bad not in page, where
    alien(page)


def test_what_is_told_after_a_move_is_text_too(person: Browser, hostile: dict[str, str]) -> None:
    for path, fields in (
        (f"/thread/{hostile['drafting']}/act", {"event": SCRIPT + HANDLER}),
        (f"/ticket/{quote('<script>alert(1)<script>')}/handoff", {"to": "Backlog", "reason": SCRIPT}),
        (f"/ticket/{hostile['number']}/handoff", {"to": f"{SCRIPT}{TURNED}", "reason": SCRIPT}),
    ):
        person.post(path, **fields)
        assert "alert(1)" in person.told(), (path, person.told())
        assert 'id="told"' in person.page
        _check_harmless(person.page, path)


def test_the_gate_page_of_a_hostile_spec_shows_it_as_text(person: Browser, hostile: dict[str, str]) -> None:
    answer = person.http.get(f"/thread/{hostile['drafting']}/gate/finalize")
    assert answer.status_code == 200
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert _harmless(answer)


# Too much, too slow, too many


def test_a_form_that_is_too_large_or_none_is_refused(arena: Arena, person: Browser, thread: str) -> None:
    path = f"/thread/{thread}/act"
    before = len(attempts(arena, thread))
    post = person.http.post
    assert post(path, content=b"text=" + b"x" * 1_000_001, headers=_FORM).status_code == 413
    assert post(path, content=b"&".join(b"a%d=1" % one for one in range(60)), headers=_FORM).status_code == 400
    assert post(path, content=b"event=%ff%fe", headers=_FORM).status_code == 400
    assert post(path, content=b"\xff\xfe", headers=_FORM).status_code == 400
    assert post(path, json={"event": "abandon"}).status_code == 400
    assert post(path, files={"event": b"abandon"}).status_code == 400
    assert post(path, content=b"event=abandon").status_code == 400
    assert state(arena, thread) == "Drafting"
    assert len(attempts(arena, thread)) == before + 7


def _connected(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=SECONDS)


def test_half_a_request_changes_nothing_and_holds_up_nobody(arena: Arena, person: Browser, thread: str) -> None:
    head = f"POST /thread/{thread}/act HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    kind = "Content-Type: application/x-www-form-urlencoded\r\n"
    with ExitStack() as open_:
        for _ in range(100):
            for half in ("", "GET / HT", head, f"{head}{kind}Content-Length: 500\r\n\r\nevent=aban"):
                one = open_.enter_context(_connected(person.url))
                one.sendall(half.encode())
        assert person.http.get("/").status_code == 200
    assert person.http.get("/healthz").status_code == 200
    assert state(arena, thread) == "Drafting"


def test_a_connection_that_sends_half_a_head_is_closed_after_a_while() -> None:
    class Impatient(Patient):
        seconds = 0.2

    async def app(scope: object, receive: object, send: object) -> None:
        raise AssertionError("nothing whole was sent")

    async def attack() -> list[bytes]:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            config = uvicorn.Config(app, http=Impatient, lifespan="off", log_level="error")
            server = uvicorn.Server(config)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve, [listener])
                found = []
                with anyio.fail_after(SECONDS):
                    for half in (b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-a: b\r\n"):
                        async with await anyio.connect_tcp(*listener.getsockname()) as one:
                            if half:
                                await one.send(half)
                            try:
                                found.append(await one.receive())
                            except anyio.EndOfStream:
                                found.append(b"")
                server.should_exit = True
            return found

    assert anyio.run(attack) == [b"", b""]


def test_five_hundred_listeners_are_all_told_and_the_pages_go_on(arena: Arena, person: Browser) -> None:
    """The plan says 10,000; a machine of tests has not so many descriptors, so these are 500."""
    request = b"GET /live?show=/board HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    request += f"Authorization: Bearer {SERVE_TOKEN}\r\n\r\n".encode()
    with ExitStack() as open_:
        listeners = [open_.enter_context(_connected(person.url)) for _ in range(500)]
        for one in listeners:
            one.sendall(request)
        for one in listeners:
            _until(one, b"/board#")
        assert person.http.get("/").status_code == 200
        run("ticket", "create", "Heard by all", "--json", cwd=arena.root, env=arena.environment)
        for one in listeners:
            _until(one, b"Heard by all")
    assert person.http.get("/healthz").status_code == 200


def _until(listener: socket.socket, wanted: bytes) -> None:
    seen = b""
    while wanted not in seen:
        chunk = listener.recv(1 << 16)
        assert chunk, seen[-200:]
        seen = (seen + chunk)[-(1 << 20) :]


def test_a_dashboard_for_other_machines_needs_a_token(arena: Arena) -> None:
    environment = {**arena.environment, "RALPH_SERVE_TOKEN": ""}
    refused = run("serve", "--host", "0.0.0.0", "--json", cwd=arena.root, env=environment)
    assert refused.error["code"] == "address_refused"


def _driven(place: Path, environment: dict[str, str]) -> bytes:
    """What a driver says that is started for a thread which is not there."""
    log = place / ".ralf" / "drivers" / "thread-x.log"
    log.parent.mkdir(parents=True)
    os.mkfifo(log)
    told = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    with opened(place) as journal:
        Drivers(journal, place, place / ".ralf", environment, frozenset({VARIABLE})).start("thread", "x")
        os.set_blocking(told, True)
        with open(told, "rb") as said:  # noqa: PTH123 it is open already
            return said.read()


def _package(place: Path) -> None:
    (place / "interlock").mkdir(parents=True)
    (place / "interlock" / "__init__.py").touch()
    program = "import os\nprint(os.environ.get('RALPH_SERVE_TOKEN'), os.getsid(0) == os.getpid())"
    (place / "interlock" / "__main__.py").write_text(program)


def test_drivers_do_not_get_the_token_and_have_no_terminal(tmp_path: Path) -> None:
    _package(tmp_path / "elsewhere")
    environment = {"PYTHONPATH": str(tmp_path / "elsewhere"), "RALPH_SERVE_TOKEN": TOKEN}
    assert _driven(tmp_path, environment) == b"None True\n"


def test_a_package_that_an_agent_wrote_into_the_work_tree_is_not_run_as_the_driver(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=SECONDS)
    _package(tmp_path)
    assert json.loads(_driven(tmp_path, {"PATH": os.environ["PATH"]}))["ok"] is False
