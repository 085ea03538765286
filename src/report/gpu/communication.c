/* communication.c - every collective, and by kind: see "communication" in docs/reports/definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/collectives/collectives.h"
#include "model/host/waits.h"
#include "report/coverage.h"
#include "report/gpu/gpu.h"
#include "trace/event.h"

/* ---- one collective ---- */

/* Numbers that are not known are HD_NO_NUMBER. */
GPU_KEY
typedef struct collective_row {
    gpu_key on;
    uint32_t type, group, collective, zero; /* texts; gpu_collective */
    int64_t size;
    /* not of the key: */
    int64_t start, duration, exposed, in, out, bytes, id;
    int64_t timed_bytes, timed;       /* of those with known bytes */
    int64_t kernels;                  /* 1 */
    int64_t waiting, waiting_exposed; /* of waits that are slices of their own; then the others are unknown */
    uint32_t ranks, name;             /* text; string */
} collective_row;
GPU_KEY_END

typedef struct communication {
    gpu_scope scope;
    gpu_collectives collectives;
    gpu_spans *compute; /* by device */
    gpu_aggregate kinds, each;
    size_t count, sized;
    report_covered covered;
    hd_table_builder *list;
} communication;

static bool tell(collective_row *t, communication *c, uint32_t index)
{
    const gpu_work *work = &c->scope.works[index];
    const hd_work *of = &c->scope.launches->works[index];
    gpu_collective_facts facts;
    if (!gpu_collective_facts_of(&facts, &c->collectives, index)) return false;
    bool is_sized = facts.bytes != HD_NO_NUMBER;
    int64_t duration = gpu_duration(work);
    *t = (collective_row){.on = {work->device, gpu_step_of(&c->scope, work)},
                          .type = facts.type,
                          .group = facts.group,
                          .collective = facts.collective,
                          .size = facts.size,
                          .ranks = facts.ranks,
                          .in = facts.in,
                          .out = facts.out,
                          .bytes = facts.bytes,
                          .name = of->name,
                          .start = work->start,
                          .duration = duration,
                          .id = (int64_t)of->row,
                          .timed = is_sized ? duration : HD_NO_NUMBER,
                          .timed_bytes = !is_sized  ? HD_NO_NUMBER
                                         : duration ? facts.bytes
                                                    : 0,
                          .kernels = 1,
                          .waiting = HD_NO_NUMBER,
                          .waiting_exposed = HD_NO_NUMBER};
    c->sized += is_sized;
    report_cover(&c->covered, duration, is_sized);
    t->exposed = duration - gpu_spans_covered(&c->compute[work->device], work->start, work->end);
    return true;
}

/* ---- cells ---- */

static void add_bus(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *column)
{
    const collective_row *key = gpu_group_key(&a->groups, group); /* no more than the key of it */
    double factor = 0;
    bool known = gpu_bus_factor(&factor, (gpu_collective)key->collective, key->size);
    gpu_i128 bytes = gpu_aggregate_sum(a, group, column->fill->at),
             time = gpu_aggregate_sum(a, group, column->fill->with);
    gpu_cell_ratio(b, bytes, known ? time : 0, factor);
}

static void add_yes(hd_table_builder *b, const gpu_aggregate *a, uint32_t group, const hd_report_column *column)
{
    (void)a, (void)group, (void)column;
    hd_table_add_bool(b, true);
}

/* ---- all of them ---- */

/* The device on which a work computes; HD_NONE. */
static uint32_t computes_on(const gpu_scope *s, const gpu_work *work)
{
    return work->is_there && work->class == GPU_COMPUTE ? s->rows[work->row].stands_on : HD_NONE;
}

