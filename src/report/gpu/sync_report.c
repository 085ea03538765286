/* sync_report.c - calls that wait for the GPU, and where: see "syncs" in docs/reports/definitions.md */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "model/host/syncs.h"
#include "model/identity/process.h"
#include "report/gpu/gpu.h"

GPU_KEY
typedef struct sync_row {
    gpu_rank_key of;
    uint32_t call, kind, op, frame; /* op, frame: string, HD_STRING_NONE */
    /* not of the key: */
    int64_t duration, busy;
} sync_row;
GPU_KEY_END

/* When activities of a rank, or of one of its processes, run. */
typedef struct rank_busy {
    int64_t rank;
    uint32_t process; /* HD_NONE: all */
    gpu_spans spans;
} rank_busy;

typedef struct syncs {
    gpu_scope scope;
    gpu_slices calls;
    uint32_t *ops, *frames; /* by call: names of the slices around it */
    rank_busy *busy;
    size_t busy_count, busy_capacity;
    gpu_texts texts;
    uint32_t *call_names;
    gpu_aggregate rows;
} syncs;

/* ---- when the GPUs of a rank work ---- */

/* Of the activities order[0] … order[count - 1], those of a process. */
static bool add_busy(syncs *t, int64_t rank, uint32_t process, const uint32_t *order, size_t count)
{
    const gpu_scope *s = &t->scope;
    size_t kept = 0;
    gpu_span *list = hd_large_new(count + 1, sizeof *list, s->large);
    if (!list || !hd_grow((void **)&t->busy, &t->busy_capacity, t->busy_count, sizeof *t->busy)) {
        hd_large_free(list);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const gpu_work *work = &s->works[order[i]];
        if (hd_may_share(gpu_process_of(s, order[i]), process)) list[kept++] = (gpu_span){work->start, work->end};
    }
    rank_busy *busy = &t->busy[t->busy_count];
    *busy = (rank_busy){.rank = rank, .process = process};
    if (!gpu_spans_union(&busy->spans, list, kept, s->large)) return false;
    t->busy_count++;
    return true;
}

static size_t busy_at(const syncs *t, int64_t rank, uint32_t process)
{
    size_t i = 0;
    while (i < t->busy_count && (t->busy[i].rank != rank || t->busy[i].process != process)) i++;
    return i;
}

/* Devices are sorted by rank. */
static bool find_busy(syncs *t)
{
    const gpu_scope *s = &t->scope;
    bool fine = true;
    for (uint32_t d = 0; fine && d < s->device_count;) {
        size_t count = 0;
        const gpu_device *first = &s->devices[d];
        const uint32_t *order = s->order + first->first;
        for (; d < s->device_count && s->devices[d].rank == first->rank; d++) count += s->devices[d].count;
        fine = add_busy(t, first->rank, HD_NONE, order, count);
        uint32_t last = HD_NONE;
        for (size_t i = 0; fine && s->launches->process_count > 1 && i < count; i++) {
            uint32_t process = gpu_process_of(s, order[i]);
            if (process == last) continue;
            last = process;
            if (process != HD_NONE && busy_at(t, first->rank, process) == t->busy_count)
                fine = add_busy(t, first->rank, process, order, count);
        }
    }
    return fine;
}

/* A call of a process that launches nothing may wait for any activity of the rank. */
static int64_t busy_in(const syncs *t, int64_t rank, const gpu_slice *call)
{
    size_t i = busy_at(t, rank, gpu_process_at(&t->scope, call->lane));
    return i < t->busy_count ? gpu_spans_covered(&t->busy[i].spans, call->start, call->end) : 0;
}

/* ---- calls ---- */

/* The names of the slices around each call. */
static hd_status find_around(uint32_t **out, const syncs *t, hd_role role, hd_error *err)
{
    size_t count = t->calls.count;
    gpu_place *places = hd_large_new(count + 1, sizeof *places, t->scope.large);
    *out = hd_large_new(count + 1, sizeof **out, t->scope.large);
    for (uint32_t i = 0; places && i < count; i++)
        places[i] = (gpu_place){t->calls.list[i].start, t->calls.list[i].lane, i};
    hd_status status = places && *out ? gpu_innermost_names(*out, places, count, &t->scope, role, err) : HD_NOMEM(err);
    hd_large_free(places);
    return status;
}

