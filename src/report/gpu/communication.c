/* communication.c - every collective, and by kind: see "communication" in docs/reports/definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/gpu/gpu.h"
#include "trace/event.h"

/* ---- sizes of types, bandwidths ---- */

static bool is_word(hd_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i < size && i < text.size; i++) {
        if ((text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 32 : text.data[i]) != word[i]) return false;
    }
    return text.size == size;
}

static unsigned type_bytes(hd_string type)
{
    static const struct type {
        const char *name;
        unsigned bytes;
    } types[] = {{"float", 4},    {"int", 4},   {"long", 8}, {"double", 8}, {"half", 2},
                 {"bfloat16", 2}, {"short", 2}, {"byte", 1}, {"bool", 1},   {"char", 1}};
    if (type.size >= 6 && is_word((hd_string){type.data, 6}, "float8")) return 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (is_word(type, types[i].name)) return types[i].bytes;
    }
    return 0;
}

/* What of the bytes goes over each link of the bus, as nccl-tests count it. false: not known. */
static bool bus_factor(double *out, gpu_collective collective, int64_t ranks)
{
    double others = (double)ranks - 1, all = (double)ranks;
    if (collective == GPU_NO_COLLECTIVE || collective == GPU_BARRIER || ranks == HD_NO_NUMBER || ranks < 1)
        return false;
    switch (collective) {
    case GPU_ALL_REDUCE: *out = 2 * others / all; return true;
    case GPU_ALL_GATHER:
    case GPU_REDUCE_SCATTER:
    case GPU_ALL_TO_ALL:
    case GPU_GATHER:
    case GPU_SCATTER: *out = others / all; return true;
    default: *out = 1; return true;
    }
}

bool gpu_bus_factor(double *out, hd_string collective, int64_t ranks)
{
    for (int i = 0; i < GPU_COLLECTIVES; i++) {
        const char *name = gpu_collective_names[i];
        if (strlen(name) == collective.size && memcmp(name, collective.data, collective.size) == 0)
            return bus_factor(out, (gpu_collective)i, ranks);
    }
    return false;
}

/* ---- one collective ---- */

enum { NAME, GROUP, RANKS, SIZE, TYPE, IN, OUT, MESSAGE, COMMUNICATOR, ARGUMENTS };
static const char *const argument_names[ARGUMENTS] = {
    "Collective name", "Process Group Name", "Process Group Ranks",  "Group size",          "dtype",
    "In msg nelems",   "Out msg nelems",     "Message size [bytes]", "NCCL communicator ID"};

/* What the table by kind has a row of. */
typedef struct kind {
    uint32_t device, step, type, group;
    int64_t size; /* HD_NO_NUMBER */
    uint32_t collective, zero;
} kind;

typedef struct told {
    kind kind;
    uint32_t ranks;
    int64_t in, out, message; /* HD_NO_NUMBER */
    int64_t duration, exposed;
    gpu_i128 bytes; /* -1: unknown */
} told;

typedef struct totals {
    uint64_t count, bytes_known;
    gpu_i128 time, exposed, bytes;
    gpu_i128 timed_bytes, timed; /* of those that have both */
    int64_t min, max;
} totals;

typedef struct communication {
    gpu_scope scope;
    gpu_arg args[ARGUMENTS];
    gpu_texts texts;
    uint8_t *known;     /* by string: gpu_collective + 1 */
    gpu_slices ops;     /* record_param_comms; without any, NCCL's ranges of NVTX */
    uint32_t *op_of;    /* by launch; NULL: there are none */
    gpu_spans *compute; /* by device */
    gpu_groups kinds;
    totals *totals; /* by group */
    size_t total_capacity;
    uint64_t count, sized;
    hd_table_builder *list, *by_kind;
} communication;

static gpu_collective collective_of_string(communication *c, uint32_t string)
{
    uint8_t *known = &c->known[string];
    if (!*known) *known = (uint8_t)(gpu_collective_of(hd_trace_string(c->scope.trace, string)) + 1);
    return (gpu_collective)(*known - 1);
}