/* U(compute) of each communicating device, ignoring --names and --tracks. */
static bool find_compute(communication *c)
{
    const gpu_scope *s = &c->scope;
    size_t *counts = calloc((size_t)s->device_count + 1, sizeof *counts);
    gpu_span **lists = calloc((size_t)s->device_count + 1, sizeof *lists);
    c->compute = calloc((size_t)s->device_count + 1, sizeof *c->compute);
    bool *communicates = calloc((size_t)s->device_count + 1, sizeof *communicates);
    bool fine = counts && lists && c->compute && communicates;
    for (size_t i = 0; fine && i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device != HD_NONE && work->class == GPU_COMMUNICATION) communicates[work->device] = true;
        if (computes_on(s, work) != HD_NONE) counts[computes_on(s, work)]++;
    }
    for (uint32_t d = 0; fine && d < s->device_count; d++) {
        if (communicates[d] && counts[d]) fine = (lists[d] = hd_large_new(counts[d], sizeof **lists, s->large)) != NULL;
        counts[d] = 0;
    }
    for (size_t i = 0; fine && i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        uint32_t d = computes_on(s, work);
        if (d != HD_NONE && lists[d]) lists[d][counts[d]++] = (gpu_span){work->start, work->end};
    }
    for (uint32_t d = 0; fine && d < s->device_count; d++) {
        if (!lists[d]) continue;
        fine = gpu_spans_union(&c->compute[d], lists[d], counts[d], s->large);
        lists[d] = NULL;
    }
    for (uint32_t d = 0; lists && d < s->device_count; d++) hd_large_free(lists[d]);
    free(counts);
    free(lists);
    free(communicates);
    return fine;
}

/* Works that communicate, by start, then as in the file. */
static uint32_t *list_works(size_t *out_count, const gpu_scope *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->launches->work_count; i++)
        count += s->works[i].device != HD_NONE && s->works[i].is_listed && s->works[i].class == GPU_COMMUNICATION;
    uint32_t *list = hd_large_new(count + 1, sizeof *list, s->large);
    uint32_t *spare = hd_large_new(count + 1, sizeof *spare, s->large);
    *out_count = 0;
    for (size_t i = 0; list && spare && i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device != HD_NONE && work->is_listed && work->class == GPU_COMMUNICATION)
            list[(*out_count)++] = (uint32_t)i;
    }
    if (list && spare) HD_SORT_RUNS(list, spare, count, x, y, s->works[*x].start < s->works[*y].start);
    if (!spare) {
        hd_large_free(list);
        list = NULL;
    }
    hd_large_free(spare);
    return list;
}

static hd_status add_all(communication *c, hd_error *err)
{
    collective_row row;
    uint32_t *works = list_works(&c->count, &c->scope);
    hd_status status = works ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < c->count && status == HD_OK; i++) {
        if (!tell(&row, c, works[i]) || !gpu_aggregate_add(&c->kinds, &row))
            status = HD_NOMEM(err);
        else if (row.exposed < 0)
            status = gpu_broken("exposed time of a collective, in ns", row.exposed, 0, err);
        else
            gpu_add_row(c->list, &c->each, &row);
    }
    hd_large_free(works);
    return status;
}

/* ---- waits that are slices of their own ---- */

/* Listed communication activities of a track, by start. */
typedef struct row_works {
    uint32_t *list, count;
} row_works;

/* The activity that a wait belongs to: of the next and the previous one, the one with its name; else the next, else the
 * previous one. */
static uint32_t work_of_wait(const gpu_scope *s, const row_works *works, const gpu_slice *wait)
{
    uint32_t low = 0, high = works->count;
    HD_PARTITION_POINT(low, high, i, s->works[works->list[i]].start < wait->start);
    bool has_next = low<works->count, has_last = low> 0;
    uint32_t next = has_next ? works->list[low] : HD_NONE, last = has_last ? works->list[low - 1] : HD_NONE;
    bool is_last = has_last && s->launches->works[last].name == wait->name;
    return has_next && (!is_last || s->launches->works[next].name == wait->name) ? next : last;
}

static bool add_wait(communication *c, const gpu_row *row, const row_works *works, const gpu_slice *wait)
{
    collective_row of;
    if (!works->count || !gpu_is_listed(&c->scope, wait->start)) return true;
    if (!tell(&of, c, work_of_wait(&c->scope, works, wait))) return false;
    const gpu_span span = gpu_wait_span(wait, &c->scope.devices[row->device]);
    of.duration = of.exposed = of.bytes = of.timed = of.timed_bytes = of.kernels = HD_NO_NUMBER;
    of.waiting = span.end - span.start;
    of.waiting_exposed = of.waiting - gpu_spans_covered(&c->compute[row->device], span.start, span.end);
    return gpu_aggregate_add(&c->kinds, &of);
}

