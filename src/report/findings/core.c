/* core.c - input of the rules: the whole, the graph and its path, waiting calls */
#include "report/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "graph/overlap.h"
#include "graph/preferred.h"
#include "heddle/names.h"
#include "model/host/syncs.h"
#include "model/identity/device.h"
#include "trace/event.h"
#include "trace/lazy.h"

/* ---- the whole ---- */

/* Of steps on the device: until the last activity that was launched in one has ended. */
static void find_whole(findings *f)
{
    const gpu_scope *s = &f->scope;
    f->from = INT64_MAX;
    f->until = INT64_MIN;
    for (uint32_t i = 0; i < s->step_count; i++) {
        if (s->steps[i].start < f->from) f->from = s->steps[i].start;
        if (s->steps[i].end > f->until) f->until = s->steps[i].end;
    }
    f->has_steps = s->step_count > 0;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device == HD_NONE || (f->has_steps && gpu_step_of(s, work) == HD_NONE)) continue;
        if (!f->has_steps && work->start < f->from) f->from = work->start;
        if (work->end > f->until) f->until = work->end;
    }
    if (s->has_from && s->from > f->from) f->from = s->from;
    if (s->has_until && s->until < f->until) f->until = s->until;
    if (f->until < f->from) f->until = f->from;
}

static bool find_recorded(findings *f)
{
    const gpu_scope *s = &f->scope;
    size_t count = 0;
    if (!s->recorded) return true;
    for (uint32_t d = 0; d < s->device_count; d++) count += s->recorded[d].count;
    gpu_span *list = hd_large_new(count + 1, sizeof *list, s->large);
    if (!list) return false;
    for (uint32_t d = 0, at = 0; d < s->device_count; at += (uint32_t)s->recorded[d++].count)
        if (s->recorded[d].count) memcpy(list + at, s->recorded[d].list, s->recorded[d].count * sizeof *list);
    return gpu_spans_union(&f->recorded, list, count, s->large);
}

int64_t findings_busy_until(const findings *f, uint32_t device, unsigned classes, int64_t until)
{
    const gpu_scope *s = &f->scope;
    const gpu_device *of = &s->devices[device];
    int64_t covered = 0, reached = f->from;
    for (uint32_t i = 0; i < of->count; i++) {
        const gpu_work *work = &s->works[s->order[of->first + i]];
        int64_t start = work->start > reached ? work->start : reached, end = work->end < until ? work->end : until;
        if (work->start >= until) break; /* they come by start */
        if (!(classes >> work->class & 1) || end <= start) continue;
        covered += end - start;
        reached = end;
    }
    return covered;
}

int64_t findings_busy(const findings *f, uint32_t device, unsigned classes)
{
    return findings_busy_until(f, device, classes, f->until);
}

static bool find_busy(findings *f)
{
    f->busiest = calloc((size_t)f->scope.device_count + 1, sizeof *f->busiest);
    for (uint32_t d = 0; f->busiest && d < f->scope.device_count; d++)
        f->busiest[d] = findings_busy(f, d, FINDINGS_ALL_CLASSES);
    return f->busiest != NULL;
}

/* ---- nodes ---- */

static bool index_nodes(findings *f)
{
    const hd_graph *g = f->graph;
    f->first_work = g->first_work;
    size_t works = (size_t)(g->node_count - f->first_work) + 1;
    f->works = hd_large_new(works, sizeof *f->works, f->scope.large);
    f->work_names = hd_large_new(works, sizeof *f->work_names, f->scope.large);
    f->work_classes = hd_large_new(works, sizeof *f->work_classes, f->scope.large);
    f->claimed = hd_large_new((size_t)g->node_count + 1, sizeof *f->claimed, f->scope.large);
    if (!f->works || !f->work_names || !f->work_classes || !f->claimed) return false;
    for (uint32_t n = 0; n < g->node_count; n++) {
        f->claimed[n] = 0; /* written now: a page that is read before it is written costs two faults */
        if (g->ends[n] - g->starts[n] < (int64_t)FINDINGS_LONG) continue;
        if (!hd_grow((void **)&f->longs, &f->long_capacity, f->long_count, sizeof *f->longs)) return false;
        f->longs[f->long_count++] = (finding_long){n, 0};
        f->claimed[n] = FINDINGS_LONG;
    }
    const hd_launches *l = f->scope.launches;
    for (uint32_t n = f->first_work, at = 0, last = 0; n < g->node_count; n++, at++) {
        bool is_next = last + 1 < l->work_count && l->works[last + 1].row == g->slices[n];
        f->works[at] = last = is_next ? last + 1 : gpu_work_at(&f->scope, g->slices[n]);
        f->work_names[at] = l->works[last].name;
        f->work_classes[at] = (uint8_t)f->scope.works[f->works[at]].class;
    }
    return true;
}