/* The event that tells of a collective: the kernel, or the op around its launch. */
static const hd_block *teller_of(uint32_t *out_row, communication *c, uint32_t work)
{
    uint32_t row, launch = c->scope.works[work].launch;
    uint64_t slice = c->scope.launches->works[work].row;
    const hd_block *block = hd_trace_block_of(&row, c->scope.trace, HD_KIND_SLICE, slice);
    hd_value value;
    if (c->op_of && launch != HD_NONE && c->op_of[launch] != HD_NONE &&
        !gpu_arg_get(&value, &c->args[NAME], block, row))
        block = hd_trace_block_of(&row, c->scope.trace, HD_KIND_SLICE, c->ops.list[c->op_of[launch]].row);
    *out_row = row;
    return block;
}

/* The elements that make the bytes of nccl-tests: what a rank of an all-gather gets, what it gives of most others; what
 * the root of a gather gets, or of a scatter gives, as any rank knows it by its own part. HD_NO_NUMBER */
static int64_t elements_of(const told *t)
{
    int64_t all, ranks = t->kind.size;
    switch (t->kind.collective) {
    case GPU_ALL_GATHER: return t->out;
    case GPU_GATHER: return ranks > 0 && !__builtin_mul_overflow(t->in, ranks, &all) ? all : HD_NO_NUMBER;
    case GPU_SCATTER: return ranks > 0 && !__builtin_mul_overflow(t->out, ranks, &all) ? all : HD_NO_NUMBER;
    default: return t->in;
    }
}

static void find_bytes(told *t, const communication *c)
{
    int64_t elements = elements_of(t);
    t->bytes = t->message != HD_NO_NUMBER && t->message >= 0 ? t->message : -1;
    if (t->kind.collective == GPU_NO_COLLECTIVE || t->kind.type == HD_NONE || elements == HD_NO_NUMBER || elements < 0)
        return;
    unsigned width = type_bytes(gpu_text_of(&c->texts, t->kind.type));
    if (width) t->bytes = (gpu_i128)elements * width;
}

static bool tell(told *t, communication *c, uint32_t index)
{
    const gpu_work *work = &c->scope.works[index];
    uint32_t row;
    gpu_collective collective = GPU_NO_COLLECTIVE;
    const hd_block *block = teller_of(&row, c, index);
    *t = (told){.kind = {.device = work->device, .step = work->step, .size = HD_NO_NUMBER},
                .in = HD_NO_NUMBER,
                .out = HD_NO_NUMBER,
                .message = HD_NO_NUMBER,
                .duration = gpu_duration(work)};
    uint32_t said = gpu_arg_text(&c->args[NAME], block, row);
    if (said != HD_STRING_NONE) collective = collective_of_string(c, said);
    if (collective == GPU_NO_COLLECTIVE) collective = collective_of_string(c, c->scope.launches->works[index].name);
    t->kind.collective = collective;
    gpu_arg_whole(&t->kind.size, &c->args[SIZE], block, row);
    gpu_arg_whole(&t->in, &c->args[IN], block, row);
    gpu_arg_whole(&t->out, &c->args[OUT], block, row);
    gpu_arg_whole(&t->message, &c->args[MESSAGE], block, row);
    if (!gpu_arg_written(&t->kind.group, &c->texts, &c->args[GROUP], block, row) ||
        (t->kind.group == HD_NONE && !gpu_arg_written(&t->kind.group, &c->texts, &c->args[COMMUNICATOR], block, row)) ||
        !gpu_arg_written(&t->ranks, &c->texts, &c->args[RANKS], block, row) ||
        !gpu_arg_written(&t->kind.type, &c->texts, &c->args[TYPE], block, row))
        return false;
    find_bytes(t, c);
    t->exposed = t->duration - gpu_spans_covered(&c->compute[work->device], work->start, work->end);
    return true;
}

