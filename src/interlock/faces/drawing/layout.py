"""Where the boxes and edges of a drawing go: layers from top to bottom, in the manner of Sugiyama.

Between every two layers of boxes lies one for the edges' labels, and an edge has a place of its own in every
layer it passes: no edge runs through a box or a label, and no two of these overlap.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median_low

import msgspec

__all__ = ["Box", "Layout", "LayoutNode", "Link", "Point", "Route", "place", "rank"]

_SPACE = 18.0
"""Between two things in one layer."""
_LANE = 4.0
"""Half the width of an edge that passes a layer."""
_WORK = 30_000
"""How many places are visited to make the drawing better, so that a large machine is drawn in seconds."""


class Point(msgspec.Struct, frozen=True):
    x: float
    y: float


class LayoutNode(msgspec.Struct, frozen=True):
    """A box to place, with the room it needs on each side of it and the height of all that."""

    width: float
    height: float
    left: float = 0.0
    right: float = 0.0
    tall: float = 0.0


class Link(msgspec.Struct, frozen=True):
    """An edge to route between two nodes of different rank, with the size of its label."""

    source: int
    target: int
    width: float
    height: float


class Box(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Point:
        return Point(self.x + self.width / 2, self.y + self.height / 2)

    @property
    def right(self) -> float:
        return self.x + self.width


class Route(msgspec.Struct, frozen=True):
    """The way of an edge from its source to its target, and the middle of its label."""

    points: tuple[Point, ...]
    label: Point


class Layout(msgspec.Struct, frozen=True):
    """A drawing from (0, 0): a box for each node, a route for each link, and the top and bottom of each rank."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    ranks: tuple[tuple[float, float], ...]


def rank(size: int, pairs: Sequence[tuple[int, int]], first: int, groups: Sequence[int]) -> list[int]:
    """The layer of each node: its number tells the order the author chose, a group lies below the ones before."""
    order = _order(size, pairs, first)
    if any(groups[above] > groups[below] for above, below in pairwise(order)):
        groups = [0] * size
    above, below = _oriented(size, pairs, order)
    ranks = [0] * size
    last: dict[int, int] = {}
    top, lowest = 0, -1
    for node in order:
        if groups[node] not in last:
            top = lowest + 1
        ranks[node] = max([top, *(ranks[other] + 1 for other in above[node])])
        last[groups[node]] = lowest = max(lowest, ranks[node])
    for node in reversed(order):
        if not above[node] and node != first:
            nearest = min((ranks[other] - 1 for other in below[node]), default=last[groups[node]])
            ranks[node] = max(ranks[node], min(nearest, last[groups[node]]))
    return ranks


def _order(size: int, pairs: Sequence[tuple[int, int]], first: int) -> list[int]:
    """The nodes in the order given; one that nothing before it leads to stands in the midst of what it leads to."""
    targets: dict[int, list[int]] = {}
    reached = {first}
    for source, target in pairs:
        targets.setdefault(source, []).append(target)
        if source < target:
            reached.add(target)
    place = [float(node) for node in range(size)]
    for node in targets.keys() - reached:
        place[node] = median_low(targets[node]) - 0.5
    place[first] = -1.0
    return sorted(range(size), key=lambda node: (place[node], node))


def _oriented(
    size: int, pairs: Sequence[tuple[int, int]], order: Sequence[int]
) -> tuple[list[list[int]], list[list[int]]]:
    position = {node: at for at, node in enumerate(order)}
    above: list[list[int]] = [[] for _ in range(size)]
    below: list[list[int]] = [[] for _ in range(size)]
    for pair in pairs:
        upper, lower = sorted(pair, key=position.__getitem__)
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


class _Mesh(msgspec.Struct, frozen=True):
    """Nodes, and the places of links in the layers they pass, as one list of items."""

    nodes: int
    """The first items are the nodes."""
    layers: list[list[int]]
    left: list[float]
    right: list[float]
    tall: list[float]
    up: list[list[int]]
    down: list[list[int]]
    pull: list[float]
    """How much an item is drawn to the node that it hangs on."""
    chains: list[list[int]]
    """For each link its items, from the upper node to the lower."""


def place(nodes: Sequence[LayoutNode], links: Sequence[Link], ranks: Sequence[int]) -> Layout:
    """Lay nodes and links out, each node in the layer of its rank."""
    mesh = _mesh(nodes, links, ranks)
    layers = _ordered(mesh)
    across = _across(mesh, layers)
    shift = min(across[row[0]] - mesh.left[row[0]] for row in layers if row)
    across = [x - shift for x in across]
    bands = _bands(mesh, layers, across)
    boxes = tuple(
        Box(across[at] - node.width / 2, sum(bands[2 * ranks[at]]) / 2 - node.height / 2, node.width, node.height)
        for at, node in enumerate(nodes)
    )
    return Layout(
        width=max(across[row[-1]] + mesh.right[row[-1]] for row in layers if row),
        height=bands[-1][1],
        boxes=boxes,
        routes=tuple(_routes(links, mesh, across, bands, boxes, ranks)),
        ranks=tuple(bands[::2]),
    )


