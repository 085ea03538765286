/* collectives.c - the rows of the report "communication" as records, numbered within their groups
 *
 * Groups: a name may be that of several groups with different ranks, which one rank's trace does not show. If the ranks
 * are known, the lowest becomes part of the name, so that names are unique. Messages: PyTorch numbers the sends and
 * receives of each rank in a group together, for all peers, so that the numbers of two ranks agree only in a group of
 * two. In larger groups those of one rank to another are a group of their own, "5 0>1", and counted: they arrive in the
 * order of sending. Ascend: the trace has tasks, many of which are one collective: consecutive ones with the same
 * number.
 *
 * If the trace has no numbers, the index within the step is used: a rank that lost one, or whose recording begins
 * elsewhere, is misaligned for that step only. Collectives in no step, or in one without a unique number, continue the
 * count.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/arena.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "model/roles/trace_roles.h"
#include "report/gpu/gpu.h"
#include "report/job/groups.h"
#include "report/job/job.h"

struct hd_collectives {
    hd_report report; /* has the texts, but for: */
    hd_arena names;
    hd_collective *list;
    size_t count;
};

enum { RANK, DEVICE, STEP, STEP_START, GROUP, RANKS, OPERATION, SIZE, BYTES, START, DURATION, ID, COLUMNS };
static const char *const column_names[COLUMNS] = {"rank",       "device", "step",  "step_start", "group",    "ranks",
                                                  "collective", "size",   "bytes", "start",      "duration", "id"};

typedef struct rows {
    const hd_trace *trace;
    const hd_table *table;
    size_t columns[COLUMNS];
    gpu_arg sequence, target, source, task_of;
} rows;

static int64_t int_of(const rows *r, size_t row, int column)
{
    size_t at = r->columns[column];
    return hd_table_is_null(r->table, row, at) ? HD_NO_NUMBER : hd_table_get_int(r->table, row, at);
}

static hd_string text_of(const rows *r, size_t row, int column)
{
    hd_string text = {NULL, 0};
    size_t at = r->columns[column];
    if (!hd_table_is_null(r->table, row, at)) text.data = hd_table_get_string(&text.size, r->table, row, at);
    return text;
}

static int64_t bytes_of(const rows *r, size_t row)
{
    size_t at = r->columns[BYTES];
    uint64_t bytes = hd_table_is_null(r->table, row, at) ? UINT64_MAX : hd_table_get_count(r->table, row, at);
    return bytes > INT64_MAX ? HD_NO_NUMBER : (int64_t)bytes;
}

bool job_next_rank(int64_t *out, hd_string list, size_t *at)
{
    while (*at < list.size && strchr("[ ,]", list.data[*at])) ++*at;
    size_t end = *at;
    while (end < list.size && !strchr("[ ,]", list.data[end])) end++;
    bool fine = end > *at && hd_fixed_parse_whole(out, list.data + *at, end - *at);
    *at = end;
    return fine;
}

static const char from[] = " from ";

hd_string job_group_as_told(hd_string name)
{
    size_t size = name.size, word = sizeof from - 1;
    while (size && name.data[size - 1] >= '0' && name.data[size - 1] <= '9') size--;
    bool is_made = size < name.size && size > word && memcmp(name.data + size - word, from, word) == 0;
    return (hd_string){name.data, is_made ? size - word : name.size};
}

bool job_name_group(hd_string *name, hd_string ranks, hd_arena *texts)
{
    int64_t rank, lowest = INT64_MAX;
    size_t digits = 0;
    while (digits < name->size && name->data[digits] >= '0' && name->data[digits] <= '9') digits++;
    for (size_t at = 0; digits < name->size && job_next_rank(&rank, ranks, &at);)
        if (rank < lowest) lowest = rank;
    if (lowest == INT64_MAX) return true;
    char *text = hd_arena_alloc(texts, name->size + sizeof from + 20);
    if (!text) return false;
    memcpy(text, name->data, name->size);
    int written = snprintf(text + name->size, sizeof from + 20, "%s%" PRId64, from, lowest);
    *name = (hd_string){text, name->size + (size_t)written};
    return true;
}