static bool sum_up(communication *c, const told *t)
{
    uint32_t count = c->kinds.count, group = gpu_group(&c->kinds, &t->kind);
    if (group == HD_NONE || !hd_grow((void **)&c->totals, &c->total_capacity, group, sizeof *c->totals)) return false;
    totals *sum = &c->totals[group];
    if (group == count) *sum = (totals){.min = t->duration, .max = t->duration};
    sum->count++;
    sum->time += t->duration;
    sum->exposed += t->exposed;
    if (t->duration < sum->min) sum->min = t->duration;
    if (t->duration > sum->max) sum->max = t->duration;
    if (t->bytes < 0) return true;
    c->sized++;
    sum->bytes_known++;
    sum->bytes += t->bytes;
    sum->timed_bytes += t->duration ? t->bytes : 0;
    sum->timed += t->duration;
    return true;
}

/* ---- cells ---- */

static void add_collective(hd_table_builder *t, uint32_t collective)
{
    if (collective == GPU_NO_COLLECTIVE)
        hd_table_add_null(t);
    else
        hd_table_add_text(t, gpu_collective_names[collective]);
}

/* Bytes, algorithm and bus bandwidth; timed_bytes in ns. */
static void add_bandwidths(hd_table_builder *t, const kind *key, gpu_i128 bytes, bool is_known, gpu_i128 timed_bytes,
                           gpu_i128 ns)
{
    double factor;
    gpu_cell_count(t, bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes, is_known);
    gpu_cell_ratio(t, timed_bytes, is_known ? ns : 0, 1);
    if (bus_factor(&factor, (gpu_collective)key->collective, key->size))
        gpu_cell_ratio(t, timed_bytes, is_known ? ns : 0, factor);
    else
        hd_table_add_null(t);
}

static void add_row(communication *c, uint32_t work, const told *t)
{
    hd_table_builder *b = c->list;
    gpu_cells_device(b, &c->scope, t->kind.device, t->kind.step);
    hd_table_add_int(b, c->scope.works[work].start);
    hd_table_add_int(b, t->duration);
    report_cell_string(b, c->scope.trace, c->scope.launches->works[work].name);
    add_collective(b, t->kind.collective);
    gpu_cell_text(b, &c->texts, t->kind.group);
    gpu_cell_text(b, &c->texts, t->ranks);
    report_cell_int(b, t->kind.size);
    gpu_cell_text(b, &c->texts, t->kind.type);
    report_cell_int(b, t->in);
    report_cell_int(b, t->out);
    add_bandwidths(b, &t->kind, t->bytes, t->bytes >= 0, t->bytes, t->duration);
    hd_table_add_int(b, t->exposed);
    hd_table_add_bool(b, true);
    hd_table_add_int(b, (int64_t)c->scope.launches->works[work].row);
}

static void add_kind(communication *c, uint32_t group)
{
    hd_table_builder *b = c->by_kind;
    const kind *key = gpu_group_key(&c->kinds, group);
    const totals *sum = &c->totals[group];
    gpu_cells_device(b, &c->scope, key->device, key->step);
    add_collective(b, key->collective);
    gpu_cell_text(b, &c->texts, key->type);
    report_cell_int(b, key->size);
    gpu_cell_text(b, &c->texts, key->group);
    hd_table_add_count(b, sum->count);
    hd_table_add_int(b, gpu_whole(sum->time));
    hd_table_add_int(b, gpu_nearest(sum->time, sum->count));
    hd_table_add_int(b, sum->min);
    hd_table_add_int(b, sum->max);
    hd_table_add_int(b, gpu_whole(sum->exposed));
    gpu_cell_ratio(b, sum->exposed, sum->time, 100);
    add_bandwidths(b, key, sum->bytes, sum->bytes_known > 0, sum->timed_bytes, sum->timed);
}

/* ---- all of them ---- */

/* The device on which a work computes; HD_NONE. */
static uint32_t computes_on(const gpu_scope *s, const gpu_work *work)
{
    return work->is_there && work->class == GPU_COMPUTE ? s->rows[work->row].stands_on : HD_NONE;
}

/* U(compute) of each device that communicates, whatever of it --names and --tracks choose. */
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

