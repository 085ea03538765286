/* rows.c - a row of a table -> an event, with its columns as arguments */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "format/numbers.h"
#include "format/stack_text.h"
#include "format/xctrace/xctrace.h"

/* A row on its way. */
typedef struct event {
    xctrace_reader *r;
    const xctrace_table *table;
    const uint32_t *cells;
    uint32_t count;
    hd_row row;
    bool name_is_cut;
    hd_arg_key keys[XCTRACE_COLUMNS + 4];
    int64_t values[XCTRACE_COLUMNS + 4];
    uint32_t arg_count;
} event;

static const xctrace_value *of_role(const event *e, xctrace_role role)
{
    int column = e->table->of_role[role];
    return column >= 0 && (uint32_t)column < e->count ? xctrace_value_at(&e->r->values, e->cells[column]) : NULL;
}

static hd_string shown(const event *e, const xctrace_value *v)
{
    return v ? hd_builder_string(e->r->builder, v->fmt ? v->fmt : v->text) : (hd_string){"", 0};
}

static hd_ident number_ident(xctrace_reader *r, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern_text(r->builder, text)};
}

static hd_ident text_ident(xctrace_reader *r, hd_string text)
{
    return (hd_ident){HD_IDENT_STRING, hd_builder_intern(r->builder, text.data, text.size)};
}

/* ---- tracks ---- */

/* Names a track once: by the text before the last `word`. */
static hd_status name_track(xctrace_reader *r, uint32_t track, hd_string text, const char *word)
{
    hd_map_entry *known = track == HD_NONE ? NULL : hd_map_at(&r->named, track, 0);
    size_t size = text.size, length = strlen(word);
    if (!known) return HD_NOMEM(r->err);
    if (known->value++) return HD_OK;
    for (size_t i = length ? text.size : 0; i-- > 0;) {
        if (text.size - i < length || memcmp(text.data + i, word, length) != 0) continue;
        size = i;
        break;
    }
    if (size) hd_builder_name_track(r->builder, track, hd_builder_intern(r->builder, text.data, size));
    return HD_OK;
}

static hd_status name_process(event *e, hd_ident pid, const xctrace_value *process)
{
    if (!process) return HD_OK;
    return name_track(e->r, hd_builder_track(e->r->builder, pid, (hd_ident){0}, true), shown(e, process), " (");
}

static hd_ident pid_of(const event *e, const xctrace_value *process)
{
    const xctrace_value *pid = xctrace_child(&e->r->values, process, e->r->text.pid);
    return pid && pid->has_number ? number_ident(e->r, pid->number) : text_ident(e->r, shown(e, process));
}

static hd_status place_on_thread(event *e, const xctrace_value *thread)
{
    xctrace_reader *r = e->r;
    const xctrace_value *process = xctrace_child(&r->values, thread, r->text.process);
    const xctrace_value *tid = xctrace_child(&r->values, thread, r->text.tid);
    if (!process) process = of_role(e, XCTRACE_PROCESS);
    hd_ident pid = process ? pid_of(e, process) : text_ident(r, (hd_string){"threads", 7});
    hd_ident id = tid && tid->has_number ? number_ident(r, tid->number) : text_ident(r, shown(e, thread));
    e->row.track = hd_builder_track(r->builder, pid, id, false);
    HD_TRY(name_process(e, pid, process));
    return name_track(r, e->row.track, shown(e, thread), " (0x");
}

/* With a process: a track per table; else the table is the process, and its lanes are the tracks. */
static hd_status place_by_table(event *e)
{
    xctrace_reader *r = e->r;
    const xctrace_value *process = of_role(e, XCTRACE_PROCESS), *lane = of_role(e, XCTRACE_LANE);
    hd_string table = hd_builder_string(r->builder, e->table->name);
    if (!lane) lane = of_role(e, XCTRACE_GPU);
    hd_ident pid = process ? pid_of(e, process) : text_ident(r, table);
    e->row.track = hd_builder_track(r->builder, pid, text_ident(r, process || !lane ? table : shown(e, lane)), false);
    return name_process(e, pid, process);
}

static uint32_t number_of(hd_map *map, uint64_t a, uint64_t b)
{
    uint32_t next = (uint32_t)map->count + 1;
    hd_map_entry *entry = hd_map_at(map, a, b);
    if (entry && !entry->value) entry->value = next;
    return entry ? entry->value - 1 : HD_NONE;
}

