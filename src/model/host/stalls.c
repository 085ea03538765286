/* stalls.c - the stretches in which no thread of a process begins or ends a slice
 *
 * By thread, stretches without a moment are listed with a stack of what is open; a process stalls where all of
 * its threads are in one. Besides the slices, memory is only needed for stretches of a millisecond or more.
 */
#include "model/host/stalls.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/host/syncs.h"
#include "model/identity/process.h"

enum { USUAL = 4 };

static const unsigned NAMED = 1u << HD_ROLE_OP | 1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER;

/* A stretch of a thread begins (1) or ends (-1). */
typedef struct edge {
    int64_t time;
    uint32_t process, lane;
    int32_t step;
} edge;

typedef struct open_slice {
    int64_t end;
    bool is_busy;
} open_slice;

typedef struct sweep {
    const gpu_scope *scope;
    gpu_slices slices;
    uint8_t *busy;    /* by string: calls, waits and overheads, which explain that nothing else happens */
    uint32_t *lanes;  /* by process: how many of its threads have slices */
    open_slice *open; /* of one thread */
    size_t open_count, open_capacity;
    uint32_t busy_count;
    int64_t last; /* moment of the thread */
    edge *edges;
    size_t edge_count, edge_capacity;
    gpu_stalls *out;
    size_t capacity;
} sweep;

/* ---- stretches of threads ---- */

static bool add_edge(sweep *s, int64_t time, uint32_t lane, int32_t step)
{
    if (!hd_grow((void **)&s->edges, &s->edge_capacity, s->edge_count, sizeof *s->edges)) return false;
    s->edges[s->edge_count++] = (edge){time, hd_process_of(s->scope->trace, lane), lane, step};
    return true;
}

static bool add_moment(sweep *s, uint32_t lane, int64_t time)
{
    int64_t from = s->last;
    if (time <= from) return true;
    s->last = time;
    if (s->busy_count || time - from < GPU_STALL_NS) return true;
    return add_edge(s, from, lane, 1) && add_edge(s, time, lane, -1);
}

/* What has ended until then. */
static bool close_slices(sweep *s, uint32_t lane, int64_t until)
{
    while (s->open_count && s->open[s->open_count - 1].end <= until) {
        const open_slice *top = &s->open[s->open_count - 1];
        if (!add_moment(s, lane, top->end)) return false;
        s->busy_count -= top->is_busy;
        s->open_count--;
    }
    return true;
}

static bool list_stretches(sweep *s, uint32_t lane)
{
    s->last = -GPU_LAST_TIME;
    for (size_t i = s->slices.first[lane]; i < s->slices.first[lane + 1]; i++) {
        const gpu_slice *slice = &s->slices.list[i];
        bool is_busy = slice->name != HD_STRING_NONE && s->busy[slice->name];
        if (!close_slices(s, lane, slice->start) || !add_moment(s, lane, slice->start)) return false;
        if (!hd_grow((void **)&s->open, &s->open_capacity, s->open_count, sizeof *s->open)) return false;
        s->open[s->open_count++] = (open_slice){slice->end, is_busy};
        s->busy_count += is_busy;
    }
    return close_slices(s, lane, GPU_LAST_TIME) && add_moment(s, lane, GPU_LAST_TIME);
}

/* All but calls that launch. */
static void mark_busy(sweep *s, const gpu_slices *slices)
{
    for (size_t i = 0; i < slices->count; i++) {
        uint32_t name = slices->list[i].name;
        if (name == HD_STRING_NONE || s->busy[name]) continue;
        hd_string text = hd_trace_string(s->scope->trace, name);
        s->busy[name] = text.size && !memmem(text.data, text.size, "Launch", 6);
    }
}

static hd_status find_busy(sweep *s, hd_error *err)
{
    gpu_slices calls = {0}, syncs = {0};
    unsigned roles = NAMED | 1u << HD_ROLE_OVERHEAD;
    s->busy = calloc(hd_trace_string_count(s->scope->trace) + 1, 1);
    if (!s->busy) return HD_NOMEM(err);
    hd_status status = gpu_slices_init(&calls, s->scope, roles & ~(1u << HD_ROLE_OP), err);
    if (status == HD_OK) mark_busy(s, &calls);
    gpu_slices_deinit(&calls);
    if (status == HD_OK) status = gpu_syncs_init(&syncs, s->scope, err);
    if (status == HD_OK) mark_busy(s, &syncs);
    gpu_slices_deinit(&syncs);
    return status == HD_OK ? gpu_slices_init(&s->slices, s->scope, roles, err) : status;
}

/* ---- stalls of processes ---- */

static int by_time(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->step != y->step ? x->step - y->step : (x->lane > y->lane) - (x->lane < y->lane);
}

