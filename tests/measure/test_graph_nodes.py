"""Every call of a graph does what a call recorded alone does, and after the call before it."""

import types

import pytest
from cuda.bindings import driver

from measure.clock import graph_nodes
from measure.clock.graph_nodes import Edge, Node, Recording, difference, overlaps_calls

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
    assert difference(chain(*ONE.nodes * 5), ONE, 5) is None
    assert difference(FORKED, FORK, 2) is None
    more = FORKED._replace(edges=[*FORKED.edges, Edge(0, 5)])
    assert difference(more, FORK, 2) is None, "waiting for more makes nothing faster"


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (chain(*ONE.nodes * 2), "4 nodes in 3 calls, and 2 in a call recorded alone"),
        (chain(*ONE.nodes * 2, MAXIMUM, DIVIDE._replace(grid=(1, 1, 1))), "(1, 1, 1) (128"),
        (chain(*ONE.nodes * 2, MAXIMUM, DIVIDE._replace(function=(3, 0))), "call 2 has"),
        (Recording(ONE.nodes * 3, [Edge(0, 1), Edge(1, 2), Edge(2, 3), Edge(4, 5)]),
         "call 2 does not wait for call 1"),
        (Recording(ONE.nodes * 3, [Edge(1, 2), Edge(2, 3), Edge(3, 4), Edge(4, 5)]),
         "call 0 does not wait for call 0"),
    ],
)  # fmt: skip
def test_what_a_call_leaves_out_or_does_otherwise_is_told(graph, words):
    assert words in difference(graph, ONE, 3)


def test_a_call_without_work_is_a_problem_and_both_branches_are_waited_for():
    assert difference(chain(), chain(), 3) == "a call records no work"
    for missing in (Edge(2, 3), Edge(2, 4)):
        graph = FORKED._replace(edges=[edge for edge in FORKED.edges if edge != missing])
        assert difference(graph, FORK, 2) == "call 1 does not wait for call 0"


def test_only_an_early_start_of_another_call_overlaps():
    assert not overlaps_calls(chain(*ONE.nodes * 3, early=(0, 2, 4)), ONE)
    assert overlaps_calls(chain(*ONE.nodes * 3, early=(1,)), ONE)


def test_what_the_driver_tells_is_read(monkeypatch):
    """A kernel that starts early after a memset."""
    early, graph = types.SimpleNamespace(type=1), types.SimpleNamespace(raw_cuda_graph=lambda: 1)
    params = {"func": 7, "kern": 0, "sharedMemBytes": 16, "gridDimX": 4, "gridDimY": 2}
    params |= {"gridDimZ": 1, "blockDimX": 64, "blockDimY": 1, "blockDimZ": 1}
    kinds = driver.CUgraphNodeType
    kind = {200: kinds.CU_GRAPH_NODE_TYPE_KERNEL, 100: kinds.CU_GRAPH_NODE_TYPE_MEMSET}
    fakes = {
        "cuGraphGetNodes": lambda graph, n=0: ([100, 200][:n], 2),
        "cuGraphNodeGetType": lambda node: (kind[node],),
        "cuGraphKernelNodeGetParams": lambda node: (types.SimpleNamespace(**params),),
        "cuGraphGetEdges": lambda graph, n=0: ([100][:n], [200][:n], [early][:n], 1),
    }

    def answer(error):
        for name, fake in fakes.items():
            monkeypatch.setattr(driver, name, lambda *given, fake=fake: (error, *fake(*given)))

    answer(driver.CUresult.CUDA_SUCCESS)
    kernel = Node("kernel", (7, 0), (4, 2, 1), (64, 1, 1), 16)
    assert graph_nodes.read_graph(graph) == Recording([FILL, kernel], [Edge(0, 1, early=True)])
    answer(driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_VALUE"):
        graph_nodes.read_graph(graph)