/* All slices of a role that have one of these names. */
static hd_status find_named(communication *c, hd_role role, const char *const *wanted, hd_error *err)
{
    const hd_trace *trace = c->scope.trace;
    uint8_t *names = calloc((size_t)hd_trace_string_count(trace) + 1, 1);
    bool any = false;
    if (!names) return HD_NOMEM(err);
    for (; *wanted; wanted++) {
        uint32_t id = hd_trace_find_string(trace, *wanted, strlen(*wanted));
        if (id != HD_NONE) names[id] = any = true;
    }
    hd_status status = any ? gpu_slices_named(&c->ops, &c->scope, 1u << role, names, err) : HD_OK;
    free(names);
    return status;
}

static hd_status find_ops(communication *c, hd_error *err)
{
    static const char *const ops[] = {"record_param_comms", NULL};
    /* Not ncclAllGather and the like: NCCL tells the bytes of one rank. */
    static const char *const ranges[] = {"ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclSend", "ncclRecv", NULL};
    HD_TRY(find_named(c, HD_ROLE_OP, ops, err));
    if (!c->ops.count) {
        gpu_slices_deinit(&c->ops);
        HD_TRY(find_named(c, HD_ROLE_ANNOTATION, ranges, err));
    }
    return c->ops.count ? gpu_innermost_of_launches(&c->op_of, &c->scope, &c->ops, err) : HD_OK;
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
    size_t count;
    told t;
    uint32_t *works = list_works(&count, &c->scope);
    hd_status status = works ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        if (!tell(&t, c, works[i]) || !sum_up(c, &t))
            status = HD_NOMEM(err);
        else if (t.exposed < 0)
            status = gpu_broken("exposed time of a collective, in ns", t.exposed, 0, err);
        else
            add_row(c, works[i], &t);
    }
    hd_large_free(works);
    c->count = count;
    for (uint32_t g = 0; g < c->kinds.count && status == HD_OK; g++) {
        count -= c->totals[g].count;
        add_kind(c, g);
    }
    return status == HD_OK && count ? gpu_broken("collectives of no kind", (int64_t)count, 0, err) : status;
}

/* ---- the report ---- */

static hd_status init(communication *c, const hd_trace *trace, hd_error *err)
{
    bool fine = (c->known = calloc((size_t)hd_trace_string_count(trace) + 1, 1)) != NULL;
    for (int i = 0; i < ARGUMENTS && fine; i++) fine = gpu_arg_init(&c->args[i], trace, argument_names[i]);
    if (!fine || !find_compute(c)) return HD_NOMEM(err);
    HD_TRY(find_ops(c, err));
    HD_TRY(report_builder(&c->list, &report_communication_about, "collectives", err));
    return report_builder(&c->by_kind, &report_communication_about, "communication", err);
}

static hd_status add_tables(hd_report *out, communication *c, hd_error *err)
{
    const char *notes[3] = {NULL};
    size_t count = 0;
    HD_TRY(add_all(c, err));
    hd_table_builder *list = c->list, *by_kind = c->by_kind;
    c->by_kind = NULL;
    HD_TRY(gpu_add(out, by_kind, "total", err));
    c->list = NULL;
    HD_TRY(gpu_add(out, list, NULL, err));
    if (c->scope.counted && !c->count) notes[count++] = "none of the GPU work is communication";
    if (c->count)
        notes[count++] = "times are upper bounds: in one rank's recording they include waiting for the others";
    if (c->count && !c->sized) notes[count++] = "no collective tells its bytes (In msg nelems, dtype)";
    return gpu_add_notes(out, &report_communication_about, &c->scope, notes, err);
}