int64_t *findings_long_claimed(const findings *f, uint32_t node)
{
    size_t low = 0, high = f->long_count;
    HD_PARTITION_POINT(low, high, at, f->longs[at].node < node);
    return &f->longs[low].claimed;
}

/* The threads of steps; other threads, which may only watch, do not make the whole longer. */
static bool mark_threads(findings *f)
{
    const hd_graph *g = f->graph;
    bool *lanes = calloc((size_t)hd_trace_track_count(f->scope.trace) + 1, sizeof *lanes);
    f->has_step = hd_large_zeroed((size_t)f->first_work + 1, sizeof *f->has_step, f->scope.large);
    for (uint32_t i = 0; lanes && i < f->scope.step_count; i++) lanes[f->scope.steps[i].lane] = true;
    for (uint32_t l = 0; lanes && f->has_step && l < g->lane_count && !g->lanes[l].is_queue; l++)
        if (lanes[g->lanes[l].track]) memset(f->has_step + g->lanes[l].first_node, 1, g->lanes[l].node_count);
    bool fine = lanes && f->has_step;
    free(lanes);
    return fine;
}

bool findings_is_measured(const findings *f, uint32_t node)
{
    const hd_graph *g = f->graph;
    if (g->starts[node] >= f->until || g->ends[node] <= f->from) return false;
    return findings_is_work(f, node) || f->has_step[node];
}

/* The node that ends the whole; HD_NONE. */
static uint32_t last_node(const findings *f)
{
    uint32_t last = HD_NONE;
    int64_t latest = INT64_MIN;
    for (uint32_t n = 0; n < f->graph->node_count; n++) {
        int64_t end = f->graph->ends[n] < f->until ? f->graph->ends[n] : f->until;
        if (end < latest || !findings_is_measured(f, n)) continue;
        if (end == latest && last != HD_NONE && !graph_is_preferred(f->graph, n, last)) continue;
        latest = end;
        last = n;
    }
    return last;
}

/* Of two activities that overlap, the time that is the first one's. */
static int64_t overlap_in(const findings *f, const hd_graph_piece *p)
{
    int64_t overlap = f->graph->starts[p->node] + graph_overlap(f->graph, p->node) - p->start_ns;
    if (overlap > p->end_ns - p->start_ns) overlap = p->end_ns - p->start_ns;
    return overlap > 0 ? overlap : 0;
}

/* Which nodes are on the path, and for how long. */
static bool mark_path(findings *f)
{
    size_t words = (size_t)f->graph->node_count / 64 + 1;
    uint32_t count = 0;
    f->path_bits = hd_large_zeroed(words, sizeof *f->path_bits, f->scope.large);
    f->path_ranks = hd_large_new(words, sizeof *f->path_ranks, f->scope.large);
    if (!f->path_bits || !f->path_ranks) return false;
    for (size_t i = 0; i < f->path_count; i++) {
        const hd_graph_piece *p = &f->path[i];
        if (p->is_delay) continue;
        f->path_bits[p->node / 64] |= (uint64_t)1 << p->node % 64;
        if (overlap_in(f, p)) f->path_bits[(p->node - 1) / 64] |= (uint64_t)1 << (p->node - 1) % 64;
    }
    for (size_t w = 0; w < words; count += (uint32_t)__builtin_popcountll(f->path_bits[w++])) f->path_ranks[w] = count;
    f->path_left = hd_large_zeroed((size_t)count + 1, sizeof *f->path_left, f->scope.large);
    for (size_t i = 0; f->path_left && i < f->path_count; i++) {
        const hd_graph_piece *p = &f->path[i];
        if (p->is_delay) continue;
        int64_t overlap = overlap_in(f, p);
        if (overlap) *findings_path_at(f, p->node - 1) += overlap;
        *findings_path_at(f, p->node) += p->end_ns - p->start_ns - overlap;
    }
    return f->path_left != NULL;
}

