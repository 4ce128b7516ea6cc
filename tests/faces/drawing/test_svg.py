"""The SVG shows every state and every edge, and nothing in it lies on something else."""

from __future__ import annotations

from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.faces.drawing.diagram import edges
from interlock.faces.drawing.layout import Box, Layout, LayoutNode, Link, place, rank
from interlock.faces.drawing.picture import lines_of, make_picture, size_of
from interlock.faces.drawing.svg import sheet, svg
from interlock.machine.load import SHIPPED, compile_machine, load_shipped, parse
from interlock.machine.model import Machine

HOSTILE = r"<b>&amp;</b> ]]> \"quoted\" 'single' \u0000\u0007\uFFFF two\nlines \U0001F980 漢字"
TITLE = "{http://www.w3.org/2000/svg}title"


def small(transitions: str, states: str = "", last: int = 4) -> Machine:
    """A machine with the states S0 to the last one, which is terminal."""
    names = [f"[states.S{number}]\nterminal = {str(number == last > 0).lower()}" for number in range(last + 1)]
    head = 'name = "small"\nversion = 1\ndescription = "A small machine"\ninitial = "S0"'
    return compile_machine(parse("\n".join([head, *(names if not states else [states]), transitions])))


def row(source: str, to: str, on: str = "go", by: str = "human", more: str = "") -> str:
    return f'[[transitions]]\nfrom = "{source}"\nto = "{to}"\non = "{on}"\nby = ["{by}"]\n{more}'