def _mesh(nodes: Sequence[LayoutNode], links: Sequence[Link], ranks: Sequence[int]) -> _Mesh:
    mesh = _Mesh(len(nodes), [[] for _ in range(2 * max(ranks) + 1)], [], [], [], [], [], [], [])
    for node, at in zip(nodes, ranks, strict=True):
        _add(mesh, 2 * at, node.left + node.width / 2, node.right + node.width / 2, max(node.tall, node.height))
    for link in links:
        upper, lower = sorted((link.source, link.target), key=ranks.__getitem__)
        between = range(2 * ranks[upper] + 1, 2 * ranks[lower])
        pull = 5.0 if len(between) == 1 and upper == link.source else 1.0
        labelled = between[0] if upper == link.source else between[-1]
        chain = [upper]
        for layer in between:
            half, tall = (link.width / 2, link.height) if layer == labelled else (_LANE, 0.0)
            chain.append(_add(mesh, layer, half, half, tall, pull))
        mesh.chains.append([*chain, lower])
        for one, other in pairwise(mesh.chains[-1]):
            mesh.down[one].append(other)
            mesh.up[other].append(one)
    return mesh


def _add(mesh: _Mesh, layer: int, left: float, right: float, tall: float, pull: float = 1.0) -> int:
    mesh.left.append(left)
    mesh.right.append(right)
    mesh.tall.append(tall)
    mesh.pull.append(pull)
    mesh.up.append([])
    mesh.down.append([])
    mesh.layers[layer].append(len(mesh.left) - 1)
    return len(mesh.left) - 1