static bool add_call(syncs *t, uint32_t index)
{
    const gpu_slice *call = &t->calls.list[index];
    int64_t rank = t->scope.ranks[call->lane];
    if (!gpu_is_listed(&t->scope, call->start)) return true;
    const sync_row row = {
        .of = {rank, gpu_step_by(&t->scope, call->lane, call->start), 0},
        .call = gpu_call_name(&t->texts, t->call_names, t->scope.trace, call->name),
        .kind = call->user,
        .op = t->ops[index],
        .frame = t->frames[index],
        .duration = (int64_t)((uint64_t)call->end - (uint64_t)call->start),
        .busy = t->scope.counted ? busy_in(t, rank, call) : HD_NO_NUMBER,
    };
    return row.call != HD_NONE && gpu_aggregate_add(&t->rows, &row);
}

static void add_implicit(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *column)
{
    const sync_row *key = gpu_group_key(&a->groups, group); /* no more than the key of it */
    (void)column;
    hd_table_add_bool(b, key->kind == HD_SYNC_COPY || key->kind == HD_SYNC_LAUNCH || key->op != HD_STRING_NONE);
}

static hd_status add_tables(hd_report *out, syncs *t, hd_error *err)
{
    gpu_aggregate_init(&t->rows, &t->scope, &t->texts, offsetof(sync_row, duration), &report_syncs_about, "syncs");
    t->call_names = calloc((size_t)hd_trace_string_count(t->scope.trace) + 1, sizeof *t->call_names);
    if (!t->call_names || !find_busy(t)) return HD_NOMEM(err);
    HD_TRY(gpu_syncs_init(&t->calls, &t->scope, err));
    HD_TRY(find_around(&t->ops, t, HD_ROLE_OP, err));
    HD_TRY(find_around(&t->frames, t, HD_ROLE_PYTHON, err));
    for (uint32_t i = 0; i < t->calls.count; i++) {
        if (!add_call(t, i)) return HD_NOMEM(err);
    }
    HD_TRY(gpu_add_aggregate(out, &t->rows, "total", err));
    const char *const more[] = {t->calls.count ? NULL : "no call in this trace waits for a GPU", NULL};
    return gpu_add_notes(out, &report_syncs_about, &t->scope, more, err);
}

/* ---- the report ---- */

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    syncs t = {0};
    hd_status status = gpu_scope_init(&t.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = add_tables(out, &t, err);
    if (status != HD_OK) hd_report_free(out);
    for (size_t i = 0; i < t.busy_count; i++) gpu_spans_deinit(&t.busy[i].spans);
    gpu_slices_deinit(&t.calls);
    gpu_texts_deinit(&t.texts);
    gpu_aggregate_deinit(&t.rows);
    hd_large_free(t.ops);
    hd_large_free(t.frames);
    free(t.busy);
    free(t.call_names);
    gpu_scope_deinit(&t.scope);
    return status;
}

/* ---- about ---- */

static const hd_report_column columns[] = {
    GPU_COLUMNS_RANK,
    {"call", HD_VALUE_STRING, "name of the API call", GPU_FILL(TEXT, sync_row, call)},
    {"kind", HD_VALUE_STRING,
     "waits for a device, stream or event; copy, launch: returns when what it launches is done",
     GPU_FILL(WORD, sync_row, kind, .words = hd_sync_kind_names)},
    {"op", HD_VALUE_STRING, "the innermost operator around it", GPU_FILL(STRING, sync_row, op)},
    {"frame", HD_VALUE_STRING, "the innermost Python frame around it", GPU_FILL(STRING, sync_row, frame)},
    {"calls", HD_VALUE_COUNT, "how many", GPU_FILL(ROWS, sync_row, duration)},
    {"total", HD_VALUE_DURATION, "time in them", GPU_FILL(SUM, sync_row, duration)},
    {"mean", HD_VALUE_DURATION, "of the calls", GPU_FILL(MEAN, sync_row, duration)},
    {"longest", HD_VALUE_DURATION, "of the calls", GPU_FILL(MAX, sync_row, duration)},
    {"gpu_busy", HD_VALUE_DURATION, "part of the total in which a GPU runs activities of its process",
     GPU_FILL(SUM, sync_row, busy)},
    {"implicit", HD_VALUE_BOOL, "not requested by the program: a copy or launch, or an operator such as aten::item",
     GPU_FILL_OWN(add_implicit)},
    {0},
};

static const hd_report_table_about tables[] = {
    {"syncs", "by API call and its place in the code, most time first", columns, HD_CHART_BARS, "call,op", "total"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_syncs_about = {
    .name = "syncs",
    .title = "what waits for the GPU, how long, and from where",
    .text = "API calls that return only when the GPU is done: synchronisations, copies that are not asynchronous, "
            "copies of pageable memory, and memsets that are not asynchronous and were done when the call returned. "
            "A call inside another one does not count again.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