static bool add_waits_of(communication *c, const gpu_row *row, const gpu_slices *waits)
{
    row_works works = {.list = hd_large_new((size_t)row->count + 1, sizeof *works.list, c->scope.large)};
    bool fine = works.list != NULL;
    for (uint32_t i = 0; fine && i < row->count; i++) {
        const gpu_work *work = &c->scope.works[c->scope.by_row[row->first + i]];
        if (work->class == GPU_COMMUNICATION && work->is_listed)
            works.list[works.count++] = c->scope.by_row[row->first + i];
    }
    for (uint32_t i = waits->first[row->lane]; fine && i < waits->first[row->lane + 1]; i++)
        fine = add_wait(c, row, &works, &waits->list[i]);
    hd_large_free(works.list);
    return fine;
}

static hd_status add_waits(communication *c, hd_error *err)
{
    gpu_slices waits = {0};
    hd_status status = gpu_waits_slices(&waits, &c->scope, err);
    for (uint32_t r = 0; r < c->scope.row_count && status == HD_OK; r++) {
        const gpu_row *row = &c->scope.rows[r];
        if (gpu_row_waits(&waits, &c->scope, row) && !add_waits_of(c, row, &waits)) status = HD_NOMEM(err);
    }
    gpu_slices_deinit(&waits);
    return status;
}

/* ---- the report ---- */

static hd_status init(communication *c, hd_error *err)
{
    if (!find_compute(c)) return HD_NOMEM(err);
    HD_TRY(gpu_collectives_init(&c->collectives, &c->scope, err));
    size_t key = offsetof(collective_row, start);
    gpu_aggregate_init(&c->kinds, &c->scope, &c->collectives.texts, key, &report_communication_about, "communication");
    gpu_aggregate_init(&c->each, &c->scope, &c->collectives.texts, key, &report_communication_about, "collectives");
    return report_builder(&c->list, &report_communication_about, "collectives", err);
}

