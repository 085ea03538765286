/* exposed_communication.c - collectives that no compute hides: on a stream of their own, or on that of compute */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"
#include "trace/event.h"
#include "trace/lazy.h"

static bool is_communication(const findings *f, uint32_t node, void *user)
{
    (void)user;
    return findings_is_of_class(f, node, GPU_COMMUNICATION);
}

/* How long communication runs on a device, waits of collectives included, and no compute. -1: no memory. */
static int64_t exposed_on(const findings *f, uint32_t d)
{
    const gpu_scope *s = &f->scope;
    const gpu_device *of = &s->devices[d];
    const gpu_spans *waits = f->gaps.waits.list ? &f->gaps.waits.list[d] : NULL;
    size_t count = waits ? waits->count : 0;
    gpu_span *list = hd_large_new(count + of->count + 1, sizeof *list, s->large);
    gpu_spans all;
    if (!list) return -1;
    if (count) memcpy(list, waits->list, count * sizeof *list);
    for (uint32_t i = 0; i < of->count; i++) {
        const gpu_work *work = &s->works[s->order[of->first + i]];
        if (work->class != GPU_COPY) list[count++] = (gpu_span){work->start, work->end};
    }
    if (!gpu_spans_union(&all, list, count, s->large)) return -1;
    int64_t covered = gpu_spans_covered(&all, f->from, f->until);
    gpu_spans_deinit(&all);
    return covered - findings_busy(f, d, 1u << GPU_COMPUTE);
}

/* The device on which most runs alone, and how long. false: no memory. */
static bool most_exposed(uint32_t *out, int64_t *out_ns, const findings *f)
{
    *out_ns = 0;
    for (uint32_t d = 0; d < f->scope.device_count; d++) {
        int64_t exposed = exposed_on(f, d);
        if (exposed < 0) return false;
        if (exposed <= *out_ns) continue;
        *out = d;
        *out_ns = exposed;
    }
    return true;
}

/* Half of the device's communication or more is on streams where compute runs, too. */
static bool is_on_compute_stream(const findings *f, uint32_t device)
{
    const gpu_scope *s = &f->scope;
    int64_t all = 0, shared = 0;
    for (uint32_t r = 0; r < s->row_count; r++) {
        int64_t sums[GPU_CLASSES] = {0};
        if (s->rows[r].device != device) continue;
        for (uint32_t i = 0; i < s->rows[r].count; i++) {
            const gpu_work *work = &s->works[s->by_row[s->rows[r].first + i]];
            sums[work->class] = gpu_sum(sums[work->class], gpu_duration(work));
        }
        all = gpu_sum(all, sums[GPU_COMMUNICATION]);
        if (sums[GPU_COMPUTE]) shared = gpu_sum(shared, sums[GPU_COMMUNICATION]);
    }
    return all && shared >= all - shared;
}

/* All communication; where collectives wait, even if their activities themselves take next to nothing. */
static hd_status gather(finding **out, findings *f, const finding_rule *rule, bool waits, hd_error *err)
{
    if (!waits) return findings_gather(out, f, rule, f->first_work, is_communication, NULL, err);
    *out = findings_add(f, rule);
    if (!*out) return HD_NOMEM(err);
    for (uint32_t n = f->first_work; n < f->graph->node_count; n++)
        if (is_communication(f, n, NULL) && !findings_claim(f, n, INT64_MAX)) return HD_NOMEM(err);
    if ((*out)->id_count) return HD_OK;
    findings_drop(f);
    *out = NULL;
    return HD_OK;
}

static hd_status find_with(findings *f, const finding_rule *rule, bool on_compute_stream, hd_error *err)
{
    finding *of;
    uint32_t device = HD_NONE;
    int64_t exposed;
    char amount[96], name[72];
    if (!most_exposed(&device, &exposed, f)) return HD_NOMEM(err);
    if (!findings_is_worth(f, exposed) || is_on_compute_stream(f, device) != on_compute_stream) return HD_OK;
    bool waits = f->gaps.waits.list && f->gaps.waits.list[device].count;
    HD_TRY(gather(&of, f, rule, waits, err));
    if (!of) return HD_OK;
    if (exposed < of->amount || waits) of->amount = exposed; /* other findings already have the rest */
    of->device = device;
    of->rank = f->scope.devices[device].rank;
    of->has_other_ranks = findings_lacks_ranks(f);
    if (waits)
        of->reason = of->has_other_ranks ? finding_other_ranks_reason
                                         : "waits of collectives are no activities, so what they delay is not known";
    of->needs_waits = !on_compute_stream;
    uint32_t longest = (uint32_t)hd_slice_column(f->scope.trace, (uint32_t)of->ids[0], HD_COL_NAME);
    hd_string kernel = longest == HD_STRING_NONE ? (hd_string){0} : hd_trace_string(f->scope.trace, longest);
    const char *collective = gpu_collective_names[gpu_collective_of(kernel)];
    snprintf(of->text, sizeof of->text, "Communication runs alone for %s%s; most of it %s%s.",
             findings_amount(amount, of), on_compute_stream ? ", on the stream of compute, which cannot hide it" : "",
             collective ? collective : findings_short(name, f->scope.trace, longest),
             of->has_other_ranks ? "; it includes waiting for other ranks" : "");
    return HD_OK;
}

static hd_status find_shared(findings *f, const finding_rule *rule, hd_error *err)
{
    return find_with(f, rule, true, err);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return find_with(f, rule, false, err);
}

const finding_rule finding_same_stream_communication = {
    .about.code = "same-stream-communication",
    .about.severity = "warning",
    .about.meaning = "collectives run on the stream of compute, which they cannot overlap",
    .about.advice =
        "Run collectives on a stream of their own (async_op=True, a process group per use), so that compute that does "
        "not need them goes on.",
    .plain_advice =
        "Communicate on a stream of its own, ordered by events, so that compute that does not need the data goes on.",
    .find = find_shared,
};

const finding_rule finding_exposed_communication = {
    .about.code = "exposed-communication",
    .about.severity = "warning",
    .about.meaning = "collectives that no compute hides",
    .about.advice = "First see who is late: heddle report stragglers RANKS. Then overlap more: DDP bucket_cap_mb, "
                    "gradient_as_bucket_view, FSDP prefetch; fewer and larger collectives; bf16 gradients.",
    .plain_advice =
        "First see who is late: heddle report stragglers RANKS. Then overlap more: start communication as soon as its "
        "data is ready, on a stream of its own, while the rest is computed; fewer and larger messages, smaller types.",
    .find = find,
};
