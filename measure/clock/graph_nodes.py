"""Compare the kernels of every call in a timed graph with those of one call recorded alone.

A graph uses each set of buffers many times. So a call that finds the right values in ``out``
already could record no work, and the outputs would not reveal it. Arguments of kernels are not
compared; the replays that are checked after timing show what the kernels do.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from cuda.bindings import driver

from kernels.cuda.driver import checked


class Node(NamedTuple):
    """Describe a node of a graph; if it is not a kernel, only its kind is compared."""

    kind: str
    function: tuple[int, int] = (0, 0)  # handles of the driver
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    shared_bytes: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.grid} {self.block} {self.shared_bytes} B"


class Edge(NamedTuple):
    """Make node ``end`` depend on node ``begin``."""

    begin: int
    end: int
    early: bool = False  # ``end`` may start before ``begin`` has ended (programmatic launch)


class Recording(NamedTuple):
    """List the nodes of a graph in the driver's order, and their dependencies.

    The driver lists nodes in the order of recording, although NVIDIA does not document that. If it
    did not, ``difference`` would reject correct calls, and the tests on a GPU would fail.
    """

    nodes: list[Node]
    edges: list[Edge]


def difference(graph: Recording, one: Recording, calls: int) -> str | None:
    """Return how ``graph`` differs from ``calls`` calls like ``one`` in sequence, or None.

    Additional dependencies are accepted, because waiting makes no call faster.
    """
    size = len(one.nodes)
    if size == 0:
        return "a call records no work"
    if len(graph.nodes) != calls * size:
        return f"{len(graph.nodes)} nodes in {calls} calls, and {size} in a call recorded alone"
    for index, node in enumerate(graph.nodes):
        if node != (expected := one.nodes[index % size]):
            return f"call {index // size} has {node}, and a call recorded alone has {expected}"
    waits = {(edge.begin, edge.end) for edge in graph.edges}
    for begin, end in _needed(one, calls):
        if (begin, end) not in waits:
            return f"call {end // size} does not wait for call {begin // size}"
    return None


def _needed(one: Recording, calls: int) -> Iterator[tuple[int, int]]:
    """Yield the dependencies of ``calls`` calls, each of which begins when the one before ends."""
    size = len(one.nodes)
    firsts = set(range(size)) - {edge.end for edge in one.edges}
    lasts = set(range(size)) - {edge.begin for edge in one.edges}
    for start in range(0, calls * size, size):
        yield from ((start + edge.begin, start + edge.end) for edge in one.edges)
        if start:
            yield from ((start - size + last, start + first) for last in lasts for first in firsts)


def overlaps_calls(graph: Recording, one: Recording) -> bool:
    """Return whether a call of ``graph`` may begin before the previous call has ended."""
    size = len(one.nodes)
    return any(edge.early and edge.begin // size != edge.end // size for edge in graph.edges)


def read_graph(graph: torch.cuda.CUDAGraph) -> Recording:
    """Return the recording of a CUDAGraph made with ``keep_graph=True``. Raises RuntimeError."""
    handle = driver.CUgraph(graph.raw_cuda_graph())
    _, count = checked(driver.cuGraphGetNodes(handle))
    nodes, _ = checked(driver.cuGraphGetNodes(handle, count))
    place = {int(node): index for index, node in enumerate(nodes)}
    *_, count = checked(driver.cuGraphGetEdges(handle))
    asked = checked(driver.cuGraphGetEdges(handle, count)) if count else [()] * 4
    begins, ends, edge_data, _ = asked
    early = driver.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
    edges = [
        Edge(place[int(begin)], place[int(end)], int(edge.type) == int(early))
        for begin, end, edge in zip(begins, ends, edge_data, strict=True)
    ]
    return Recording([_node(node) for node in nodes], edges)


def _node(node) -> Node:
    (kind,) = checked(driver.cuGraphNodeGetType(node))
    if kind != driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
        return Node(kind.name.removeprefix("CU_GRAPH_NODE_TYPE_").lower())
    (params,) = checked(driver.cuGraphKernelNodeGetParams(node))
    return Node(
        "kernel",
        (int(params.func), int(params.kern)),
        (params.gridDimX, params.gridDimY, params.gridDimZ),
        (params.blockDimX, params.blockDimY, params.blockDimZ),
        params.sharedMemBytes,
    )
