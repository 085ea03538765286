"""The graph that `TraceAnalysis.critical_path_analysis` of heddle.compat.hta gives: HTA's `CPGraph`, of Heddle's critical-path report.

Needs pandas and networkx. Times are us from the first event of the trace; events have their id in the table slices.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import networkx  # type: ignore[import-untyped,unused-ignore]

if TYPE_CHECKING:
    import pandas


class CPEdgeType(Enum):
    OPERATOR_KERNEL = "critical_path_operator"
    DEPENDENCY = "critical_path_dependency"
    KERNEL_LAUNCH_DELAY = "critical_path_kernel_launch_delay"
    KERNEL_KERNEL_DELAY = "critical_path_kernel_kernel_delay"
    SYNC_DEPENDENCY = "critical_path_sync_dependency"


@dataclass
class CPNode:
    """A moment: the start or the end of the event ev_idx."""

    idx: int
    ev_idx: int
    ts: float
    is_start: bool


@dataclass(frozen=True)
class CPEdge:
    """A stretch of time, a delay or a dependency (weight 0) between two nodes. weight: us."""

    begin: int
    end: int
    weight: float
    type: CPEdgeType


_BOUND_BY = {CPEdgeType.KERNEL_KERNEL_DELAY: "gpu_kernel_kernel_overhead", CPEdgeType.KERNEL_LAUNCH_DELAY: "gpu_kernel_launch_overhead",
             CPEdgeType.DEPENDENCY: "", CPEdgeType.SYNC_DEPENDENCY: ""}


class CPGraph(networkx.DiGraph):  # type: ignore[misc,unused-ignore]
    """A networkx.DiGraph whose nodes are numbers in node_list, and whose edges have a weight and the CPEdge as `object`.

    trace_df   a row for each event of the graph, by id: s_name, cat, pid, tid, stream (-1: CPU), ts, dur, parent, kind (of hta.py's _KINDS)
    """

    def __init__(self, data: Any = None, **attributes: Any) -> None:
        super().__init__(data, **attributes)
        self.rank = -1
        self.node_list: list[CPNode] = []
        self.critical_path_nodes: list[int] = []
        self.critical_path_events_set: set[int] = set()
        self.critical_path_edges_set: set[CPEdge] = set()

    @classmethod
    def of_report(cls, rank: int, edges: Sequence[Mapping[str, Any]], events: pandas.DataFrame) -> CPGraph:
        """edges: rows of the table hta_edges of the report."""
        graph = cls()
        graph.rank, graph.trace_df = rank, events
        ends = {(edge[way], edge[way + "_end"]) for edge in edges for way in ("from", "to")}
        start, end = events["ts"].to_dict(), (events["ts"] + events["dur"]).to_dict()
        times = sorted(((end if is_end else start)[event], event, is_end) for event, is_end in ends)
        graph.node_list = [CPNode(idx, event, ts, not is_end) for idx, (ts, event, is_end) in enumerate(times)]
        graph._node_of = {(node.ev_idx, not node.is_start): node.idx for node in graph.node_list}
        graph.add_nodes_from(range(len(graph.node_list)))
        following = {}
        for edge in edges:
            begin, to = graph._node_of[edge["from"], edge["from_end"]], graph._node_of[edge["to"], edge["to_end"]]
            graph.add_edge(begin, to, weight=edge["weight"] / 1000, object=CPEdge(begin, to, edge["weight"] / 1000, CPEdgeType(edge["kind"])))
            if edge["on_path"]:
                following[begin] = to
        (node,) = following.keys() - following.values() or (None,)
        path = [] if node is None else [node]
        while path and path[-1] in following:
            path.append(following[path[-1]])
        graph._take_path(path)
        return graph

    def _take_path(self, path: list[int]) -> None:
        self.critical_path_nodes = path
        self.critical_path_events_set = {self.node_list[node].ev_idx for node in path}
        self.critical_path_edges_set = {self.edges[pair]["object"] for pair in zip(path, path[1:])}

    def critical_path(self) -> bool:
        """Finds the longest path again, after edges were added, removed or given another weight."""
        try:
            self._take_path(networkx.dag_longest_path(self, weight="weight"))
        except networkx.NetworkXUnfeasible:  # a cycle
            return False
        return True

    def get_nodes_for_event(self, ev_id: int) -> tuple[CPNode | None, CPNode | None]:
        """Its start and its end."""
        start, end = (self._node_of.get((ev_id, is_end)) for is_end in (False, True))
        return None if start is None else self.node_list[start], None if end is None else self.node_list[end]

    def get_events_for_edge(self, edge: CPEdge) -> tuple[int, int]:
        return self.node_list[edge.begin].ev_idx, self.node_list[edge.end].ev_idx

    def get_event_attribution_for_edge(self, edge: CPEdge) -> int | None:
        """The event in whose time an edge lies: between two events of a thread, the one around both. None: a delay of a launch, a dependency."""
        begin, end = self.node_list[edge.begin], self.node_list[edge.end]
        if edge.type is CPEdgeType.KERNEL_KERNEL_DELAY or edge.type is CPEdgeType.OPERATOR_KERNEL and begin.is_start:
            return begin.ev_idx
        if edge.type is not CPEdgeType.OPERATOR_KERNEL:
            return None
        return end.ev_idx if not end.is_start else int(self.trace_df["parent"][begin.ev_idx])

    def get_edges_attributed_to_event(self, ev_idx: int) -> list[CPEdge]:
        if not hasattr(self, "_edges_of"):
            self._edges_of: dict[int | None, list[CPEdge]] = defaultdict(list)
            for *_, edge in self.edges(data="object"):
                self._edges_of[self.get_event_attribution_for_edge(edge)].append(edge)
        return list(self._edges_of.get(ev_idx, []))

    def _bound_by(self, edge: CPEdge, event: int | None) -> str:
        if edge.type in _BOUND_BY or event is None:
            return _BOUND_BY.get(edge.type, "")
        if self.trace_df["stream"][event] < 0:
            return "cpu_bound"
        return "gpu_communication_bound" if self.trace_df["kind"][event] == "COMMUNICATION" else "gpu_compute_bound"

    def get_critical_path_breakdown(self) -> pandas.DataFrame | None:
        """A row for each edge of the path: its event, its duration (us), its type, and what it is bound by. None: there is no path."""
        import pandas

        if not self.critical_path_nodes:
            return None
        edges = [self.edges[pair]["object"] for pair in zip(self.critical_path_nodes, self.critical_path_nodes[1:])]
        events = [self.get_event_attribution_for_edge(edge) for edge in edges]
        frame = pandas.DataFrame({
            "event_idx": pandas.array(events, dtype="Int64"), "duration": [edge.weight for edge in edges],
            "type": [edge.type.value for edge in edges]})
        of_event = self.trace_df[["s_name", "cat", "pid", "tid", "stream"]].reindex([-1 if event is None else event for event in events])
        for name in of_event:
            frame[name] = of_event[name].array
        return frame.assign(index=frame["event_idx"], bound_by=[self._bound_by(*pair) for pair in zip(edges, events)])

    def summary(self) -> pandas.Series[float]:
        """Percent of the path by what it is bound by."""
        frame = self.get_critical_path_breakdown()
        if frame is None:
            raise ValueError("the graph has no critical path")
        return frame.groupby("bound_by")["duration"].sum() / frame["duration"].sum() * 100

    def show_critical_path(self) -> None:
        """Prints its nodes."""
        for node in self.critical_path_nodes:
            moment = self.node_list[node]
            print(f"{moment.ts:.3f} us  {'start' if moment.is_start else 'end'} of {self.trace_df['s_name'][moment.ev_idx]} ({moment.ev_idx})")