static bool find_candidates(sweep *s)
{
    const hd_trace *trace = s->scope->trace;
    uint32_t tracks = hd_trace_track_count(trace), inside = 0;
    s->lanes = calloc((size_t)tracks + 1, sizeof *s->lanes);
    if (!s->lanes) return false;
    for (uint32_t l = 0; l < tracks; l++) {
        if (s->slices.first[l] == s->slices.first[l + 1]) continue;
        uint32_t process = hd_process_of(trace, l);
        if (process < tracks) s->lanes[process]++;
        if (!list_stretches(s, l)) return false;
    }
    hd_sort(s->edges, s->edge_count, sizeof *s->edges, by_time);
    for (size_t i = 0; i < s->edge_count; i++) {
        const edge *now = &s->edges[i], *next = now + 1;
        inside = (i && now[-1].process != now->process ? 0 : inside) + (uint32_t)now->step;
        if (now->process >= tracks || inside != s->lanes[now->process] || i + 1 == s->edge_count) continue;
        if (next->time - now->time < GPU_STALL_NS || now->time <= -GPU_LAST_TIME || next->time >= GPU_LAST_TIME)
            continue;
        if (!hd_grow((void **)&s->out->list, &s->capacity, s->out->count, sizeof *s->out->list)) return false;
        s->out->list[s->out->count++] = (gpu_stall){now->time, next->time, next->lane, HD_STRING_NONE};
    }
    return true;
}

static gpu_cover cover_of(const void *stalls, size_t i)
{
    const gpu_stall *stall = &((const gpu_stalls *)stalls)->list[i];
    return (gpu_cover){stall->start, stall->end, stall->lane};
}

static hd_status name_candidates(sweep *s, hd_error *err)
{
    gpu_stalls *out = s->out;
    uint32_t *names = calloc(out->count + 1, sizeof *names);
    hd_status status = names ? HD_OK : HD_NOMEM(err);
    const gpu_covering list = {names, cover_of, out, NAMED};
    if (status == HD_OK) status = gpu_covering_names(&list, 1, out->count, s->scope, err);
    for (size_t i = 0; status == HD_OK && i < out->count; i++) out->list[i].name = names[i];
    free(names);
    return status;
}

/* By string: how many operators of the name there are, how many of them stall, when the first has ended. */
typedef struct usual {
    uint64_t slices, stalls;
    int64_t first_start, first_end;
} usual;

static bool keep_unusual(sweep *s)
{
    gpu_stalls *out = s->out;
    size_t kept = 0, none = hd_trace_string_count(s->scope->trace);
    usual *names = calloc(none + 1, sizeof *names);
    if (!names) return false;
    for (size_t i = 0; i < s->slices.count; i++) {
        const gpu_slice *op = &s->slices.list[i];
        usual *of = &names[op->name == HD_STRING_NONE ? none : op->name];
        if (!of->slices++ || op->start < of->first_start) {
            of->first_start = op->start;
            of->first_end = op->end;
        }
        names[none].slices++; /* each has a stretch before it in which none of its own runs */
    }
    for (size_t i = 0; i < out->count; i++)
        names[out->list[i].name == HD_STRING_NONE ? none : out->list[i].name].stalls++;
    for (size_t i = 0; i < out->count; i++) {
        const gpu_stall *stall = &out->list[i];
        const usual *of = &names[stall->name == HD_STRING_NONE ? none : stall->name];
        bool is_first =
            stall->name != HD_STRING_NONE && stall->start >= of->first_start && stall->start < of->first_end;
        if (of->stalls <= of->slices / USUAL && !is_first) out->list[kept++] = *stall;
    }
    out->count = kept;
    free(names);
    return true;
}

static int by_start(const void *a, const void *b)
{
    const gpu_stall *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

hd_status gpu_stalls_init(gpu_stalls *out, const gpu_scope *scope, hd_error *err)
{
    sweep s = {.scope = scope, .out = out};
    *out = (gpu_stalls){0};
    hd_status status = find_busy(&s, err);
    if (status == HD_OK && !find_candidates(&s)) status = HD_NOMEM(err);
    if (status == HD_OK && out->count) status = name_candidates(&s, err);
    if (status == HD_OK && out->count && !keep_unusual(&s)) status = HD_NOMEM(err);
    if (status == HD_OK && out->count) hd_sort(out->list, out->count, sizeof *out->list, by_start);
    free(s.busy);
    free(s.lanes);
    free(s.open);
    free(s.edges);
    gpu_slices_deinit(&s.slices);
    return status;
}

void gpu_stalls_deinit(gpu_stalls *stalls)
{
    free(stalls->list);
    *stalls = (gpu_stalls){0};
}