static hd_status place_on_queue(event *e)
{
    xctrace_reader *r = e->r;
    hd_builder *b = r->builder;
    hd_string gpu = shown(e, of_role(e, XCTRACE_GPU)), channel = shown(e, of_role(e, XCTRACE_LANE));
    uint32_t device = number_of(&r->gpus, hd_builder_intern(b, gpu.data, gpu.size), 0), number;
    uint32_t stream = number_of(&r->channels, device, hd_builder_intern(b, channel.data, channel.size));
    char text[24];
    if (device == HD_NONE || stream == HD_NONE) return HD_NOMEM(r->err);
    int size = snprintf(text, sizeof text, "GPU %u", device);
    hd_ident pid = text_ident(r, (hd_string){text, (size_t)size});
    uint32_t process = hd_builder_track(b, pid, (hd_ident){0}, true);
    e->row.track = hd_builder_track(b, pid, text_ident(r, channel.size ? channel : (hd_string){"queue", 5}), false);
    if (process == HD_NONE || e->row.track == HD_NONE) return HD_NOMEM(r->err);
    if (hd_map_get(&number, &r->named, e->row.track, 0)) return HD_OK;
    hd_builder_set_stream(b, e->row.track, device, stream);
    hd_sort_numbered(b, process, HD_SORT_DEVICES, device);
    if (gpu.size) hd_builder_label_track(b, process, hd_builder_intern(b, gpu.data, gpu.size));
    HD_TRY(name_track(r, process, (hd_string){text, (size_t)size}, ""));
    return name_track(r, e->row.track, channel, "");
}

static hd_status place(event *e)
{
    const xctrace_value *thread = of_role(e, XCTRACE_THREAD);
    hd_status status = e->table->sort == XCTRACE_QUEUES ? place_on_queue(e)
                       : thread                         ? place_on_thread(e, thread)
                                                        : place_by_table(e);
    return status == HD_OK && e->row.track == HD_NONE ? HD_NOMEM(e->r->err) : status;
}

/* ---- times and names ---- */

static hd_status set_times(event *e)
{
    const xctrace_value *start = of_role(e, XCTRACE_START), *duration = of_role(e, XCTRACE_DURATION);
    bool has_stack = e->table->of_role[XCTRACE_STACK] >= 0;
    int64_t end;
    e->row = hd_row_of(HD_KIND_OTHER, 0);
    if (!start || !start->has_number)
        return xctrace_note(e->r, "xctrace.row-without-time", HD_LEDGER_NOTE, HD_OFFSET_NONE);
    bool is_slice = duration && duration->has_number && duration->number >= 0;
    if (is_slice && __builtin_add_overflow(start->number, duration->number, &end))
        return xctrace_note(e->r, "xctrace.time-out-of-range", HD_LEDGER_REPAIR, HD_OFFSET_NONE);
    if (!is_slice && duration && duration->has_number)
        HD_TRY(xctrace_note(e->r, "xctrace.duration-negative", HD_LEDGER_REPAIR, HD_OFFSET_NONE));
    if (is_slice || e->table->sort == XCTRACE_LAUNCHES)
        e->row = hd_row_of(HD_KIND_SLICE, 'X');
    else
        e->row = has_stack && !duration ? hd_row_of(HD_KIND_SAMPLE, 'P') : hd_row_of(HD_KIND_INSTANT, 'i');
    e->row.start_ns = start->number;
    if (e->row.kind == HD_KIND_SLICE) e->row.duration_ns = is_slice ? duration->number : 0;
    return HD_OK;
}

/* "Command Buffer 0:Compute Command 0   (python (99926)) 0x4e18" is named by the text before three blanks. */
static void set_name(event *e)
{
    hd_string text = shown(e, of_role(e, XCTRACE_NAME));
    const char *end = text.size ? memmem(text.data, text.size, "   (", 4) : NULL;
    e->name_is_cut = end && end > text.data;
    if (e->name_is_cut) text.size = (size_t)(end - text.data);
    e->row.name = text.size                       ? hd_builder_intern(e->r->builder, text.data, text.size)
                  : e->row.kind == HD_KIND_SAMPLE ? hd_builder_intern_text(e->r->builder, "sample")
                                                  : e->table->name;
    e->row.category = e->table->category;
}

/* ---- arguments ---- */

static void add_arg(event *e, uint32_t key, hd_arg_type type, int64_t bits, hd_arg_scope scope)
{
    e->keys[e->arg_count] = (hd_arg_key){key, (uint8_t)type, (uint8_t)scope, 0};
    e->values[e->arg_count++] = bits;
}