/* false: no memory. */
static bool name_pair(hd_collective *c, rows *r, hd_arena *names, const hd_block *block, uint32_t at)
{
    int64_t other;
    bool sends = gpu_arg_whole(&other, &r->target, block, at);
    if (!c->is_point_to_point || !c->group.data || c->size == 2 || c->rank == HD_NO_NUMBER) return true;
    if ((!sends && !gpu_arg_whole(&other, &r->source, block, at)) || other == c->rank) return true;
    size_t size = c->group.size + 2 * 20 + 3;
    char *name = hd_arena_alloc(names, size);
    if (!name) return false;
    int written = snprintf(name, size, "%.*s %" PRId64 ">%" PRId64, (int)c->group.size, c->group.data,
                           sends ? c->rank : other, sends ? other : c->rank);
    c->group = (hd_string){name, (size_t)written};
    c->size = 2;
    c->sequence_is_counted = true;
    return true;
}

static bool read_row(hd_collective *out, rows *r, hd_arena *names, size_t row)
{
    uint32_t at;
    uint64_t event = (uint64_t)int_of(r, row, ID);
    const hd_block *block = hd_trace_block_of(&at, r->trace, HD_KIND_SLICE, event);
    hd_event slice;
    hd_block_event(&slice, block, at);
    int64_t start = int_of(r, row, START), stream = hd_trace_track_at(r->trace, slice.track)->stream;
    if (stream == HD_NO_NUMBER) stream = hd_trace_track_at(r->trace, gpu_lane_of(r->trace, slice.track))->stream;
    *out = (hd_collective){.rank = int_of(r, row, RANK),
                           .device = int_of(r, row, DEVICE),
                           .step = text_of(r, row, STEP),
                           .step_start_ns = int_of(r, row, STEP_START),
                           .stream = stream,
                           .group = text_of(r, row, GROUP),
                           .operation = text_of(r, row, OPERATION),
                           .size = int_of(r, row, SIZE),
                           .bytes = bytes_of(r, row),
                           .start_ns = start,
                           .end_ns = start + int_of(r, row, DURATION),
                           .event = event};
    out->is_point_to_point = out->operation.size == 8 && memcmp(out->operation.data, "SendRecv", 8) == 0;
    out->sequence_is_counted = !gpu_arg_whole(&out->sequence, &r->sequence, block, at);
    return job_name_group(&out->group, text_of(r, row, RANKS), names) && name_pair(out, r, names, block, at);
}

/* The collective of a task; HD_NO_NUMBER: it is a collective itself. */
static int64_t whole_of(rows *r, uint64_t event)
{
    uint32_t at;
    int64_t whole;
    const hd_block *block = hd_trace_block_of(&at, r->trace, HD_KIND_SLICE, event);
    return gpu_arg_whole(&whole, &r->task_of, block, at) ? whole : HD_NO_NUMBER;
}

/* The order of the list: below, at or above 0. */
static int compare_groups(const hd_collective *x, const hd_collective *y)
{
    int order = job_compare_numbers(x->rank, y->rank);
    if (!order) order = job_compare_numbers(x->device, y->device);
    return order ? order : job_compare_groups(x, y);
}

/* Those of one member and group, by start. Collectives before the first step belong to the step before it. */
static void count_group(hd_collective *list, size_t count)
{
    int64_t number, part = 0, place = 0;
    for (size_t i = 0; i < count; i++) {
        if (!hd_step_number(&number, list[i].step)) continue;
        part = i ? number : number + 1;
        break;
    }
    for (size_t i = 0; i < count; i++) {
        if (hd_step_number(&number, list[i].step) && number + 1 > part) {
            part = number + 1;
            place = 0;
        }
        if (list[i].sequence_is_counted) list[i].sequence = part * HD_COLLECTIVES_OF_STEP + place;
        place++;
    }
}

