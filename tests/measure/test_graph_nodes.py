"""Every call of a graph does what a call recorded alone does, and after the call before it."""

import enum
import sys
import types

import pytest

from measure.check import graph_nodes
from measure.check.graph_nodes import Edge, Node, Recording, overlaps_calls, problem

MAXIMUM = Node("kernel", (1, 0), (64, 1, 1), (128, 1, 1), 0)
DIVIDE = Node("kernel", (2, 0), (64, 1, 1), (128, 1, 1), 512)
FILL = Node("memset")


def chain(*nodes, early=()):
    edges = [Edge(i, i + 1, i in early) for i in range(len(nodes) - 1)]
    return Recording(list(nodes), edges)


ONE = chain(MAXIMUM, DIVIDE)
# A call that does two things at once and then a third.
FORK = Recording([FILL, MAXIMUM, DIVIDE], [Edge(0, 2), Edge(1, 2)])
WAITS = [(0, 2), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5)]
FORKED = Recording(FORK.nodes * 2, [Edge(*pair) for pair in WAITS])


def test_calls_like_the_one_alone_pass():
    assert problem(chain(*ONE.nodes * 5), ONE, 5) is None
    assert problem(FORKED, FORK, 2) is None
    more = FORKED._replace(edges=[*FORKED.edges, Edge(0, 5)])
    assert problem(more, FORK, 2) is None, "waiting for more makes nothing faster"


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (chain(*ONE.nodes * 2), "4 nodes in 3 calls, and 2 in a call recorded alone"),
        (chain(*ONE.nodes, MAXIMUM, *ONE.nodes, DIVIDE), "call 1 has kernel"),
        (chain(*ONE.nodes * 2, MAXIMUM, DIVIDE._replace(grid=(1, 1, 1))), "(1, 1, 1) (128"),
        (chain(*ONE.nodes * 2, MAXIMUM, DIVIDE._replace(function=(3, 0))), "call 2 has"),
        (chain(*ONE.nodes * 2, MAXIMUM, DIVIDE._replace(block=(64, 1, 1))), "(64, 1, 1) 512 B"),
        (chain(*ONE.nodes * 2, MAXIMUM, DIVIDE._replace(shared_bytes=0)), "0 B, and a call"),
        (chain(*ONE.nodes * 2, MAXIMUM, FILL), "call 2 has memset"),
        (Recording(ONE.nodes * 3, [Edge(0, 1), Edge(1, 2), Edge(2, 3), Edge(4, 5)]),
         "call 2 does not wait for call 1"),
        (Recording(ONE.nodes * 3, [Edge(1, 2), Edge(2, 3), Edge(3, 4), Edge(4, 5)]),
         "call 0 does not wait for call 0"),
    ],
)  # fmt: skip
def test_what_a_call_leaves_out_or_does_otherwise_is_told(graph, words):
    assert words in problem(graph, ONE, 3)


def test_a_call_without_work_is_a_problem_and_both_branches_are_waited_for():
    assert problem(chain(), chain(), 3) == "a call records no work"
    for missing in (Edge(2, 3), Edge(2, 4)):
        graph = FORKED._replace(edges=[edge for edge in FORKED.edges if edge != missing])
        assert problem(graph, FORK, 2) == "call 1 does not wait for call 0"


def test_only_an_early_start_of_another_call_overlaps():
    assert not overlaps_calls(chain(*ONE.nodes * 3, early=(0, 2, 4)), ONE)
    assert overlaps_calls(chain(*ONE.nodes * 3, early=(1,)), ONE)


KERNEL = {"func": 7, "kern": 0, "sharedMemBytes": 16, "gridDimX": 4, "gridDimY": 2, "gridDimZ": 1}
KERNEL |= {"blockDimX": 64, "blockDimY": 1, "blockDimZ": 1}


class Driver:
    """Answers of ``cuda.bindings.driver`` 13 for a kernel that starts early after a memset."""

    CUgraphNodeType = enum.Enum(
        "Type", ["CU_GRAPH_NODE_TYPE_KERNEL", "CU_GRAPH_NODE_TYPE_MEMSET"], start=0
    )
    CUgraphDependencyType = enum.IntEnum(
        "How",
        ["CU_GRAPH_DEPENDENCY_TYPE_DEFAULT", "CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC"],
        start=0,
    )
    done = types.SimpleNamespace(name="CUDA_SUCCESS")

    def CUgraph(self, handle):
        return handle

    def cuGraphGetNodes(self, graph, count=0):
        return self.done, [100, 200][:count], 2

    def cuGraphGetEdges(self, graph, count=0):
        return self.done, [100][:count], [200][:count], [types.SimpleNamespace(type=1)][:count], 1

    def cuGraphNodeGetType(self, node):
        return self.done, list(self.CUgraphNodeType)[node == 100]

    def cuGraphKernelNodeGetParams(self, node):
        return self.done, types.SimpleNamespace(**KERNEL)


class OldDriver(Driver):
    """As version 12 has it: edges without types, and with them under another name."""

    cuGraphGetEdges_v2 = Driver.cuGraphGetEdges

    def cuGraphGetEdges(self, graph, count=0):
        raise AssertionError("it does not tell how the nodes depend")


@pytest.mark.parametrize("driver", [Driver(), OldDriver()], ids=["13", "12"])
def test_what_the_driver_tells_is_read(monkeypatch, driver):
    bindings = types.ModuleType("cuda.bindings")
    bindings.driver = driver
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    graph = types.SimpleNamespace(raw_cuda_graph=lambda: 1)
    kernel = Node("kernel", (7, 0), (4, 2, 1), (64, 1, 1), 16)
    assert graph_nodes.read(graph) == Recording([FILL, kernel], [Edge(0, 1, early=True)])
    driver.done = types.SimpleNamespace(name="CUDA_ERROR_INVALID_VALUE")
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_VALUE"):
        graph_nodes.read(graph)
