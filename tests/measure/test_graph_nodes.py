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


def without(graph, *edge):
    return graph._replace(edges=[kept for kept in graph.edges if kept != Edge(*edge)])


ONE = chain(MAXIMUM, DIVIDE)
THREE = chain(*ONE.nodes * 3)
# A call that does two things at once, and two such calls.
BOTH = Recording([FILL, MAXIMUM], [])
TWICE = Recording(BOTH.nodes * 2, [Edge(0, 2), Edge(0, 3), Edge(1, 2), Edge(1, 3)])
OTHER_GRID, OTHER_KERNEL = DIVIDE._replace(grid=(1, 1, 1)), DIVIDE._replace(function=(3, 0))
LEFT_OUT = "4 nodes in 3 calls, and 2 in a call recorded alone"


@pytest.mark.parametrize(
    ("graph", "one", "calls", "words"),
    [
        (THREE, ONE, 3, None),
        (TWICE, BOTH, 2, None),
        (TWICE._replace(edges=[*TWICE.edges, Edge(0, 1)]), BOTH, 2, None),  # no call is faster
        (chain(), chain(), 3, "a call records no work"),
        (chain(*ONE.nodes * 2), ONE, 3, LEFT_OUT),
        (chain(*ONE.nodes * 2, MAXIMUM, OTHER_GRID), ONE, 3, "call 2 has kernel (1, 1, 1) (128"),
        (chain(*ONE.nodes * 2, MAXIMUM, OTHER_KERNEL), ONE, 3, "call 2 has"),
        (without(THREE, 0, 1), ONE, 3, "call 0 does not wait for call 0"),
        (without(THREE, 3, 4), ONE, 3, "call 2 does not wait for call 1"),
        *((without(TWICE, *e), BOTH, 2, "call 1 does not wait for call 0") for e in TWICE.edges),
    ],
)
def test_every_call_is_like_the_one_alone_or_how_it_differs_is_told(graph, one, calls, words):
    message = difference(graph, one, calls)
    assert words in message if words else message is None


def test_only_an_early_start_of_another_call_overlaps():
    assert not overlaps_calls(chain(*THREE.nodes, early=(0, 2, 4)), ONE)
    assert overlaps_calls(chain(*THREE.nodes, early=(1,)), ONE)


def test_what_the_driver_tells_is_read(monkeypatch):
    """A kernel that starts early after a memset."""
    early, graph = types.SimpleNamespace(type=1), types.SimpleNamespace(raw_cuda_graph=lambda: 1)
    params = {"func": 7, "kern": 0, "sharedMemBytes": 16, "gridDimX": 4, "gridDimY": 2}
    params |= {"gridDimZ": 1, "blockDimX": 64, "blockDimY": 1, "blockDimZ": 1}
    kinds = driver.CUgraphNodeType
    kind = {200: kinds.CU_GRAPH_NODE_TYPE_KERNEL, 100: kinds.CU_GRAPH_NODE_TYPE_MEMSET}
    replacements = {
        "cuGraphGetNodes": lambda graph, n=0: ([100, 200][:n], 2),
        "cuGraphNodeGetType": lambda node: (kind[node],),
        "cuGraphKernelNodeGetParams": lambda node: (types.SimpleNamespace(**params),),
        "cuGraphGetEdges": lambda graph, n=0: ([100][:n], [200][:n], [early][:n], 1),
    }

    def answer(error):
        for name, call in replacements.items():
            monkeypatch.setattr(
                driver, name, lambda *arguments, call=call: (error, *call(*arguments))
            )

    answer(driver.CUresult.CUDA_SUCCESS)
    kernel = Node("kernel", (7, 0), (4, 2, 1), (64, 1, 1), 16)
    assert graph_nodes.read_graph(graph) == Recording([FILL, kernel], [Edge(0, 1, early=True)])
    answer(driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_VALUE"):
        graph_nodes.read_graph(graph)