/* In the order of the list. */
static void join_tasks(hd_collectives *c, rows *r)
{
    const hd_trace_facts *facts = hd_trace_facts_of(r->trace);
    const char *format = facts->origin ? facts->origin : facts->format;
    size_t count = 0;
    if (!format || strcmp(format, "ascend") != 0) return;
    for (size_t i = 0; i < c->count; i++) {
        hd_collective *last = count ? &c->list[count - 1] : NULL, *row = &c->list[i];
        int64_t whole = whole_of(r, row->event);
        if (!last || whole == HD_NO_NUMBER || compare_groups(last, row) != 0 ||
            !job_is_same_text(last->operation, row->operation) || whole_of(r, last->event) != whole)
            c->list[count++] = *row;
        else if (row->end_ns > last->end_ns)
            last->end_ns = row->end_ns;
    }
    c->count = count;
}

/* In the table, collectives in no step come first. */
static int compare(const hd_collective *x, const hd_collective *y)
{
    int order = compare_groups(x, y);
    if (!order) order = job_compare_numbers(x->start_ns, y->start_ns);
    return order ? order : (x->event > y->event) - (x->event < y->event);
}

static bool sort_and_count(hd_collectives *c, rows *r)
{
    hd_collective *spare = malloc((c->count + 1) * sizeof *spare);
    if (!spare) return false;
    HD_SORT_RUNS(c->list, spare, c->count, x, y, compare(x, y) < 0);
    free(spare);
    join_tasks(c, r);
    for (size_t i = 0, end; i < c->count; i = end) {
        for (end = i + 1; end < c->count && compare_groups(&c->list[i], &c->list[end]) == 0;) end++;
        count_group(c->list + i, end - i);
    }
    return true;
}

static hd_status read_rows(hd_collectives *c, const hd_trace *trace, hd_error *err)
{
    rows r = {.trace = trace, .table = hd_report_table(&c->report, "collectives")};
    c->count = hd_table_row_count(r.table);
    for (int i = 0; i < COLUMNS; i++) r.columns[i] = hd_table_find_column(r.table, column_names[i]);
    c->list = malloc((c->count + 1) * sizeof *c->list);
    bool fine = c->list && gpu_arg_init(&r.sequence, trace, "Seq") && gpu_arg_init(&r.target, trace, "Dst Rank") &&
                gpu_arg_init(&r.source, trace, "Src Rank") && gpu_arg_init(&r.task_of, trace, "op id");
    for (size_t i = 0; i < c->count && fine; i++) fine = read_row(&c->list[i], &r, &c->names, i);
    fine = fine && sort_and_count(c, &r);
    gpu_arg_deinit(&r.sequence);
    gpu_arg_deinit(&r.target);
    gpu_arg_deinit(&r.source);
    gpu_arg_deinit(&r.task_of);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status job_collectives_new(hd_collectives **out, const hd_report_input *input, hd_error *err)
{
    hd_report_input by_step = *input;
    by_step.options = (const char *const[]){"by=step", NULL};
    *out = NULL;
    hd_collectives *c = calloc(1, sizeof *c);
    if (!c) return HD_NOMEM(err);
    hd_status status = hd_report_run(&c->report, "communication", &by_step, err);
    if (status == HD_OK) status = read_rows(c, input->trace, err);
    if (status == HD_OK)
        *out = c;
    else
        hd_collectives_free(c);
    return status;
}

hd_status hd_collectives_new(hd_collectives **out, const hd_trace *trace, hd_error *err)
{
    return job_collectives_new(out, &(hd_report_input){.trace = trace}, err);
}

void hd_collectives_free(hd_collectives *collectives)
{
    if (!collectives) return;
    hd_report_free(&collectives->report);
    hd_arena_deinit(&collectives->names);
    free(collectives->list);
    free(collectives);
}

size_t hd_collectives_count(const hd_collectives *collectives)
{
    return collectives->count;
}

const hd_collective *hd_collectives_at(const hd_collectives *collectives, size_t index)
{
    return &collectives->list[index];
}