static bool is_said(const event *e, uint32_t column)
{
    static const xctrace_role said[] = {XCTRACE_START,   XCTRACE_DURATION, XCTRACE_THREAD,
                                        XCTRACE_PROCESS, XCTRACE_STACK,    XCTRACE_KERNEL_STACK};
    if (e->row.kind == HD_KIND_OTHER) return false;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (e->table->of_role[said[i]] == (int)column)
            return said[i] != XCTRACE_PROCESS || e->table->sort != XCTRACE_QUEUES;
    return e->table->of_role[XCTRACE_NAME] == (int)column && !e->name_is_cut;
}

static void add_columns(event *e)
{
    const xctrace_table *t = e->table;
    for (uint32_t i = 0; i < e->count; i++) {
        const xctrace_value *v = xctrace_value_at(&e->r->values, e->cells[i]);
        if (!v || is_said(e, i)) continue;
        uint32_t key = i < t->column_count ? t->columns[i].key : v->type;
        if (v->has_number && !v->fmt)
            add_arg(e, key, HD_ARG_INT, v->number, HD_SCOPE_ARGS);
        else if (v->fmt || v->text)
            add_arg(e, key, HD_ARG_STRING, v->fmt ? v->fmt : v->text, HD_SCOPE_ARGS);
    }
}

static hd_status add_stack(event *e)
{
    xctrace_reader *r = e->r;
    int user = e->table->of_role[XCTRACE_STACK], kernel = e->table->of_role[XCTRACE_KERNEL_STACK];
    uint32_t node = HD_STACK_NONE;
    if (user >= 0 && (uint32_t)user < e->count) node = xctrace_stack(r, node, e->cells[user], HD_FRAME_NATIVE);
    if (node != HD_NONE && kernel >= 0 && (uint32_t)kernel < e->count)
        node = xctrace_stack(r, node, e->cells[kernel], HD_FRAME_OS);
    if (node == HD_NONE) return HD_NOMEM(r->err);
    if (node != HD_STACK_NONE) add_arg(e, r->text.sf, HD_ARG_INT, node, HD_SCOPE_EVENT);
    return HD_OK;
}

/* An activity and its launch belong to the same command buffer. */
static void add_correlation(event *e)
{
    const xctrace_value *id = of_role(e, XCTRACE_COMMAND_BUFFER);
    bool is_one = e->table->sort == XCTRACE_QUEUES || e->table->sort == XCTRACE_LAUNCHES;
    if (is_one && id && id->has_number && id->number > 0)
        add_arg(e, e->r->text.correlation, HD_ARG_INT, id->number, HD_SCOPE_ARGS);
}

static hd_status set_args(event *e)
{
    uint32_t args;
    if (!e->r->want_args) return HD_OK;
    add_columns(e);
    add_correlation(e);
    args = e->arg_count;
    HD_TRY(add_stack(e));
    e->row.shape = hd_builder_shape(e->r->builder, e->keys, e->arg_count, args > 0);
    if (e->row.shape != HD_NONE) return HD_OK;
    e->row.shape = 0;
    return xctrace_note(e->r, "xctrace.arguments-lost", HD_LEDGER_LOSS, HD_OFFSET_NONE);
}

/* ---- rows ---- */

/* A slice that may cross others: two points of an async slice. */
static hd_status add_range(event *e)
{
    hd_row row = e->row;
    row.kind = HD_KIND_ASYNC;
    row.phase = 'b';
    row.id_type = HD_ID_INT;
    row.id = (int64_t)++e->r->ranges;
    row.duration_ns = HD_NO_TIME;
    HD_TRY(hd_rows_out_add(&e->r->out, &row, e->values, e->r->err));
    row.phase = 'e';
    row.start_ns += e->row.duration_ns;
    row.shape = 0;
    return hd_rows_out_add(&e->r->out, &row, NULL, e->r->err);
}

hd_status xctrace_add_row(xctrace_reader *r, const xctrace_table *table, const uint32_t *cells, uint32_t count)
{
    event e = {.r = r, .table = table, .cells = cells, .count = count < XCTRACE_COLUMNS ? count : XCTRACE_COLUMNS};
    if (!count) return xctrace_note(r, "xctrace.row-without-cells", HD_LEDGER_LOSS, HD_OFFSET_NONE);
    r->rows++;
    if (e.count < count) HD_TRY(xctrace_note(r, "xctrace.columns-lost", HD_LEDGER_LOSS, HD_OFFSET_NONE));
    HD_TRY(set_times(&e));
    HD_TRY(place(&e));
    set_name(&e);
    HD_TRY(set_args(&e));
    bool is_range = table->sort == XCTRACE_RANGES && e.row.kind == HD_KIND_SLICE;
    return is_range ? add_range(&e) : hd_rows_out_add(&r->out, &e.row, e.values, r->err);
}