def _rounds(mesh: _Mesh, least: int, most: int) -> int:
    return max(least, min(most, _WORK // len(mesh.left)))


def _ordered(mesh: _Mesh) -> list[list[int]]:
    """The layers, each sorted so that few edges cross: the best of several sweeps from several beginnings."""
    layers = best = mesh.layers
    fewest = math.inf
    for turn in range(_rounds(mesh, 2, 256)):
        if turn % 8 == 0:
            layers = [_shuffled(row, turn // 8) for row in mesh.layers]
        layers = _sweep(mesh, layers, downwards=turn % 2 == 0, mirrored=turn % 8 > 3)
        crossings = sum(_crossings(mesh, one, other) for one, other in pairwise(layers))
        if crossings < fewest:
            best, fewest = layers, crossings
        if not fewest:
            break
    return best


def _shuffled(row: Sequence[int], way: int) -> list[int]:
    """The row in one of many orders, the same for the same way; the first is its own."""
    return sorted(row, key=lambda item: item * way * 7919 % 10007)


def _sweep(mesh: _Mesh, layers: list[list[int]], downwards: bool, mirrored: bool) -> list[list[int]]:
    """Sort each layer by the mean place of its items' neighbours in the layer before; mirrored, equals swap."""
    at = {item: place for row in layers for place, item in enumerate(row)}
    side = mesh.up if downwards else mesh.down
    swept: list[list[int]] = []
    for row in layers if downwards else reversed(layers):
        means = {item: _mean([at[other] for other in side[item]] or [at[item]]) for item in row}
        swept.append(sorted(reversed(row) if mirrored else row, key=means.__getitem__))
        at.update({item: place for place, item in enumerate(swept[-1])})
    return swept if downwards else swept[::-1]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _crossings(mesh: _Mesh, upper: Sequence[int], lower: Sequence[int]) -> int:
    at = {item: place for place, item in enumerate(lower)}
    seen: list[int] = []
    crossings = 0
    for item in upper:
        ends = sorted(at[other] for other in mesh.down[item])
        crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return crossings


def _across(mesh: _Mesh, layers: Sequence[Sequence[int]]) -> list[float]:
    """The middle of each item from left to right: near its neighbours, long edges straight, nothing overlapping."""
    across = [0.0] * len(mesh.left)
    rows = [(row, [mesh.right[one] + _SPACE + mesh.left[other] for one, other in pairwise(row)]) for row in layers]
    rounds = _rounds(mesh, 6, 60)
    for turn in range(rounds):
        downwards = turn % 2 == 0
        for row, gaps in rows if downwards else reversed(rows):
            middle = _mean([across[item] for item in row] or [0.0])
            sides = (mesh.up, mesh.down) if turn > rounds / 2 else (mesh.up,) if downwards else (mesh.down,)
            pulls = [_pull(mesh, item, [one for side in sides for one in side[item]], across, middle) for item in row]
            moved = _separated([pull[0] for pull in pulls], [pull[1] for pull in pulls], gaps)
            for item, x in zip(row, moved, strict=True):
                across[item] = x
    for _ in range(3):
        _straighten(mesh, layers, across)
    return across


def _pull(mesh: _Mesh, item: int, others: Sequence[int], across: Sequence[float], middle: float) -> tuple[float, float]:
    """Where its neighbours want an item, and how much; one without any goes where the layer is."""
    if not others:
        return (across[item] if mesh.up[item] or mesh.down[item] else middle), 0.05
    weights = [mesh.pull[max(item, other)] if min(item, other) < mesh.nodes else 8.0 for other in others]
    total = sum(weights)
    return sum(weight * across[other] for weight, other in zip(weights, others, strict=True)) / total, total


def _straighten(mesh: _Mesh, layers: Sequence[Sequence[int]], across: list[float]) -> None:
    """Make links upright as far as their neighbours in the layers leave room."""
    room: dict[int, tuple[int | None, int | None]] = {}
    for row in layers:
        for before, item, after in zip([None, *row], row, [*row[1:], None], strict=False):
            room[item] = (before, after)
    for chain in mesh.chains:
        run: list[int] = []
        low, high = -math.inf, math.inf
        for item in chain[1:-1]:
            before, after = room[item]
            least = -math.inf if before is None else across[before] + mesh.right[before] + _SPACE + mesh.left[item]
            most = math.inf if after is None else across[after] - mesh.left[after] - _SPACE - mesh.right[item]
            if max(low, least) > min(high, most):
                _align(run, low, high, across)
                run, low, high = [], -math.inf, math.inf
            run.append(item)
            low, high = max(low, least), min(high, most)
        _align(run, low, high, across)


def _align(run: Sequence[int], low: float, high: float, across: list[float]) -> None:
    if run:
        x = max(low, min(high, _mean([across[item] for item in run])))
        for item in run:
            across[item] = x


def _separated(
    wanted: Sequence[float],
    weights: Sequence[float],
    gaps: Sequence[float],
    low: float = -math.inf,
    high: float = math.inf,
) -> list[float]:
    """The places nearest to the wanted ones (least squares) that keep the gaps, within the bounds if they fit."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, float, int]] = []
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        mean, mass, count = want - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, heavy, many = blocks.pop()
            mean, mass, count = (before * heavy + mean * mass) / (heavy + mass), heavy + mass, many + count
        blocks.append((mean, mass, count))
    flat = [mean for mean, _, count in blocks for _ in range(count)]
    return [max(low, min(high - offsets[-1], mean)) + offset for mean, offset in zip(flat, offsets, strict=False)]


def _bands(mesh: _Mesh, layers: Sequence[Sequence[int]], across: Sequence[float]) -> list[tuple[float, float]]:
    """The top and bottom of each layer; the farther an edge goes aside between two, the farther apart they are."""
    bands: list[tuple[float, float]] = []
    top = 0.0
    for row in layers:
        bottom = top + max((mesh.tall[item] for item in row), default=0.0)
        bands.append((top, bottom))
        aside = max((abs(across[item] - across[other]) for item in row for other in mesh.down[item]), default=0.0)
        top = bottom + 14.0 + min(0.09 * aside, 44.0)
    return bands


def _routes(
    links: Sequence[Link],
    mesh: _Mesh,
    across: Sequence[float],
    bands: Sequence[tuple[float, float]],
    boxes: Sequence[Box],
    ranks: Sequence[int],
) -> Iterator[Route]:
    leaving = _ports(mesh, across, boxes, [chain[:2] for chain in mesh.chains])
    entering = _ports(mesh, across, boxes, [chain[:-3:-1] for chain in mesh.chains])
    for at, (link, chain) in enumerate(zip(links, mesh.chains, strict=True)):
        upper, lower, inner = chain[0], chain[-1], chain[1:-1]
        first = 2 * ranks[upper]
        points = [Point(leaving[at], boxes[upper].y + boxes[upper].height), Point(leaving[at], bands[first][1])]
        for layer, item in enumerate(inner, first + 1):
            points += [Point(across[item], y) for y in bands[layer]]
        points += [Point(entering[at], bands[2 * ranks[lower]][0]), Point(entering[at], boxes[lower].y)]
        down = upper == link.source
        layer = first + 1 if down else 2 * ranks[lower] - 1
        label = Point(across[inner[0] if down else inner[-1]], sum(bands[layer]) / 2)
        yield Route(tuple(points if down else reversed(points)), label)


def _ports(mesh: _Mesh, across: Sequence[float], boxes: Sequence[Box], ends: Sequence[Sequence[int]]) -> list[float]:
    """Where each link meets its box on one side of it: as near as it can to where it comes from."""
    sides: dict[int, list[int]] = {}
    for link, (node, _) in enumerate(ends):
        sides.setdefault(node, []).append(link)
    ports = [0.0] * len(ends)
    for node, links in sides.items():
        links.sort(key=lambda link: across[ends[link][1]])
        low, high = boxes[node].x + 12, boxes[node].right - 12
        gap = min(14.0, (high - low) / len(links))
        wanted = [across[ends[link][1]] for link in links]
        places = _separated(wanted, [1.0] * len(links), [gap] * (len(links) - 1), low, high)
        for link, x in zip(links, places, strict=True):
            ports[link] = x
    return ports
