"""XProf: what its tools trace_viewer, kernel_stats and overview_page make of an XPlane."""
import json
import os
import shutil
import sys
import tempfile

import adapter

TITLE = "XProf"
DOCUMENTED = "xprof.convert.raw_to_tool_data.xspace_to_tool_data(paths, tool): trace_viewer, kernel_stats"
CLAIMS = {"xplane": ("open", "counts")}


class Tool:
    def __init__(self, form, files):
        self.folder = tempfile.mkdtemp()
        os.makedirs(os.path.join(self.folder, "plugins/profile/run"))
        self.file = os.path.join(self.folder, "plugins/profile/run/host.xplane.pb")
        shutil.copy(files[0], self.file)

    def tool(self, name):
        from xprof.convert import raw_to_tool_data
        data, _ = raw_to_tool_data.xspace_to_tool_data([self.file], name, {})
        if not data:
            raise adapter.Refused(f"{name}: no data")
        return json.loads(data)

    def events(self):
        trace = self.tool("trace_viewer")["traceEvents"]
        process = {e["pid"]: e["args"]["name"] for e in trace if e.get("name") == "process_name"}
        lane = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e.get("name") == "thread_name"}
        return [e for e in trace if e.get("ph") == "X" and "/device:" in process.get(e["pid"], "") and lane.get((e["pid"], e["tid"]), "").startswith(("Stream", "XLA Ops"))]

    def open(self):
        if not self.events():
            raise adapter.Refused("no events of a device")
        return {"opens": 1}

    def counts(self):
        return {"activities": len(self.events()), "gpu_time_ns": round(sum(e["dur"] for e in self.events()) * 1000)}


if __name__ == "__main__":
    adapter.main(sys.modules[__name__])