void findings_free_path(findings *f)
{
    void **const lists[] = {(void **)&f->path_bits, (void **)&f->path_ranks, (void **)&f->path_left};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        hd_large_free(*lists[i]);
        *lists[i] = NULL;
    }
}

bool findings_keep_delays(findings *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->path_count; i++) {
        const hd_graph_piece *p = &f->path[i];
        bool is_kept = p->is_delay && findings_is_work(f, p->node) && findings_work(f, p->node)->launch == HD_NONE;
        if (is_kept) f->path[kept++] = *p;
    }
    f->path_count = kept;
    return !f->path || hd_large_resize((void **)&f->path, kept, kept + 1, sizeof *f->path, f->scope.large);
}

static hd_status find_path(findings *f, hd_error *err)
{
    if (!mark_threads(f)) return HD_NOMEM(err);
    uint32_t last = f->until > f->from ? last_node(f) : HD_NONE;
    if (last != HD_NONE) HD_TRY(hd_graph_path(&f->path, &f->path_count, f->graph, last, f->from, f->until, err));
    return mark_path(f) ? HD_OK : HD_NOMEM(err);
}

bool findings_has_edges(const findings *f, hd_edge_kind kind)
{
    const hd_graph *g = f->graph;
    return g->edge_count && memchr(g->edge_kinds, kind, g->edge_count);
}

bool findings_lacks_ranks(const findings *f)
{
    return !findings_has_edges(f, HD_EDGE_COLLECTIVE);
}

bool findings_communicates(const findings *f)
{
    for (size_t i = 0; i < f->scope.launches->work_count; i++)
        if (f->scope.works[i].class == GPU_COMMUNICATION && f->scope.works[i].is_there) return true;
    return false;
}

uint32_t findings_name(const findings *f, uint32_t node)
{
    if (findings_is_work(f, node)) return f->work_names[node - f->first_work];
    uint32_t row = f->graph->slices[node];
    if (row == HD_NONE) return HD_STRING_NONE;
    return (uint32_t)hd_slice_column(f->scope.trace, row, HD_COL_NAME);
}

/* ---- calls that wait ---- */

static hd_status find_syncs(findings *f, hd_error *err)
{
    size_t count = f->gaps.syncs.count;
    gpu_place *places = hd_large_new(count + 1, sizeof *places, f->scope.large);
    f->sync_ops = hd_large_new(count + 1, sizeof *f->sync_ops, f->scope.large);
    f->sync_is_taken = hd_large_zeroed(count + 1, 1, f->scope.large);
    bool fine = places && f->sync_ops && f->sync_is_taken;
    for (uint32_t i = 0; fine && i < count; i++)
        places[i] = (gpu_place){f->gaps.syncs.list[i].start, f->gaps.syncs.list[i].lane, i};
    f->syncs_by_row = hd_large_new(count + 1, sizeof *f->syncs_by_row, f->scope.large);
    uint32_t *spare = hd_large_new(count + 1, sizeof *spare, f->scope.large);
    fine = fine && f->syncs_by_row && spare;
    for (uint32_t i = 0; fine && i < count; i++) f->syncs_by_row[i] = i;
    if (fine)
        HD_SORT_RUNS(f->syncs_by_row, spare, count, x, y, f->gaps.syncs.list[*x].row < f->gaps.syncs.list[*y].row);
    hd_large_free(spare);
    hd_status status =
        fine ? gpu_innermost_names(f->sync_ops, places, count, &f->scope, HD_ROLE_OP, err) : HD_NOMEM(err);
    hd_large_free(places);
    return status;
}

uint32_t findings_sync_of(const findings *f, uint64_t row)
{
    size_t low = 0, high = f->gaps.syncs.count;
    HD_PARTITION_POINT(low, high, at, f->gaps.syncs.list[f->syncs_by_row[at]].row < row);
    return low < f->gaps.syncs.count && f->gaps.syncs.list[f->syncs_by_row[low]].row == row ? f->syncs_by_row[low]
                                                                                            : HD_NONE;
}

/* ---- names ---- */

