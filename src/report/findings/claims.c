/* claims.c - assigns the time of each node to the first rule that claims it */
#include "report/findings/finding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "trace/event.h"
#include "trace/lazy.h"

static finding *last_of(findings *f)
{
    return &f->list[f->count - 1];
}

finding *findings_add(findings *f, const finding_rule *rule)
{
    if (!hd_grow((void **)&f->list, &f->capacity, f->count, sizeof *f->list)) return NULL;
    const gpu_scope *s = &f->scope;
    int64_t rank = s->device_count ? s->devices[0].rank : HD_NO_NUMBER;
    for (uint32_t d = 1; d < s->device_count; d++)
        if (s->devices[d].rank != rank) rank = HD_NO_NUMBER;
    f->list[f->count] = (finding){
        .rule = rule,
        .rank = rank,
        .device = s->device_count == 1 ? 0 : HD_NONE,
        .step = HD_NONE,
        .amount = HD_NO_TIME,
        .whole = findings_whole(f),
        .saves = HD_NO_TIME,
        .then = HD_NO_TIME,
        .device_needs = HD_NO_TIME,
    };
    return &f->list[f->count++];
}

/* Claims so much of a node, and of its time on the path. */
static void take(findings *f, uint32_t node, int64_t ns, int64_t path)
{
    if (f->claimed[node] == FINDINGS_LONG)
        *findings_long_claimed(f, node) += ns;
    else
        f->claimed[node] = (uint32_t)(f->claimed[node] + ns);
    if (path) *findings_path_at(f, node) -= path;
}

void findings_drop(findings *f)
{
    f->count--;
    for (; f->claim_count && f->claims[f->claim_count - 1].of == f->count; f->claim_count--) {
        const finding_claim *c = &f->claims[f->claim_count - 1];
        if (c->ns != HD_NO_TIME) take(f, c->node, -c->ns, -c->path);
    }
}

static bool add_claim(findings *f, finding_claim claim)
{
    if (!hd_large_grow((void **)&f->claims, &f->claim_capacity, f->claim_count, sizeof *f->claims, f->scope.large))
        return false;
    f->claims[f->claim_count++] = claim;
    return true;
}

static bool claim_quietly(findings *f, uint32_t node, int64_t most)
{
    int64_t left = findings_left(f, node), ns = left < most ? left : most;
    if (ns <= 0) return true;
    int64_t path = findings_on_path(f, node);
    if (path > ns) path = ns;
    take(f, node, ns, path);
    finding *of = last_of(f);
    of->path += path;
    return add_claim(f, (finding_claim){node, f->count - 1, ns, path});
}

bool findings_claim(findings *f, uint32_t node, int64_t most)
{
    size_t count = f->claim_count;
    if (!claim_quietly(f, node, most)) return false;
    if (f->claim_count == count) return true;
    last_of(f)->events++;
    if (f->graph->slices[node] != HD_NONE) findings_show(f, f->graph->slices[node], f->claims[count].ns);
    return true;
}

void findings_scale(findings *f, double part)
{
    finding *of = last_of(f);
    of->path = 0;
    for (size_t i = f->claim_count; i-- > 0 && f->claims[i].of + 1 == f->count;) {
        finding_claim *c = &f->claims[i];
        int64_t ns = c->ns == HD_NO_TIME ? HD_NO_TIME : (int64_t)((double)c->ns * part);
        int64_t path = c->path < ns ? c->path : ns;
        if (ns == HD_NO_TIME) continue;
        take(f, c->node, ns - c->ns, path - c->path);
        c->ns = ns;
        c->path = path;
        of->path += path;
    }
}