static hd_status run(hd_report *out, const hd_report_input *input, const void *options, hd_error *err)
{
    communication c = {.kinds = {.key_size = sizeof(kind)}};
    hd_status status = gpu_scope_init(&c.scope, input, options, GPU_BY_STEP, err);
    if (status == HD_OK) status = init(&c, input->trace, err);
    if (status == HD_OK) status = add_tables(out, &c, err);
    if (status != HD_OK) hd_report_free(out);
    hd_table_builder_free(c.list);
    hd_table_builder_free(c.by_kind);
    for (int i = 0; i < ARGUMENTS; i++) gpu_arg_deinit(&c.args[i]);
    for (uint32_t d = 0; c.compute && d < c.scope.device_count; d++) gpu_spans_deinit(&c.compute[d]);
    free(c.compute);
    free(c.known);
    free(c.totals);
    gpu_texts_deinit(&c.texts);
    gpu_groups_deinit(&c.kinds);
    gpu_slices_deinit(&c.ops);
    hd_large_free(c.op_of);
    gpu_scope_deinit(&c.scope);
    return status;
}

/* ---- about ---- */

#define BANDWIDTHS                                                                                                     \
    {"algorithm_bandwidth", HD_VALUE_DECIMAL, "GB/s: bytes per time"},                                                 \
    {                                                                                                                  \
        "bus_bandwidth", HD_VALUE_DECIMAL, "GB/s over each link, as nccl-tests count it; null: size is not known"      \
    }

static const hd_report_column communication_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"collective", HD_VALUE_STRING, "AllReduce, AllGather …; null: neither the name nor an argument tells it"},
    {"dtype", HD_VALUE_STRING, "type of the elements"},
    {"size", HD_VALUE_INT, "ranks in the group"},
    {"group", HD_VALUE_STRING, "name of the group"},
    {"count", HD_VALUE_COUNT, "kernels"},
    {"total", HD_VALUE_DURATION, "sum of their durations"},
    {"mean", HD_VALUE_DURATION, "of the durations"},
    {"min", HD_VALUE_DURATION, "the shortest"},
    {"max", HD_VALUE_DURATION, "the longest"},
    {"exposed", HD_VALUE_DURATION, "of the total, while no compute runs on the device"},
    {"exposed_share", HD_VALUE_DECIMAL, "percent of the total"},
    {"bytes", HD_VALUE_BYTES,
     "elements times size of the type: of AllGather what goes out, of Gather and Scatter that of all ranks, else what "
     "goes in"},
    BANDWIDTHS,
    {0},
};

static const hd_report_column collectives_columns[] = {
    GPU_COLUMNS_DEVICE,
    {"start", HD_VALUE_TIME, "when it began"},
    {"duration", HD_VALUE_DURATION, "how long it ran"},
    {"name", HD_VALUE_STRING, "of the kernel"},
    {"collective", HD_VALUE_STRING, "AllReduce, AllGather …; null: neither the name nor an argument tells it"},
    {"group", HD_VALUE_STRING, "name of the group"},
    {"ranks", HD_VALUE_STRING, "in the group, as the trace has them"},
    {"size", HD_VALUE_INT, "ranks in the group"},
    {"dtype", HD_VALUE_STRING, "type of the elements"},
    {"in", HD_VALUE_INT, "elements that go in"},
    {"out", HD_VALUE_INT, "elements that come out"},
    {"bytes", HD_VALUE_BYTES,
     "elements times size of the type: of AllGather what goes out, of Gather and Scatter that of all ranks, else what "
     "goes in"},
    BANDWIDTHS,
    {"exposed", HD_VALUE_DURATION, "while no compute runs on the device"},
    {"upper_bound", HD_VALUE_BOOL, "yes: a rank's duration includes waiting for the others"},
    {"id", HD_VALUE_INT, GPU_ID_OF "it"},
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
    .title = "what the GPUs send one another, how fast, and what of it nothing hides",
    .text = "Kernels of NCCL, RCCL and the like: which collective, of what group, how many bytes, the bandwidth of the "
            "algorithm and of the bus as nccl-tests count them (10^9 bytes a second), and how much of the time no "
            "compute ran beside it. One rank's durations include waiting for the other ranks, so that bandwidths are "
            "lower bounds.",
    .options = options,
    .options_size = sizeof(gpu_options),
    .tables = tables,
    .run = run,
};
