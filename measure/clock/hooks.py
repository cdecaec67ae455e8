"""Remove tracing hooks: profile and trace functions, and events of sys.monitoring."""

import sys
import threading

MONITORING = getattr(sys, "monitoring", None)  # new in Python 3.12
TOOLS = range(6)  # identifiers of sys.monitoring's tools


def monitoring_tools() -> list[tuple[str | None, int]]:
    """Return the name and the events of each tool of sys.monitoring; [] before Python 3.12."""
    if MONITORING is None:
        return []
    names = [MONITORING.get_tool(tool) for tool in TOOLS]
    return [
        (name, name and MONITORING.get_events(tool))
        for tool, name in zip(TOOLS, names, strict=True)
    ]


def clear() -> None:
    """Remove profile and trace functions, and the events of monitoring tools.

    Otherwise a variant could set one in one call and remove it in its next, so that only the
    baseline's calls in between would be slow.
    """
    sys.setprofile(None)
    sys.settrace(None)
    threading.setprofile(None)
    threading.settrace(None)
    for tool in TOOLS if MONITORING else ():
        if MONITORING.get_tool(tool):
            MONITORING.set_events(tool, MONITORING.events.NO_EVENTS)