/* The last finding frees a call that waits, and has its own time as well, which no other has then. false: no memory. */
static bool free_sync(findings *f, uint32_t sync)
{
    const gpu_slice *call = &f->gaps.syncs.list[sync];
    const hd_graph *g = f->graph;
    uint64_t events = last_of(f)->events;
    if (f->sync_is_taken[sync] || call->end <= f->from || call->start >= f->until) return true;
    for (uint32_t l = 0; l < g->lane_count && !g->lanes[l].is_queue; l++) {
        if (g->lanes[l].track != call->lane) continue;
        uint32_t last = g->lanes[l].first_node + g->lanes[l].node_count;
        uint32_t node = hd_graph_node_at(g, &g->lanes[l], call->start);
        /* The node behind the wait begins in the call, or is the last that ended before. */
        for (node = node == HD_NONE ? g->lanes[l].first_node : node; node < last && g->starts[node] <= call->end;
             node++)
            if (g->slices[node] == call->row && !(add_claim(f, (finding_claim){node, f->count - 1, HD_NO_TIME, 0}) &&
                                                  findings_claim(f, node, INT64_MAX)))
                return false;
    }
    f->sync_is_taken[sync] = 1;
    last_of(f)->frees_waits = true;
    last_of(f)->events = events + 1; /* count a call once, whatever the number of its nodes */
    return findings_show(f, call->row, call->end - call->start);
}

bool findings_free_queue(findings *f, uint32_t node)
{
    last_of(f)->frees_queues = true;
    last_of(f)->events++;
    findings_show(f, f->graph->slices[node], f->graph->ends[node] - f->graph->starts[node]);
    return add_claim(f, (finding_claim){node, f->count - 1, HD_NO_TIME, 0});
}

/* Whether a slice is better evidence than another: the longer one; of equal lengths by their times, so that their order
 * in the file does not matter. */
static bool shows_more(const findings *f, int64_t row, int64_t length, int64_t other, int64_t other_length)
{
    if (length != other_length) return length > other_length;
    const hd_trace *trace = f->scope.trace;
    int64_t x = hd_slice_column(trace, (uint32_t)row, HD_COL_START),
            y = hd_slice_column(trace, (uint32_t)other, HD_COL_START);
    if (x != y) return x < y;
    return hd_slice_column(trace, (uint32_t)row, HD_COL_DURATION) >
           hd_slice_column(trace, (uint32_t)other, HD_COL_DURATION);
}

bool findings_show(findings *f, int64_t row, int64_t length)
{
    finding *of = last_of(f);
    uint32_t at = 0;
    if (of->id_count == FINDING_EVIDENCE && length < of->lengths[FINDING_EVIDENCE - 1]) return true;
    while (at < of->id_count && of->ids[at] != row) at++;
    if (at < of->id_count && of->lengths[at] >= length) return true;
    for (of->id_count -= at < of->id_count; at < of->id_count; at++) { /* it is there, but shorter: out with it */
        of->ids[at] = of->ids[at + 1];
        of->lengths[at] = of->lengths[at + 1];
    }
    while (at && shows_more(f, row, length, of->ids[at - 1], of->lengths[at - 1])) at--;
    if (at == FINDING_EVIDENCE) return true;
    if (of->id_count < FINDING_EVIDENCE) of->id_count++;
    for (uint32_t i = of->id_count - 1; i > at; i--) {
        of->ids[i] = of->ids[i - 1];
        of->lengths[i] = of->lengths[i - 1];
    }
    of->ids[at] = row;
    of->lengths[at] = length;
    return true;
}

/* ---- sums ---- */

size_t findings_first_claim(const findings *f, uint32_t of)
{
    size_t low = 0, high = f->claim_count;
    HD_PARTITION_POINT(low, high, at, f->claims[at].of < of);
    return low;
}

/* How much of the whole at least one of the spans covers; takes the list. -1: no memory. */
static int64_t covered_time(const findings *f, gpu_span *list, size_t count)
{
    gpu_spans spans;
    if (!list || !gpu_spans_union(&spans, list, count, f->scope.large)) return -1;
    int64_t covered = gpu_spans_covered(&spans, f->from, f->until);
    gpu_spans_deinit(&spans);
    return covered;
}

/* Appends a span, or makes the last one longer: nodes of a thread follow one another. */
static size_t add_span(gpu_span *list, size_t count, int64_t start, int64_t end)
{
    gpu_span *last = count ? &list[count - 1] : NULL;
    if (!last || start < last->start || start > last->end) {
        list[count++] = (gpu_span){start, end};
    } else if (end > last->end) {
        last->end = end;
    }
    return count;
}