static hd_status add_tables(hd_report *out, communication *c, hd_error *err)
{
    const char *notes[3] = {NULL};
    size_t count = 0;
    HD_TRY(add_all(c, err));
    HD_TRY(add_waits(c, err));
    HD_TRY(gpu_add_aggregate(out, &c->kinds, "total", err));
    HD_TRY(gpu_add_kept(out, &c->list, NULL, err));
    if (c->scope.counted && !c->count) notes[count++] = "none of the GPU activities is communication";
    if (c->count)
        notes[count++] = "times are upper bounds: in one rank's recording they include waiting for the others";
    if (c->count && !c->sized) notes[count++] = "no collective has its bytes (In msg nelems, dtype)";
    HD_TRY(gpu_add_notes(out, &report_communication_about, &c->scope, notes, err));
    return report_add_coverage(out, COVERAGE_BYTES, &c->covered, "of communication", err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    communication c = {0};
    hd_status status = gpu_scope_init(&c.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = init(&c, err);
    if (status == HD_OK) status = add_tables(out, &c, err);
    hd_table_builder_free(c.list);
    for (uint32_t d = 0; c.compute && d < c.scope.device_count; d++) gpu_spans_deinit(&c.compute[d]);
    free(c.compute);
    gpu_collectives_deinit(&c.collectives);
    gpu_aggregate_deinit(&c.kinds);
    gpu_scope_deinit(&c.scope);
    return status;
}

/* ---- about ---- */

#define COLLECTIVE                                                                                                     \
    {                                                                                                                  \
        "collective", HD_VALUE_STRING, "AllReduce, AllGather …; null: neither in the name nor in an argument",         \
            GPU_FILL(WORD, collective_row, collective, .words = gpu_collective_names)                                  \
    }
#define BYTES                                                                                                          \
    {"bytes", HD_VALUE_BYTES,                                                                                          \
     "elements times size of the type: output of AllGather, all ranks of Gather and Scatter, else input",              \
     GPU_FILL(SUM, collective_row, bytes)},                                                                            \
        {"algorithm_bandwidth", HD_VALUE_DECIMAL, "GB/s: bytes per time",                                              \
         GPU_FILL(RATIO, collective_row, timed_bytes, offsetof(collective_row, timed))},                               \
    {                                                                                                                  \
        "bus_bandwidth", HD_VALUE_DECIMAL,                                                                             \
            "GB/s over each link, computed as in nccl-tests; null if the group size is unknown",                       \
            GPU_FILL(OWN, collective_row, timed_bytes, offsetof(collective_row, timed), .own = add_bus)                \
    }

static const hd_report_column communication_columns[] = {
    GPU_COLUMNS_DEVICE,
    COLLECTIVE,
    {"dtype", HD_VALUE_STRING, "type of the elements", GPU_FILL(TEXT, collective_row, type)},
    {"size", HD_VALUE_INT, "ranks in the group", GPU_FILL(NUMBER, collective_row, size)},
    {"group", HD_VALUE_STRING, "name of the group", GPU_FILL(TEXT, collective_row, group)},
    {"count", HD_VALUE_COUNT, "kernels", GPU_FILL(SUM, collective_row, kernels)},
    {"total", HD_VALUE_DURATION, "sum of their durations", GPU_FILL(SUM, collective_row, duration)},
    {"mean", HD_VALUE_DURATION, "of the durations", GPU_FILL(MEAN, collective_row, duration)},
    {"min", HD_VALUE_DURATION, "the shortest", GPU_FILL(MIN, collective_row, duration)},
    {"max", HD_VALUE_DURATION, "the longest", GPU_FILL(MAX, collective_row, duration)},
    {"exposed", HD_VALUE_DURATION, "part of the total in which no compute runs on the device",
     GPU_FILL(SUM, collective_row, exposed)},
    {"exposed_share", HD_VALUE_DECIMAL, "percent of the total",
     GPU_FILL(RATIO, collective_row, exposed, offsetof(collective_row, duration), 100)},
    {"waiting", HD_VALUE_DURATION,
     "sum of its waits for other ranks that are separate slices (Ascend); not included in the total",
     GPU_FILL(SUM, collective_row, waiting)},
    {"waiting_exposed", HD_VALUE_DURATION, "of them, while no compute runs on the device",
     GPU_FILL(SUM, collective_row, waiting_exposed)},
    BYTES,
    {0},
};

static const hd_report_column collectives_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"start", HD_VALUE_TIME, "when it began", GPU_FILL(NUMBER, collective_row, start)},
    {"duration", HD_VALUE_DURATION, "how long it ran", GPU_FILL(NUMBER, collective_row, duration)},
    {"name", HD_VALUE_STRING, "of the kernel", GPU_FILL(STRING, collective_row, name)},
    COLLECTIVE,
    {"group", HD_VALUE_STRING, "name of the group", GPU_FILL(TEXT, collective_row, group)},
    {"ranks", HD_VALUE_STRING, "in the group, as the trace has them", GPU_FILL(TEXT, collective_row, ranks)},
    {"size", HD_VALUE_INT, "ranks in the group", GPU_FILL(NUMBER, collective_row, size)},
    {"dtype", HD_VALUE_STRING, "type of the elements", GPU_FILL(TEXT, collective_row, type)},
    {"in", HD_VALUE_INT, "elements that go in", GPU_FILL(NUMBER, collective_row, in)},
    {"out", HD_VALUE_INT, "elements that come out", GPU_FILL(NUMBER, collective_row, out)},
    BYTES,
    {"exposed", HD_VALUE_DURATION, "while no compute runs on the device", GPU_FILL(NUMBER, collective_row, exposed)},
    {"upper_bound", HD_VALUE_BOOL, "yes: a rank's duration includes waiting for the others", GPU_FILL_OWN(add_yes)},
    {"id", HD_VALUE_INT, GPU_ID_OF "the collective", GPU_FILL(NUMBER, collective_row, id)},
    {0},
};

static const hd_report_table_about tables[] = {
    {"communication", "by collective, type, ranks and group, most time first", communication_columns, HD_CHART_BARS,
     "rank,device,step,collective,dtype,size,group", "total"},
    {"collectives", "each of them, by start", collectives_columns, HD_CHART_SCATTER, "collective,start",
     "bytes,bus_bandwidth"},
    GPU_NOTES,
    {0},
};

static const hd_option_about options[] = {GPU_OPTIONS("step"), {0}};

const hd_report_about report_communication_about = {
    .name = "communication",
    .title = "collectives and messages: bytes, bandwidth, and the time that no computation hides",
    .text = "Kernels of NCCL, RCCL and similar libraries: collective, group, bytes, algorithm and bus bandwidth as "
            "in nccl-tests (10^9 bytes per second), and the exposed time, in which no compute runs. The durations "
            "of one rank include waiting for the other ranks, so bandwidths are lower bounds.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
