"""The machines' pages: drawn with what is in their states, told in tables, checked; and one's own, dropped in."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from starlette.requests import Request

from faces.journals import SYSTEM, reports
from faces.programs import AUTHORIZED, SECONDS
from faces.source_form import source_form
from interlock.faces.drawing.svg import svg
from interlock.faces.web import trial
from interlock.faces.web.trial import MOST_BYTES, Trials
from interlock.faces.web.trying import tried
from interlock.machine import SHIPPED, Event, load_shipped
from interlock.machine.load import definition_path

from .sites import HOSTILE, Site, alien

OWN = """
name = "own"
version = 1
description = "A machine of one's own"
initial = "Begin"
[states.Begin]
[states.Lost]
[states.End]
terminal = true
outcome = "success"
[[transitions]]
from = "Begin"
to = "End"
on = "finish"
by = ["agent"]
[[transitions]]
from = "Begin"
to = "Begin"
on = "again"
by = ["agent"]
"""
VALUES = '["a", "b", "c", "d", "e", "f"]'


def _crowded(size: int = 100) -> str:
    """A machine in which everything leads everywhere."""
    states = "".join(f"[states.s{number}]\n" for number in range(size))
    names = ", ".join(f'"s{number}"' for number in range(size))
    return (
        f'name = "x"\nversion = 1\ndescription = "d"\ninitial = "s0"\n{states}[events.go]\ntargeted = true\n'
        f'[[transitions]]\nfrom = "*"\nto = [{names}]\non = "go"\nby = ["human"]\n'
    )


def _explosive() -> str:
    """A machine with more rows than there is memory for."""
    return _crowded(3_000)


def _many_variants() -> str:
    """A machine of two states whose one event has 78 billion variants."""
    facts = "".join(f"[facts.f{number}]\nvalues = {VALUES}\n" for number in range(14))
    when = " and ".join(f"f{number} == 'a'" for number in range(14))
    return OWN.replace("[states.Begin]", f"{facts}\n[states.Begin]").replace(
        'on = "finish"', f'on = "finish"\nwhen = "{when}"'
    )


def _drop(
    site: Site, text: str | None = None, file: bytes | None = None, headers: dict[str, str] | None = None
) -> httpx.Response:
    given: dict[str, Any] = {} if file is None else {"files": {"file": ("own.toml", file)}}
    data = {} if text is None else {"text": text}
    given["headers"] = {**AUTHORIZED, **(headers or {})}
    answer = httpx.post(f"{site.url}/machines/check", data=data, **given, verify=False, timeout=SECONDS)
    if answer.headers["content-type"].startswith("text/html"):
        alien(answer.text)
    return answer


# Those that there are


def test_all_machines_are_listed_with_what_the_checker_says(site: Site) -> None:
    page = site.page("/machines")
    for name in SHIPPED:
        assert f'href="/machine/{name}"' in page
    assert page.count("✓ sound") == len(SHIPPED)


@pytest.mark.parametrize("name", [*SHIPPED, "trust"])
def test_a_machine_is_drawn_and_told_in_tables(site: Site, name: str) -> None:
    machine = load_shipped(name)
    page = site.page(f"/machine/{name}")
    assert '<svg xmlns="http://www.w3.org/2000/svg" class="interlock"' in page
    for state in machine.states:
        assert f'data-state="{state}"' in page
    for title in ("Transitions", "What the checker says", "States"):
        assert title in page
    rows = page.split("<h2>Transitions")[1].split("</table>")[0].count("<tr>")
    assert rows == len(machine.transitions) + 1
    assert ("Refusals" in page) == bool(machine.form.refusals)
    assert all(gate in page for gate in machine.form.gates)
    assert all(counter in page for counter in machine.form.counters)


def test_the_instances_in_each_state_are_on_the_picture_and_in_the_table(site: Site) -> None:
    before = site.journal.counts_by_state().get("session", {}).get("reviewing", 0)
    for _ in range(3):
        made = site.journal.create("session", Event("created", SYSTEM)).entry.instance
        site.journal.append(made, reports("reviewing"))
    page = site.page("/machine/session")
    assert f"<title>{before + 3} in this state</title>" in page
    assert re.search(rf'Reviewing</span></td><td class="number">{before + 3}</td>', page)
    assert re.search(rf"Reviewing</span> <b>{before + 3}</b>", site.page("/machines"))


@pytest.mark.parametrize(
    "name", ["nope", "session.toml", "..%2f..%2fetc%2fpasswd", "%2fetc%2fhosts.toml", "%3Cscript%3E"]
)
def test_no_other_name_is_a_machine_and_no_file_is_read(site: Site, name: str) -> None:
    answer = site.get(f"/machine/{name}")
    assert answer.status_code == 404
    assert "<script>" not in answer.text


def test_counts_are_drawn_and_the_drawing_is_otherwise_the_same() -> None:
    machine = load_shipped("thread")
    plain = svg(machine)
    counted = svg(machine, counts={"Drafting": 1, "Running": 1234, "Nowhere": 5})
    assert plain in re.sub(r'<g class="count">.*\n', "", counted)
    assert counted.count('<g class="count">') == 2
    assert "1,234" in counted


# One's own


def test_a_machine_of_ones_own_is_checked_and_drawn_and_nothing_is_kept(site: Site) -> None:
    head, files = site.journal.head(), sorted(path.name for path in (site.repository / ".ralf").iterdir())
    answer = _drop(site, file=OWN.encode())
    assert answer.status_code == 200
    assert "unreachable_state" in answer.text
    assert "no way leads to &#39;Lost&#39;" in answer.text
    assert "endless" in answer.text
    assert 'data-state="Lost"' in answer.text
    assert site.journal.head() == head
    assert sorted(path.name for path in (site.repository / ".ralf").iterdir()) == files
    assert _drop(site, text=OWN).text.count("unreachable_state") == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_files_are_sound_when_they_are_dropped_in(site: Site, name: str) -> None:
    answer = _drop(site, text=definition_path(name).read_text())
    assert answer.status_code == 200
    assert "✓ sound" in answer.text


def test_the_source_systems_json_is_known_by_its_look(site: Site) -> None:
    answer = _drop(site, text=json.dumps(source_form(load_shipped("ticket"))))
    assert answer.status_code == 200, answer.text
    assert "(overridden)" in answer.text


NO_MACHINES = {
    "nothing": "",
    "no TOML": "= = =",
    "no machine": "a = 1",
    "JSON that is no machine": "{}",
    "a number of too many digits": "a = " + "9" * 5000,
    "deeply nested TOML": "a = " + "[" * 20_000,
    "deeply nested JSON": "{" + '"a":[' * 20_000,
    "no state": 'name="x"\nversion=1\ndescription=""\ninitial="A"\ntransitions=[]\n[states]\n',
    "a NUL": "a = '\x00'",
    "everything leads everywhere": _crowded(),
    "hostile words": f"name = '''{HOSTILE}'''",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("why", NO_MACHINES)
def test_what_is_no_machine_is_refused_with_the_reason(site: Site, why: str) -> None:
    answer = _drop(site, text=NO_MACHINES[why])
    assert answer.status_code == 422
    assert "It cannot be checked" in answer.text
    assert "internal_error" not in answer.text
    site.page("/machines")


def test_hostile_names_are_only_words(site: Site) -> None:
    own = OWN.replace("A machine of one's own", HOSTILE.replace('"', "'")).replace(
        "Lost", '"<script>alert(1)</script>"'
    )
    answer = _drop(site, text=own)
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text


def test_what_cannot_be_seen_is_marked_in_the_drawing_too(site: Site) -> None:
    answer = _drop(site, text=OWN.replace("Lost", '"L\u202eost"'))
    assert answer.status_code in (200, 422)
    assert "\u202e" not in answer.text


def test_what_is_too_large_is_refused(site: Site) -> None:
    assert _drop(site, text="#" * (3 * MOST_BYTES)).status_code == 422
    assert _drop(site, file=b"#" * (3 * MOST_BYTES)).status_code == 422


@pytest.mark.parametrize(
    "body", [b"", b"--x\r\n", b"\xff" * 1000, b"--x\r\nContent-Disposition: form-data; name=text\r\n\r\n"]
)
def test_a_form_that_is_none_is_refused(site: Site, body: bytes) -> None:
    kind = {**AUTHORIZED, "content-type": "multipart/form-data; boundary=x"}
    answer = httpx.post(f"{site.url}/machines/check", content=body, headers=kind, verify=False, timeout=SECONDS)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_page_of_another_site_cannot_have_one_checked(site: Site, headers: dict[str, str]) -> None:
    assert _drop(site, text=OWN, headers=headers).status_code == 403


def _form(text: str) -> Request:
    """The request of a page that sends a machine to be checked."""
    given = httpx.Request("POST", "http://127.0.0.1/machines/check", data={"text": text})
    headers = [(name.lower().encode(), value.encode()) for name, value in given.headers.items()]
    body = given.read()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "path": "/machines/check", "headers": headers}, receive)


def test_a_machine_that_would_take_forever_ends_and_the_next_is_checked() -> None:
    with start_blocking_portal() as portal:
        trials = Trials()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(trial, "_MOST_SECONDS", 0.5)
            ended = portal.call(trials.tried, _form(_explosive()))
        assert ended["error"]["hint"] == "`ralph machine check FILE` takes as long as it needs."
        assert "unreachable_state" in str(portal.call(trials.tried, _form(OWN))["report"])


@pytest.mark.sampled(0)
def test_a_machine_that_would_take_forever_is_refused_by_the_server(site: Site) -> None:
    answer = _drop(site, text=_explosive())
    assert answer.status_code == 422
    assert "ralph machine check FILE" in answer.text
    site.page("/machines")


def test_an_event_of_very_many_variants_is_too_large() -> None:
    assert "too_large" in {finding["code"] for finding in tried(_many_variants())["report"]["findings"]}


_TRYING = [sys.executable, "-I", "-m", "interlock.faces.web.trying"]


def _hard(pid: int, limit: int) -> float:
    """The limit of a process that it cannot raise."""
    hard = resource.prlimit(pid, limit)[1]
    return float("inf") if hard == resource.RLIM_INFINITY else hard


def test_the_program_holds_itself_to_its_limits_before_it_reads_anything() -> None:
    """The system ends it then, also where nobody else does."""
    process = subprocess.Popen(_TRYING, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + SECONDS
    try:
        while _hard(process.pid, resource.RLIMIT_CPU) > 10 or _hard(process.pid, resource.RLIMIT_AS) > 1 << 30:
            assert process.poll() is None
            assert time.monotonic() < deadline, "it has no limits"
        told, _ = process.communicate(OWN.encode(), timeout=SECONDS)
    finally:
        process.kill()
        process.communicate()
    assert b"unreachable_state" in told


@pytest.mark.sampled(0)
def test_the_program_ends_by_itself() -> None:
    done = subprocess.run(_TRYING, input=_explosive().encode(), capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode != 0 or b'"error"' in done.stdout


def test_a_drawing_of_very_many_states_is_left_out() -> None:
    states = "".join(f"[states.s{number}]\n" for number in range(200))
    told = tried(OWN.replace("[states.Begin]", f"{states}[states.Begin]"))
    assert told["drawing"] == ""
    assert len(told["machine"]["states"]) == 203
