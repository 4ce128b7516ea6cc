"""A driver at work, and people who are told beside it: nothing waits for them, and nothing fails by them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from faces.journals import settle
from faces.programs import SECONDS, clean_environment, run
from interlock.work.notifying.outbox import Post
from interlock.work.notifying.sending import sending
from interlock.work.threads.loop import drive
from interlock.world.notices.notice import DeliveryFailure, Notice
from interlock.world.notices.webhook import Webhook
from work.threads.benches import FAIL as REFUSED
from work.threads.benches import Bench

from .receivers import receiver

ALL = frozenset({"needed", "stuck", "budget", "done"})
SECRET = "a long secret of the test"


class Broken:
    """A channel that is at fault."""

    name, is_here = "broken", True

    def send(self, notice: Notice) -> DeliveryFailure | None:
        raise RuntimeError("a fault")


def test_a_stuck_thread_tells_people_and_waits_for_nobody(tmp_path: Path) -> None:
    bench = Bench.made(tmp_path)
    bench.settings["thread.iterations"] = 1
    bench.judge(REFUSED)
    id_ = bench.new(mode="quick")
    bench.act(id_, "finalize", drives=False)
    journal = bench.open()
    try:
        with receiver() as there, receiver((0, {})) as hanging:
            answering, silent = Webhook(there.url, SECRET), Webhook(hanging.url, SECRET, name="silent")
            posts = [Post(journal, one, ALL) for one in (answering, silent, Broken())]
            with sending(posts, grace=SECONDS):
                assert drive(bench.context(journal), id_).state == "Stuck"  # while one of them hangs
                assert hanging.arrived.wait(SECONDS)
                assert there.arrived.wait(SECONDS)
                hanging.release.set()
        told = [one.data for one in there.got]
    finally:
        journal.close()
    assert [one["kind"] for one in told] == ["stuck"]
    assert told[0]["instance"] == id_
    assert told[0]["command"] == f"ralph thread diagnose {id_[-6:]}"


def test_ralph_notify_tries_shows_and_sends(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    environment = {**clean_environment(tmp_path / "home"), "RALPH_WEBHOOK_SECRET": SECRET}
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", repository], env=environment, check=True, timeout=60)
    assert run("notify", "test", "--json", cwd=repository, env=environment).error["code"] == "notify_off"
    with receiver((200, {}), (500, {})) as there:
        settle(repository, f'[notify]\nwebhook = "{there.url}"\n')
        assert run("notify", "test", "webhook", "--json", cwd=repository, env=environment).data["channels"]
        assert run("notify", "send", "--json", cwd=repository, env=environment).data["sent"] == {"webhook": 0}
        run("ticket", "create", "Parse dates", cwd=repository, env=environment)
        escalate = ["ticket", "handoff", "1", "--command", "triage", "--intent", "escalate", "--reason", "which?"]
        agent = {**environment, "CLAUDECODE": "1"}
        assert run(*escalate, cwd=repository, env=agent).code == 0
        failed = run("notify", "send", "--json", cwd=repository, env=environment)
        assert failed.error["code"] == "notify_failed"
        assert there.url not in failed.out
        assert SECRET not in failed.out
        [row] = run("notify", "status", "--json", cwd=repository, env=environment).data["channels"]
        assert (row["waiting"], row["tries"], row["trouble"]) == (1, 1, "it answers 500")
    assert [one.data["kind"] for one in there.got] == ["test", "needed"]
