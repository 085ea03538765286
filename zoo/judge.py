"""Verdicts: an answer of a tool held against the truth."""

RIGHT, WRONG, LOST, SAID, REFUSED, CRASHED, NOT_CLAIMED = "right", "wrong", "lost silently", "less, and says so", "refused", "crashed", "not claimed"
BAD = (WRONG, LOST, CRASHED)
VERDICTS = (RIGHT, SAID, REFUSED, WRONG, LOST, CRASHED, NOT_CLAIMED)
SHARE = 0.001  # times may differ by this much: many tools print whole µs, or have doubles
FEW_NS = 1000
READINGS = {"all", "any", "kernels", "kernels_all"}  # of one question: zoo/traces/model.py readings(), and the sum over devices


def truth_of(question, truth):
    """The keys that an answer to the question may have."""
    facts = truth.get(question)
    if question == "open":
        return {"opens": len(truth["files"])}
    if question == "counts":
        facts = dict(facts)
        for key in ("slice_ns", "slice_named", "gpu_time_ns"):
            if truth.get(key) is not None:
                facts[key] = truth[key]
        if "slices" in facts:
            facts["slices_and_instants"] = facts["slices"] + facts.get("instants", 0)
        if "kernels" in facts and "copies" in facts:
            facts["activities"] = facts["kernels"] + facts["copies"] + facts["memsets"]
            facts["memory_operations"] = facts["copies"] + facts["memsets"]
    if question in ("gpu_busy", "exposed_communication"):
        facts = {**facts, "all": sum(facts.values()), **(truth["readings"][question] if truth["format"] != "kineto-job" else {})}
    if question == "steps":
        facts = {"steps": facts, "durations": sorted(d for _, d in facts), "count": len(facts)}
    return facts


def equal(key, got, right, few=FEW_NS):
    if isinstance(right, dict):
        return isinstance(got, dict) and all(equal(key, got.get(k, 0), v, few) for k, v in right.items())
    if isinstance(right, list):
        return isinstance(got, list) and len(got) == len(right) and all(equal(key, a, b, few) for a, b in zip(got, right))
    if isinstance(right, (int, float)) and isinstance(got, (int, float)) and not isinstance(right, bool):
        exact = isinstance(right, int) and not (key.endswith("_ns") or key in ("busy", "durations", "weight", "steps", "changed", "slice_named"))
        return got == right if exact else abs(got - right) <= max(few, SHARE * abs(right))
    return got == right


def difference(key, got, right):
    if isinstance(right, (int, float)) and isinstance(got, (int, float)) and right:
        return f"{key} {got:,.6g} instead of {right:,.6g} ({100 * (got - right) / right:+.3g} %)"
    return f"{key} {str(got)[:120]} instead of {str(right)[:120]}"


def of_findings(truth, answer):
    facts = truth["findings"]
    if facts.get("culprit") and "culprits" in answer:
        wanted = {facts["culprit"], *EQUAL_CAUSES.get(facts["culprit"], ())}
        if not answer["culprits"]:
            return LOST, f"names no cause; it is {facts['culprit']}"
        place = next((i for i, c in enumerate(answer["culprits"], 1) if c in wanted), None)
        return (RIGHT, "" if place == 1 else f"named as number {place}") if place and place <= 3 else (WRONG, f"names {', '.join(answer['culprits'][:3])}; it is {facts['culprit']}")
    if "straggler" in answer:
        return (RIGHT, "") if answer["straggler"] == facts["straggler"] else (WRONG, f"rank {answer['straggler']} instead of {facts['straggler']}")
    return NOT_CLAIMED, ""


# Where two names mean one thing to do.
EQUAL_CAUSES = {"launch-bound": ("host-bound", "small-kernels"), "pageable-copy": ("sync-copy", "exposed-copy"), "gpu-bound": ("kernel-hotspot",), "sync-item": ("sync-call",)}


def verdict(question, truth, got):
    """(verdict, what differs)"""
    if "crashed" in got:
        return CRASHED, got["crashed"]
    if "refused" in got:
        return REFUSED, got["refused"]
    if "not claimed" in got:
        return NOT_CLAIMED, got["not claimed"] or ""
    answer, said = dict(got["answer"]), got.get("said")
    few = max(FEW_NS, answer.pop("printed_to_ns", 0))
    if question == "findings":
        return of_findings(truth, answer)
    facts = truth_of(question, truth)
    if question in ("gpu_busy", "exposed_communication"):
        shared = [k for k in facts if k in answer] if READINGS & set(answer) else [k for k in facts if k not in READINGS]
        facts_of, answer = (lambda k: float(facts[k])), {k: v for k, v in answer.items() if v is not None}
    else:
        shared, facts_of = [k for k in facts if k in answer and facts[k] is not None], facts.get
    if question in ("gpu_busy", "exposed_communication"):
        wrong = [k for k in shared if not (isinstance(answer.get(k, 0), (int, float)) and abs(answer.get(k, 0) - facts_of(k)) <= max(few, SHARE * facts_of(k)))]
        wrong += [k for k in answer if k not in facts and answer[k]]
    else:
        wrong = [k for k in shared if not equal(k, answer[k], facts_of(k), few)]
    if question == "diff":
        wrong += [k for k in answer.get("changed", {}) if k not in facts["changed"] and abs(answer["changed"][k]) > 20_000]
    if not shared:
        return NOT_CLAIMED, "none of the figures"
    if not wrong:
        return RIGHT, ""
    details = "; ".join(difference(k, answer.get(k, 0), facts.get(k)) for k in wrong)
    if said:
        return SAID, f"{details}; it says: {said}"
    less = all(isinstance(facts.get(k), (int, float)) and isinstance(answer.get(k, 0), (int, float)) and answer.get(k, 0) < facts[k] for k in wrong)
    return (LOST if less and question in ("open", "counts", "launches", "gpu_busy") else WRONG), details