def drawn(machine: Machine, current: str | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(svg(machine, current=current))


def edge_between(machine: Machine, source: str, to: str) -> ElementTree.Element:
    found = drawn(machine).findall(f".//*[@data-from='{source}'][@data-to='{to}']")
    assert len(found) == 1
    return found[0]


def overlaps(one: Box, other: Box) -> bool:
    return (
        one.x < other.right and other.x < one.right and one.y < other.y + other.height and other.y < one.y + one.height
    )


def labels(layout: Layout, sizes: list[tuple[float, float]]) -> list[Box]:
    return [
        Box(route.label.x - width / 2, route.label.y - height / 2, width, height)
        for route, (width, height) in zip(layout.routes, sizes, strict=True)
    ]


def assert_nothing_lies_on_anything(layout: Layout, sizes: list[tuple[float, float]]) -> None:
    things = [*layout.boxes, *labels(layout, sizes)]
    assert not any(overlaps(one, other) for one, other in combinations(things, 2))
    for route in layout.routes:
        for one, other in pairwise(route.points):
            if one.x == other.x:
                line = Box(one.x, min(one.y, other.y) + 0.1, 0.01, abs(one.y - other.y) - 0.2)
                assert not any(overlaps(line, box) for box in layout.boxes)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_state_is_drawn_once(name: str) -> None:
    machine = load_shipped(name)
    assert [found.get("data-state") for found in drawn(machine).findall(".//*[@data-state]")] == list(machine.states)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_edge_is_drawn_once_with_all_its_events_and_who_fires_them(name: str) -> None:
    machine = load_shipped(name)
    found = drawn(machine).findall(".//*[@data-from]")
    ends = [(one.get("data-from"), one.get("data-to")) for one in found]
    assert sorted(ends, key=repr) == sorted(((edge.source, edge.to) for edge in edges(machine)), key=repr)
    for edge in edges(machine):
        tooltip = found[ends.index((edge.source, edge.to))].findtext(TITLE) or ""
        for transition in edge.transitions:
            assert f"{transition.on} by {', '.join(transition.by)}" in tooltip
            assert (transition.when or "") in tooltip


@pytest.mark.parametrize("name", SHIPPED)
def test_no_box_label_or_line_lies_on_another(name: str) -> None:
    picture = make_picture(load_shipped(name))
    assert_nothing_lies_on_anything(picture.layout, [size_of(lines_of(edge)) for edge in picture.links])


@pytest.mark.parametrize("name", SHIPPED)
def test_the_drawing_is_the_same_every_time(name: str) -> None:
    assert svg(load_shipped(name)) == svg(compile_machine(load_shipped(name).form))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_current_state_is_highlighted_and_no_other(name: str) -> None:
    machine = load_shipped(name)
    for state in machine.states:
        tree = drawn(machine, state)
        marked = [found for found in tree.findall(".//*[@data-state]") if "current" in found.get("class", "").split()]
        assert [found.get("data-state") for found in marked] == [state]
        assert len(tree.findall(".//*[@class='ring']")) == 1
    assert 'class="ring"' not in svg(machine)


def test_a_drawing_without_its_style_is_the_same_drawing() -> None:
    machine = load_shipped("story")
    bare = svg(machine, current="TEST", is_styled=False)
    assert "style" not in bare
    assert svg(machine, current="TEST").replace(f"<style>{sheet()}</style>\n", "") == bare


def test_a_current_state_that_the_machine_does_not_have_highlights_nothing() -> None:
    machine = load_shipped("session")
    assert svg(machine, current="nowhere") == svg(machine)


def test_hostile_texts_stay_text() -> None:
    fields = "".join(f'{field} = "{HOSTILE}"\n' for field in ("label", "description", "phase", "icon", "color"))
    states = f'[states.S0]\n{fields}notes = ["{HOSTILE}"]'
    machine = small(row("S0", "S0", more=f'trigger = "{HOSTILE}"\nadded = "{HOSTILE}"'), states)
    tree = drawn(machine, "S0")
    (state,) = tree.findall(".//*[@data-state='S0']")
    assert "<b>&amp;</b> ]]> \"quoted\" 'single'" in (state.findtext(TITLE) or "")
    assert not tree.findall(".//{http://www.w3.org/2000/svg}b")


def test_a_machine_of_one_state_is_drawn() -> None:
    head = 'name = "one"\nversion = 1\ndescription = "One"\ninitial = "S0"\ntransitions = []'
    tree = drawn(compile_machine(parse(f"{head}\n[states.S0]")))
    assert len(tree.findall(".//*[@data-state]")) == 1
    assert not tree.findall(".//*[@data-from]")


def test_what_only_people_fire_gates_and_additions_are_told_apart() -> None:
    rows = [
        row("S0", "S1"),
        row("S1", "S2", by="agent"),
        row("S2", "S3", more='gate = "look"'),
        row("S3", "S4", more='added = "why"'),
        '[gates.look]\nsubject = "tree"',
    ]
    machine = small("\n".join(rows))
    classes = [edge_between(machine, f"S{number}", f"S{number + 1}").get("class") for number in range(4)]
    assert classes == ["edge people", "edge", "edge people gate", "edge people added"]


def test_several_events_between_two_states_are_one_edge() -> None:
    machine = small(row("S0", "S1", "one") + row("S0", "S1", "other", "agent"))
    texts = [text.text for text in edge_between(machine, "S0", "S1").iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["one", "other"]


def test_what_every_state_leads_to_is_a_pill_at_each_and_not_a_line_from_each() -> None:
    chain = [row(f"S{number}", f"S{number + 1}") for number in range(8)]
    machine = small("\n".join([*chain, row("*", "S9", "stop")]), last=9)
    for number in range(9):
        assert "exit" in (edge_between(machine, f"S{number}", "S9").get("class") or "").split()
    assert not any(edge.to == "S9" for edge in make_picture(machine).links)
    assert make_picture(machine).hints == {"S9": "from 9 states"}


def test_an_edge_past_many_states_is_a_pill() -> None:
    chain = [row(f"S{number}", f"S{number + 1}") for number in range(30)]
    machine = small("\n".join([*chain, row("S29", "S0", "again")]), last=30)
    assert "exit" in (edge_between(machine, "S29", "S0").get("class") or "").split()


def test_phases_are_lanes_from_top_to_bottom() -> None:
    machine = load_shipped("thread")
    titles = list(dict.fromkeys(state.phase for state in machine.states.values()))
    found = [text.text for text in drawn(machine).findall(".//*[@class='phase']")]
    assert found == titles
    boxes = make_picture(machine)
    for above, below in pairwise(titles):
        lowest = max(boxes.box(name).y for name, state in machine.states.items() if state.phase == above)
        assert all(boxes.box(name).y > lowest for name, state in machine.states.items() if state.phase == below)


def test_a_chain_of_two_thousand_states_is_drawn() -> None:
    chain = "\n".join(row(f"S{number}", f"S{number + 1}") for number in range(1999))
    picture = make_picture(small(chain, last=1999))
    tops = [picture.box(f"S{number}").y for number in range(2000)]
    assert tops == sorted(set(tops))


graphs = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=30, unique=True),
        st.integers(0, size - 1),
        st.lists(st.integers(0, 2), min_size=size, max_size=size),
    )
)


@given(graphs)
def test_no_graph_is_laid_out_with_one_thing_on_another(
    graph: tuple[int, list[tuple[int, int]], int, list[int]],
) -> None:
    size, found, first, groups = graph
    pairs = [(source, target) for source, target in found if source != target]
    ranks = rank(size, pairs, first, groups)
    nodes = [LayoutNode(90 + 10 * number, 40, left=12 * (number % 4), right=9, tall=50) for number in range(size)]
    links = [Link(source, target, 30 + 5 * source, 14) for source, target in pairs]
    layout = place(nodes, links, ranks)
    assert ranks[first] == 0
    assert all(ranks[source] != ranks[target] for source, target in pairs)
    assert_nothing_lies_on_anything(layout, [(link.width, link.height) for link in links])
    for box in layout.boxes:
        assert box.x >= -0.001
        assert box.right <= layout.width + 0.001
        assert box.y + box.height <= layout.height + 0.001