/* And whether a slice is a function of Python: readers may bring the category's name without such a slice. */
static bool mark_names(findings *f)
{
    enum { CHUNK = 2048 };
    const uint32_t python = hd_trace_find_string(f->scope.trace, "python_function", 15);
    const hd_trace *trace = f->scope.trace;
    const hd_launches *l = f->scope.launches;
    size_t work = 0; /* the next, by row */
    hd_block_room room = {0};
    int64_t *names = calloc(CHUNK, sizeof *names);
    f->names = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    for (size_t b = 0; names && f->names && b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_walk_columns(&room, trace, HD_KIND_SLICE, b);
        for (uint32_t first = 0; first < block->row_count; first += CHUNK) {
            uint32_t count = block->row_count - first < CHUNK ? block->row_count - first : CHUNK;
            hd_column_decode(names, &block->columns[HD_COL_NAME], first, count);
            for (uint32_t i = 0; i < count; i++) {
                bool is_work = work < l->work_count && l->works[work].row == block->first_row + first + i;
                work += is_work;
                if ((uint32_t)names[i] != HD_STRING_NONE)
                    f->names[names[i]] |= is_work ? FINDINGS_OF_WORK : FINDINGS_OF_OTHERS;
            }
            if (python == HD_NONE || f->is_slowed) continue;
            hd_column_decode(names, &block->columns[HD_COL_CATEGORY], first, count);
            for (uint32_t i = 0; i < count; i++) f->is_slowed |= (uint32_t)names[i] == python;
        }
    }
    hd_walk_end(&room, trace);
    free(names);
    return names && f->names;
}

static bool uses_torch(const findings *f)
{
    for (uint32_t i = 0; i < hd_trace_string_count(f->scope.trace); i++) {
        hd_string name = hd_trace_string(f->scope.trace, i);
        if (f->names[i] && (findings_begins(name, "aten::") || hd_string_holds(name, "at::native::"))) return true;
    }
    return false;
}

/* ---- arguments ---- */

/* Calls `read` for each activity that is of `name`. */
typedef void read_value(void *out, size_t at, const findings *f, gpu_arg *arg, const hd_block *block, uint32_t row);

static hd_status read_values(void **out, size_t size, const findings *f, const char *name, read_value *read,
                             hd_error *err)
{
    const hd_launches *l = f->scope.launches;
    const hd_trace *trace = f->scope.trace;
    gpu_arg arg;
    hd_block_room room = {0};
    *out = NULL;
    if (!gpu_arg_init(&arg, trace, name)) return HD_NOMEM(err);
    bool is_used = gpu_arg_is_used(&arg);
    if (is_used) *out = hd_large_new(l->work_count + 1, size, f->scope.large);
    for (size_t b = 0, at = 0; *out && b < hd_trace_block_count(trace, HD_KIND_SLICE) && at < l->work_count; b++) {
        const hd_block *block = hd_walk_block(&room, trace, HD_KIND_SLICE, b);
        for (; at < l->work_count && l->works[at].row < block->first_row + block->row_count; at++)
            read(*out, at, f, &arg, block, (uint32_t)(l->works[at].row - block->first_row));
    }
    hd_walk_end(&room, trace);
    gpu_arg_deinit(&arg);
    return *out || !is_used ? HD_OK : HD_NOMEM(err);
}

static void read_number(void *out, size_t at, const findings *f, gpu_arg *arg, const hd_block *block, uint32_t row)
{
    hd_value value;
    double number;
    bool has_one = gpu_arg_get(&value, arg, block, row) && hd_value_double(&number, f->scope.trace, value);
    ((double *)out)[at] = has_one ? number : NAN;
}

static void read_text(void *out, size_t at, const findings *f, gpu_arg *arg, const hd_block *block, uint32_t row)
{
    hd_value value;
    uint32_t text = gpu_arg_text(arg, block, row);
    bool is_whole = text == HD_STRING_NONE && gpu_arg_get(&value, arg, block, row);
    (void)f;
    ((uint32_t *)out)[at] = is_whole ? (uint32_t)value.bits : text;
}

hd_status findings_read_numbers(double **out, const findings *f, const char *name, hd_error *err)
{
    return read_values((void **)out, sizeof **out, f, name, read_number, err);
}