int64_t findings_claimed_time(const findings *f, uint32_t of)
{
    const int64_t *starts = f->graph->starts;
    size_t first = findings_first_claim(f, of), count = 0;
    uint32_t rest = f->list[of].takes_rest ? f->first_work : 0;
    gpu_span *list = hd_large_new(f->claim_count - first + rest + 1, sizeof *list, f->scope.large);
    for (size_t i = first; list && i < f->claim_count && f->claims[i].of == of; i++) {
        const finding_claim *c = &f->claims[i];
        if (c->ns != HD_NO_TIME) count = add_span(list, count, starts[c->node], starts[c->node] + c->ns);
    }
    for (uint32_t n = 0; list && n < rest; n++) {
        int64_t left = findings_left(f, n);
        if (left > 0) count = add_span(list, count, starts[n], starts[n] + left);
    }
    return covered_time(f, list, count);
}

/* The device of which most that the last finding claims is; HD_NONE. */
static uint32_t claimed_device(const findings *f)
{
    uint32_t best = HD_NONE;
    int64_t *sums = calloc((size_t)f->scope.device_count + 1, sizeof *sums);
    for (size_t i = findings_first_claim(f, f->count - 1); sums && i < f->claim_count; i++) {
        const finding_claim *c = &f->claims[i];
        if (c->ns == HD_NO_TIME || !findings_is_work(f, c->node)) continue;
        uint32_t device = findings_work(f, c->node)->device;
        if (device == HD_NONE) continue;
        sums[device] = gpu_sum(sums[device], c->ns);
        if (best == HD_NONE || sums[device] > sums[best]) best = device;
    }
    free(sums);
    return best;
}

/* ---- whole findings ---- */

hd_status findings_keep(finding **out, findings *f, hd_error *err)
{
    const finding_rule *rule = last_of(f)->rule;
    *out = NULL;
    bool is_enough = !rule->least_part || last_of(f)->path >= findings_whole(f) / rule->least_part;
    int64_t time = is_enough ? findings_claimed_time(f, f->count - 1) : 0;
    if (time < 0) return HD_NOMEM(err);
    if (!findings_is_worth(f, time)) {
        findings_drop(f);
        return HD_OK;
    }
    *out = last_of(f);
    (*out)->amount = time;
    uint32_t device = claimed_device(f);
    if (device != HD_NONE) (*out)->device = device;
    if (device != HD_NONE) (*out)->rank = f->scope.devices[device].rank;
    return HD_OK;
}

hd_status findings_gather(finding **out, findings *f, const finding_rule *rule, uint32_t first, findings_is_one *is_one,
                          void *user, hd_error *err)
{
    *out = NULL;
    if (!findings_add(f, rule)) return HD_NOMEM(err);
    for (uint32_t n = first; n < f->graph->node_count; n++)
        if (is_one(f, n, user) && findings_left(f, n) > 0 && !findings_claim(f, n, INT64_MAX)) return HD_NOMEM(err);
    return findings_keep(out, f, err);
}

typedef struct named {
    bool (*is_one)(const findings *f, uint32_t node);
    const uint8_t *names; /* by string */
} named;

static bool is_named(const findings *f, uint32_t node, void *user)
{
    const named *n = user;
    if (!n->is_one(f, node)) return false;
    uint32_t name = findings_name(f, node);
    return name != HD_STRING_NONE && n->names[name];
}

/* Of names that some of these slices have. */
static uint8_t *choose_names(bool *out_any, const findings *f, findings_is_name *is_name, unsigned of)
{
    const hd_trace *trace = f->scope.trace;
    uint32_t count = hd_trace_string_count(trace);
    uint8_t *names = calloc((size_t)count + 1, 1);
    *out_any = false;
    for (uint32_t i = 0; names && i < count; i++) {
        names[i] = (f->names[i] & of) && is_name(hd_trace_string(trace, i));
        *out_any |= names[i];
    }
    return names;
}

hd_status findings_gather_named(finding **out, findings *f, const finding_rule *rule,
                                bool (*is_one)(const findings *f, uint32_t node), findings_is_name *is_name,
                                hd_error *err)
{
    bool any;
    uint8_t *names = choose_names(&any, f, is_name, FINDINGS_OF_WORK);
    *out = NULL;
    hd_status status = !names ? HD_NOMEM(err)
                       : any  ? findings_gather(out, f, rule, f->first_work, is_named, &(named){is_one, names}, err)
                              : HD_OK;
    free(names);
    return status;
}

