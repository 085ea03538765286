/* host_bound.c - the host sets the pace: its time on the critical path that no other rule claims */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/sorted.h"
#include "report/findings/finding.h"

/* By stretch of the path that the finding has, the outermost operator around it, or where there is none the innermost
 * range; sums by name, the largest of which is named. */
typedef struct namer {
    const findings *f;
    const gpu_slices *slices;
    const int64_t *lengths; /* by place */
    int64_t *sums;          /* by string */
    uint8_t *names;         /* by string: NAME_… */
    uint32_t best;
} namer;

enum { NAME_NEW, NAME_STEP, NAME_OPERATOR, NAME_RANGE };

/* What a name is of, found once for each. */
static unsigned name_of(const namer *n, uint32_t string)
{
    if (string == HD_STRING_NONE) return NAME_RANGE;
    if (n->names[string] == NAME_NEW) {
        hd_string text = hd_trace_string(n->f->scope.trace, string);
        n->names[string] = findings_begins(text, "ProfilerStep#") ? NAME_STEP
                           : hd_string_holds(text, "::")          ? NAME_OPERATOR
                                                                  : NAME_RANGE;
    }
    return n->names[string];
}

static hd_status add_name(void *user, uint32_t id, const uint32_t *around, size_t count, hd_error *err)
{
    namer *n = user;
    uint32_t name = HD_STRING_NONE;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        uint32_t found = n->slices->list[around[i]].name;
        unsigned of = name_of(n, found);
        if (of == NAME_STEP) continue;
        name = found;
        if (of == NAME_OPERATOR) break; /* those in it are parts of it */
    }
    if (name == HD_STRING_NONE) return HD_OK;
    n->sums[name] += n->lengths[id];
    if (n->best == HD_STRING_NONE || n->sums[name] > n->sums[n->best]) n->best = name;
    return HD_OK;
}

static int by_place(const void *a, const void *b)
{
    const gpu_place *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

static hd_status name_most(uint32_t *out, int64_t *out_ns, char out_line[96], const findings *f, hd_error *err)
{
    gpu_slices slices = {0};
    size_t count = 0, size = 0;
    for (uint32_t n = 0; n < f->first_work; n++) size += findings_left_on_path(f, n) > 0;
    gpu_place *places = hd_large_new(size + 1, sizeof *places, f->scope.large);
    int64_t *lengths = hd_large_new(size + 1, sizeof *lengths, f->scope.large);
    int64_t *sums = calloc(hd_trace_string_count(f->scope.trace) + 1, sizeof *sums);
    uint8_t *names = calloc(hd_trace_string_count(f->scope.trace) + 1, sizeof *names);
    hd_status status = places && lengths && sums && names ? HD_OK : HD_NOMEM(err);
    for (uint32_t n = f->first_work; status == HD_OK && n-- > 0;) {
        int64_t path = findings_left_on_path(f, n);
        if (path <= 0) continue;
        lengths[count] = path;
        places[count] = (gpu_place){f->graph->starts[n], hd_graph_lane_of(f->graph, n)->track, (uint32_t)count};
        count++;
    }
    if (status == HD_OK) {
        hd_sort(places, count, sizeof *places, by_place);
        status = gpu_slices_around(&slices, &f->scope, 1u << HD_ROLE_OP | 1u << HD_ROLE_ANNOTATION, places, count, err);
    }
    namer n = {.f = f, .slices = &slices, .lengths = lengths, .sums = sums, .names = names, .best = HD_STRING_NONE};
    if (status == HD_OK) status = gpu_around(&slices, places, count, add_name, &n, err);
    *out = status == HD_OK ? n.best : HD_STRING_NONE;
    *out_ns = *out == HD_STRING_NONE ? 0 : sums[*out];
    gpu_slices_deinit(&slices);
    if (status == HD_OK) status = findings_line(out_line, f, places, lengths, count, err);
    hd_large_free(places);
    hd_large_free(lengths);
    free(sums);
    free(names);
    return status;
}

/* How long a device does nothing until the host launches, within the whole: before its first activity as well. */
static int64_t waited_for_host(const findings *f, uint32_t device)
{
    const int64_t begins = f->scope.devices[device].start;
    int64_t sum = begins > f->from ? findings_time(f, f->from, begins) : 0;
    for (size_t i = f->gaps.first[device]; i < f->gaps.first[device + 1]; i++) {
        const gpu_gap *gap = &f->gaps.list[i];
        if (gap->cause != GPU_CAUSE_HOST && gap->cause != GPU_CAUSE_SYNC && gap->cause != GPU_CAUSE_LAUNCH) continue;
        int64_t start = gap->start > f->from ? gap->start : f->from, end = gap->end < f->until ? gap->end : f->until;
        if (end > start) sum += end - start;
    }
    return sum;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    uint32_t name;
    int64_t most;
    char amount[96], text[72], length[HD_VALUE_TEXT_BYTES], where[160] = "", of_line[96];
    int64_t idle = 0, path = 0;
    uint32_t device = HD_NONE;
    for (uint32_t d = 0; d < f->scope.device_count; d++) {
        int64_t waited = waited_for_host(f, d);
        if (waited <= idle) continue;
        idle = waited;
        device = d;
    }
    for (uint32_t n = 0; n < f->first_work; n++) path += findings_left_on_path(f, n);
    if (!findings_is_worth(f, idle < path ? idle : path)) return HD_OK;
    if (!findings_add(f, rule)) return HD_NOMEM(err);
    of = &f->list[f->count - 1];
    of->takes_rest = true; /* the last rule that claims */
    of->path = path;
    for (uint32_t n = 0; n < f->first_work; n++) {
        int64_t left = findings_left(f, n);
        of->events += left > 0;
        if (left > 0 && f->graph->slices[n] != HD_NONE) findings_show(f, f->graph->slices[n], left);
    }
    of->device = device;
    of->rank = f->scope.devices[device].rank;
    of->amount = idle < of->path ? idle : of->path;
    HD_TRY(name_most(&name, &most, of_line, f, err));
    of = &f->list[f->count - 1];
    of->is_of_host = true;
    if (name != HD_STRING_NONE)
        snprintf(where, sizeof where, "; the largest part of its time%s%s%s is in %s", most <= of->amount ? ", " : "",
                 most <= of->amount ? hd_text_duration(length, most) : "", most <= of->amount ? "," : "",
                 findings_short(text, f->scope.trace, name));
    snprintf(of->text, sizeof of->text,
             "The host sets the pace: for %s the %s has nothing to do until it launches%s%s.",
             findings_amount(amount, of), f->device_kind, where, of_line);
    return HD_OK;
}

const finding_rule finding_host_bound = {
    .about.code = "host-bound",
    .about.severity = "warning",
    .about.meaning = "the host sets the pace, and the GPU waits for its launches",
    .about.advice =
        "Give the host less to do for each launch: torch.compile or CUDA graphs, larger batches, fused optimizers "
        "(fused=True), zero_grad(set_to_none=True). heddle report idle names what it did in each gap.",
    .plain_advice = "Let the host run ahead: launch the next kernels before it does work of its own, do that work on "
                    "other threads or on the GPU, launch loops as CUDA or HIP graphs; in JAX jit the whole step. "
                    "heddle report idle names what the host did in each gap.",
    .find = find,
};