hd_status findings_read_texts(uint32_t **out, const findings *f, const char *name, hd_error *err)
{
    return read_values((void **)out, sizeof **out, f, name, read_text, err);
}

/* ---- all of it ---- */

hd_status findings_init(findings *f, const hd_report_input *input, const gpu_options *options, const char *model,
                        hd_error *err)
{
    gpu_options by_step = *options;
    hd_report_input of_scope = *input;
    by_step.by = gpu_steps_are_guessed(options) ? NULL : "step"; /* no finding rests on guessed steps */
    of_scope.progress = NULL;                                    /* it is one phase */
    *f = (findings){.model = model, .input = input};
    HD_TRY(gpu_scope_init(&f->scope, &of_scope, &by_step, GPU_BY_STEP, err));
    f->scope.options = options;
    findings_end_phase(f, FINDING_SCOPE);
    return HD_OK;
}

hd_status findings_find_gaps(void *user, hd_error *err)
{
    findings *f = user;
    HD_TRY(gpu_trust_of_scope(&f->trust, &f->scope, err));
    find_whole(f);
    if (!find_recorded(f) || !find_busy(f)) return HD_NOMEM(err);
    return gpu_gaps_init(&f->gaps, &f->scope, err);
}

hd_status findings_make_graph(void *user, hd_error *err)
{
    findings *f = user;
    HD_TRY(hd_graph_new(&f->graph, f->scope.trace, f->scope.launches, err));
    return index_nodes(f) && mark_names(f) ? HD_OK : HD_NOMEM(err);
}

/* What rules read besides the gaps and the graph. */
hd_status findings_prepare(findings *f, hd_error *err)
{
    HD_TRY(find_path(f, err));
    const hd_graph *g = f->graph;
    f->is_complete = !g->waits_without_work && !g->works_without_launch && !g->suspect_count && !g->threads_unexamined;
    f->is_torch = uses_torch(f);
    f->api = findings_api(f);
    f->device_kind = hd_device_kinds(f->scope.trace);
    HD_TRY(find_syncs(f, err));
    findings_end_phase(f, FINDING_PATH);
    return HD_OK;
}

void findings_release(findings *f)
{
    void **const large[] = {(void **)&f->work_names,  (void **)&f->work_classes, (void **)&f->works,
                            (void **)&f->claimed,     (void **)&f->has_step,     (void **)&f->sync_ops,
                            (void **)&f->order,       (void **)&f->taken,        (void **)&f->claims,
                            (void **)&f->new_starts,  (void **)&f->flags,        (void **)&f->sync_is_taken,
                            (void **)&f->syncs_by_row};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        hd_large_free(*large[i]);
        *large[i] = NULL;
    }
    if (f->path) hd_graph_pieces_free(f->path);
    f->path = NULL;
    hd_graph_free(f->graph);
    f->graph = NULL;
    findings_free_path(f);
    free(f->longs);
    f->longs = NULL;
    free(f->names);
    f->names = NULL;
}

void findings_deinit(findings *f)
{
    findings_release(f);
    gpu_gaps_deinit(&f->gaps);
    gpu_spans_deinit(&f->recorded);
    free(f->busiest);
    free(f->list);
    gpu_scope_deinit(&f->scope);
    *f = (findings){0};
}

const char *findings_short_text(char out[72], hd_string text)
{
    char plain[HD_NAME_BYTES];
    hd_string name = {plain, text.size ? hd_name_short(plain, text) : 0};
    size_t kept = name.size;
    if (kept > 60) {
        for (kept = 57; kept && ((unsigned char)name.data[kept] & 0xc0) == 0x80;) kept--;
    }
    memcpy(out, name.data, kept);
    memcpy(out + kept, kept < name.size ? "…" : "", kept < name.size ? sizeof "…" : 1);
    return out;
}

const char *findings_short(char out[72], const hd_trace *trace, uint32_t string)
{
    return findings_short_text(out, string == HD_STRING_NONE ? (hd_string){NULL, 0} : hd_trace_string(trace, string));
}

const char *findings_longest(char out[72], const findings *f, const finding *of)
{
    const hd_trace *trace = f->scope.trace;
    return findings_short(out, trace, (uint32_t)hd_slice_column(trace, (uint32_t)of->ids[0], HD_COL_NAME));
}