/* ---- what threads do within slices of some names ---- */

uint8_t *findings_choose_names(bool *out_any, const findings *f, findings_is_name *is_name)
{
    return choose_names(out_any, f, is_name, FINDINGS_OF_WORK | FINDINGS_OF_OTHERS);
}

static const hd_graph_lane *lane_of_track(const hd_graph *g, uint32_t track)
{
    for (uint32_t l = 0; l < g->lane_count && !g->lanes[l].is_queue; l++)
        if (g->lanes[l].track == track) return &g->lanes[l];
    return NULL;
}

/* The part of the slice that no earlier slice covered, within the whole. */
static bool claim_slice(findings *f, const hd_graph_lane *lane, const gpu_slice *slice, int64_t from)
{
    const hd_graph *g = f->graph;
    uint32_t node = hd_graph_node_at(g, lane, from), last = lane->first_node + lane->node_count;
    size_t claims = f->claim_count;
    bool fine = true;
    for (node = node == HD_NONE ? lane->first_node : node; fine && node < last && g->starts[node] < slice->end;
         node++) {
        int64_t start = g->starts[node] > from ? g->starts[node] : from;
        int64_t end = g->ends[node] < slice->end ? g->ends[node] : slice->end;
        if (end > start) fine = claim_quietly(f, node, end - start);
    }
    if (f->claim_count == claims) return fine; /* all of it is another's */
    last_of(f)->events++;
    return findings_show(f, slice->row, slice->end - slice->start) && fine;
}

hd_status findings_gather_within(finding **out, findings *f, const finding_rule *rule, findings_is_name *is_name,
                                 hd_error *err)
{
    static const unsigned roles = 1u << HD_ROLE_OTHER | 1u << HD_ROLE_OP | 1u << HD_ROLE_PYTHON |
                                  1u << HD_ROLE_ANNOTATION | 1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER;
    bool any;
    gpu_slices slices = {0};
    gpu_reach reach = {.lane = HD_NONE};
    uint8_t *names = choose_names(&any, f, is_name, FINDINGS_OF_OTHERS);
    *out = NULL;
    hd_status status = names ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && any) status = gpu_slices_named(&slices, &f->scope, roles, names, err);
    free(names);
    if (status == HD_OK && slices.count && !findings_add(f, rule)) status = HD_NOMEM(err);
    const hd_graph_lane *lane = NULL;
    for (size_t i = 0; status == HD_OK && i < slices.count; i++) {
        const gpu_slice *slice = &slices.list[i];
        if (!lane || lane->track != slice->lane) lane = lane_of_track(f->graph, slice->lane);
        int64_t from = gpu_reach_add(&reach, slice->lane, slice->start, slice->end);
        if (!lane || from >= slice->end || slice->end <= f->from || slice->start >= f->until) continue;
        if (!claim_slice(f, lane, slice, from)) status = HD_NOMEM(err);
    }
    if (status == HD_OK && slices.count) status = findings_keep(out, f, err);
    gpu_slices_deinit(&slices);
    return status;
}

hd_status findings_find_named(findings *f, const finding_rule *rule, findings_is_name *is_name, const char *what,
                              const char *unit, hd_error *err)
{
    char name[72], amount[96];
    finding *of;
    HD_TRY(findings_gather_within(&of, f, rule, is_name, err));
    if (!of) return HD_OK;
    of->is_of_host = true;
    snprintf(of->text, sizeof of->text, "%s for %s: %s, %llu %s.", what, findings_amount(amount, of),
             findings_longest(name, f, of), (unsigned long long)of->events, unit);
    return HD_OK;
}

/* ---- calls that wait ---- */

