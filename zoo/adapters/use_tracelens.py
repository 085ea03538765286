"""TraceLens: its Python interface, as its docs have it."""
import sys

import adapter

TITLE = "TraceLens"
DOCUMENTED = "TreePerfAnalyzer.from_file(include_unlinked_kernels=True), get_df_gpu_timeline; JaxTreePerfAnalyzer for XPlane; NcclAnalyser.build_df_nccl_implicit_sync_cat: the rank that begins last in most rows, if by 50 µs"
CLAIMS = {"kineto": ("open", "counts", "gpu_busy", "exposed_communication"), "kineto-job": ("open", "findings"), "xplane": ("open", "gpu_busy", "exposed_communication")}


class Tool:
    def __init__(self, form, files):
        self.form, self.files, self.made = form, files, {}

    def analyzer(self, file=None):
        file = file or self.files[0]
        if file not in self.made:
            if self.form == "xplane":
                with open(file, "rb") as data:
                    if b"/device:GPU" not in data.read():
                        raise adapter.NotClaimed("its JAX reports are of GPUs")
                from TraceLens import JaxTreePerfAnalyzer
                self.made[file] = JaxTreePerfAnalyzer.from_file(profile_filepath=file)
            else:
                from TraceLens import TreePerfAnalyzer
                self.made[file] = TreePerfAnalyzer.from_file(file, include_unlinked_kernels=True)
        return self.made[file]

    def open(self):
        for file in self.files:
            self.analyzer(file)
        return {"opens": len(self.files)}

    def counts(self):
        by = {}
        for event in self.analyzer().tree.events:
            if event.get("ph") == "X":
                by[event.get("cat", "").lower()] = by.get(event.get("cat", "").lower(), 0) + 1
        return {"kernels": by.get("kernel", 0), "copies": by.get("gpu_memcpy", 0) + by.get("memcpy", 0), "memsets": by.get("gpu_memset", 0) + by.get("memset", 0),
                "calls": sum(n for c, n in by.items() if "runtime" in c), "slices": sum(by.values())}

    def timeline(self, word, of_jax="all"):
        rows = self.analyzer().get_df_gpu_timeline()
        got = rows[rows["type"] == word]["time ms"]
        if got.empty:
            raise adapter.Refused(f"no row {word}")
        return {of_jax if self.form == "xplane" else "any": 1e6 * float(got.sum())}  # JAX: a row for each GPU

    def gpu_busy(self):
        return self.timeline("busy_time")

    def exposed_communication(self):
        return self.timeline("exposed_comm_time", "kernels_all")  # JAX: a memset is a copy

    def findings(self):
        """The rank whose collectives begin last: skew in its table of implicit synchronisation."""
        from TraceLens import NcclAnalyser
        table = NcclAnalyser(self.files, len(self.files)).build_df_nccl_implicit_sync_cat(detailed=True, strict_metadata_check=False)
        starts = [c for c in table.columns if c.startswith("rank_") and c.endswith("_ts")]
        if not starts:
            raise adapter.Refused("its table has no starts by rank")
        last = table[starts].astype(float).idxmax(axis=1).value_counts()
        share = last.iloc[0] / len(table)
        skew = next((float(table[c].mean()) for c in table.columns if c.startswith("skew in start time")), None)
        return {"straggler": int(last.index[0].split("_")[1]) if share > 0.6 and (skew is None or skew > 50) else None}


if __name__ == "__main__":
    adapter.main(sys.modules[__name__])