/* How long at least one of these calls runs, or, with `claims`, any claimed activity of the last finding. */
static int64_t freed_time(const findings *f, const uint32_t *syncs, size_t size, bool claims)
{
    size_t first = claims ? findings_first_claim(f, f->count - 1) : f->claim_count, count = 0;
    gpu_span *list = hd_large_new(size + f->claim_count - first + 1, sizeof *list, f->scope.large);
    for (size_t i = 0; list && i < size; i++)
        count = add_span(list, count, f->gaps.syncs.list[syncs[i]].start, f->gaps.syncs.list[syncs[i]].end);
    for (size_t i = first; list && i < f->claim_count; i++) {
        uint32_t node = f->claims[i].node;
        count = add_span(list, count, f->graph->starts[node], f->graph->ends[node]);
    }
    return covered_time(f, list, count);
}

/* Frees them; the finding stays if they are worth it. */
static hd_status free_syncs(finding **out, findings *f, const uint32_t *syncs, size_t count, hd_error *err)
{
    int64_t time = freed_time(f, syncs, count, false), most = freed_time(f, syncs, count, true);
    *out = NULL;
    if (time < 0 || most < 0) return HD_NOMEM(err);
    if (!findings_is_worth(f, time)) {
        findings_drop(f);
        return HD_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (!free_sync(f, syncs[i])) return HD_NOMEM(err);
    *out = last_of(f);
    (*out)->amount = time;
    (*out)->freed = most;
    return HD_OK;
}

hd_status findings_gather_syncs(finding **out, findings *f, const finding_rule *rule,
                                bool (*is_one)(const findings *f, uint32_t sync), hd_error *err)
{
    size_t count = 0;
    uint32_t *syncs = hd_large_new(f->gaps.syncs.count + 1, sizeof *syncs, f->scope.large);
    hd_status status = syncs && findings_add(f, rule) ? HD_OK : HD_NOMEM(err);
    for (uint32_t i = 0; status == HD_OK && i < f->gaps.syncs.count; i++)
        if (!f->sync_is_taken[i] && is_one(f, i)) syncs[count++] = i;
    if (status == HD_OK) status = free_syncs(out, f, syncs, count, err);
    hd_large_free(syncs);
    return status;
}

hd_status findings_find_copies(findings *f, const finding_rule *rule,
                               bool (*is_one)(const findings *f, const hd_work *work), const char *what, hd_error *err)
{
    char name[72], amount[96];
    finding *of = NULL;
    const hd_launches *l = f->scope.launches;
    size_t count = 0;
    uint32_t *syncs = hd_large_new(f->gaps.syncs.count + 1, sizeof *syncs, f->scope.large);
    hd_status status = syncs && findings_add(f, rule) ? HD_OK : HD_NOMEM(err);
    uint32_t last = HD_NONE;
    for (uint32_t n = f->first_work; status == HD_OK && n < f->graph->node_count; n++) {
        const hd_work *work = &l->works[f->works[n - f->first_work]];
        if (work->launch == HD_NONE || !is_one(f, work)) continue;
        uint32_t sync = findings_sync_of(f, l->launches[work->launch].row);
        if (sync == HD_NONE || f->sync_is_taken[sync]) continue;
        if (sync != last && count < f->gaps.syncs.count) syncs[count++] = last = sync;
        if (!findings_claim(f, n, INT64_MAX)) status = HD_NOMEM(err);
    }
    uint32_t device = status == HD_OK ? claimed_device(f) : HD_NONE;
    if (status == HD_OK) status = free_syncs(&of, f, syncs, count, err);
    hd_large_free(syncs);
    if (status != HD_OK || !of) return status;
    if (device != HD_NONE) of->device = device;
    snprintf(of->text, sizeof of->text, "%s for %s: %s.", what, findings_amount(amount, of),
             findings_longest(name, f, of));
    return HD_OK;
}

const char *findings_amount(char out[96], const finding *of)
{
    char amount[HD_VALUE_TEXT_BYTES], whole[HD_VALUE_TEXT_BYTES];
    snprintf(out, 96, "%s of %s (%.1f %%)", hd_text_duration(amount, of->amount), hd_text_duration(whole, of->whole),
             findings_percent(of->amount, of->whole));
    return out;
}

bool findings_begins(hd_string text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0;
}

bool findings_has(hd_string text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (hd_string_holds(text, words[i])) return true;
    return false;
}
