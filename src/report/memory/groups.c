/* groups.c - live memory at the peak and at the end, by stack
 *
 * Live allocations are sorted by group key, and groups by their bytes. Rows beyond the limit become one, so that a
 * table always adds up to the total.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/memory/memory.h"
#include "trace/spill.h"

__extension__ typedef unsigned __int128 wide;

typedef struct live_item {
    uint32_t group, node, event;
    uint64_t size; /* 0: of any */
} live_item;

typedef struct live_row {
    uint32_t pool;
    uint32_t category, node;
    uint64_t count, size, bytes; /* count 0: unknown; size 0: several */
    int64_t first_ns, last_ns;   /* of the allocations, HD_NO_TIME: not known */
    const char *note;            /* instead of a stack; NULL: there is a stack, or none is known */
} live_row;

typedef struct live_rows {
    live_row *list;
    size_t count, capacity;
} live_rows;

/* ---- which ---- */

static bool is_leak(const hd_memory_event *event)
{
    return !event->is_free && event->has_address && event->end == HD_NONE;
}

static bool is_live_at(const hd_memory *m, uint32_t index)
{
    const hd_memory_event *event = &m->events[index];
    uint32_t peak = m->pools[m->groups[event->group].pool].peak_event;
    return !event->is_free && event->has_address && index <= peak && (event->end == HD_NONE || event->end > peak);
}

static bool find_items(live_item **out, size_t *out_count, const hd_memory *m, bool at_peak, uint64_t large)
{
    size_t count = 0, at = 0;
    for (uint32_t i = 0; i < m->event_count; i++) count += at_peak ? is_live_at(m, i) : is_leak(&m->events[i]);
    *out_count = count;
    *out = hd_large_new(count ? count : 1, sizeof **out, large);
    for (uint32_t i = 0; *out && i < m->event_count; i++) {
        const hd_memory_event *event = &m->events[i];
        if (at_peak ? is_live_at(m, i) : is_leak(event))
            (*out)[at++] = (live_item){event->group, event->node, i, at_peak ? event->bytes : 0};
    }
    return *out != NULL;
}

static int by_group(const void *a, const void *b)
{
    const live_item *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static bool add_row(live_rows *rows, const live_row *row)
{
    if (!hd_grow((void **)&rows->list, &rows->capacity, rows->count, sizeof *rows->list)) return false;
    rows->list[rows->count++] = *row;
    return true;
}

static uint64_t clamp(wide sum)
{
    return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

static bool group_items(live_rows *rows, const hd_memory *m, const live_item *items, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        wide bytes = 0;
        const live_item *first = &items[i];
        for (next = i; next < count && items[next].group == first->group && items[next].node == first->node &&
                       items[next].size == first->size;
             next++)
            bytes += m->events[items[next].event].bytes;
        const live_row row = {.pool = m->groups[first->group].pool,
                              .category = m->groups[first->group].category,
                              .node = first->node,
                              .count = next - i,
                              .size = first->size,
                              .bytes = clamp(bytes),
                              .first_ns = m->events[first->event].time_ns,
                              .last_ns = m->events[items[next - 1].event].time_ns};
        if (!add_row(rows, &row)) return false;
    }
    return true;
}

/* Live memory that is not an allocation of the trace with an address. */
static bool add_rests(live_rows *rows, const hd_memory *m, bool at_peak)
{
    for (uint32_t i = 0; i < m->pool_count; i++) {
        const hd_memory_pool *pool = &m->pools[i];
        live_row row = {.pool = i, .first_ns = HD_NO_TIME, .last_ns = HD_NO_TIME};
        int64_t loose = at_peak ? pool->peak_loose_bytes : pool->loose_bytes, before;
        row.note = "[allocations without an address]";
        row.bytes = loose > 0 ? (uint64_t)loose : 0;
        if (loose > 0 && !add_row(rows, &row)) return false;
        if (!at_peak || __builtin_sub_overflow(pool->peak_bytes, pool->peak_live_bytes, &before) || before <= 0)
            continue;
        row.note = "[allocated before the recording, or not recorded]";
        row.bytes = (uint64_t)before;
        if (!add_row(rows, &row)) return false;
    }
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    const live_row *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    if (x->pool != y->pool) return x->pool < y->pool ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->category != y->category) return x->category < y->category ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

static hd_status find_rows(live_rows *rows, const hd_memory *m, bool at_peak, uint64_t large, hd_error *err)
{
    live_item *items;
    size_t count;
    if (!find_items(&items, &count, m, at_peak, large)) return HD_NOMEM(err);
    bool fine = hd_large_sort(items, count, sizeof *items, by_group, large) && group_items(rows, m, items, count) &&
                add_rests(rows, m, at_peak);
    hd_large_free(items);
    if (!fine) return HD_NOMEM(err);
    if (rows->count) hd_sort(rows->list, rows->count, sizeof *rows->list, by_bytes);
    return HD_OK;
}

/* ---- stacks as text ---- */

enum { FRAMES_SHOWN = 3, FRAMES_LIMIT = 1024, TEXT_LIMIT = 65536 };

static size_t put(char *out, size_t at, size_t size, hd_string text)
{
    size_t n = text.size < size - at ? text.size : size - at;
    memcpy(out + at, text.data, n);
    return at + n;
}

/* PyTorch's own operators call each other: the inner ones are less informative than the outermost. */
static bool is_operator(hd_string name)
{
    return name.size > 6 && memcmp(name.data, "aten::", 6) == 0;
}

/* Frames of taking the stack, and of the allocator: the innermost frames of any allocation with a C++ stack. */
static bool is_of_allocator(hd_string name)
{
    static const char *const parts[] = {"unwind::unwind", "CapturedTraceback::gather", "gather_with_cpp",
                                        "CachingAllocator::"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (memmem(name.data, name.size, parts[i], strlen(parts[i]))) return true;
    }
    return false;
}

/* The innermost frame from `node` on that is not of the allocator; else the node itself. */
static uint32_t first_shown(const hd_stacks *stacks, uint32_t node)
{
    uint32_t at = node;
    for (int i = 0; i < FRAMES_LIMIT && at != HD_STACK_NONE; i++) {
        hd_frame frame = hd_stacks_at(stacks, at);
        if (!is_of_allocator(hd_stacks_text(stacks, frame.name))) return at;
        at = frame.caller;
    }
    return node;
}

/* The next frame to show from `node` on: the innermost that is not an operator, else the node itself. Of C++ frames
 * between that and a Python frame only the latter is shown: it is the user's. */
static uint32_t next_shown(const hd_stacks *stacks, uint32_t node)
{
    uint32_t at = node, first = HD_STACK_NONE;
    for (int i = 0; i < FRAMES_LIMIT && at != HD_STACK_NONE; i++) {
        hd_frame frame = hd_stacks_at(stacks, at);
        if (!is_operator(hd_stacks_text(stacks, frame.name))) {
            if (frame.kind != HD_FRAME_NATIVE) return at;
            if (first == HD_STACK_NONE) first = at;
        }
        at = frame.caller;
    }
    return first != HD_STACK_NONE ? first : node;
}

/* "aten::empty < … < model.py(12): forward < train": the innermost frame that is not the allocator's, and the nearest
 * that are not operators. */
static void cell_where(hd_table_builder *b, const hd_stacks *stacks, uint32_t node, char *text)
{
    size_t size = 0;
    for (int i = 0; i < FRAMES_SHOWN && node != HD_STACK_NONE; i++) {
        uint32_t shown = i ? next_shown(stacks, node) : first_shown(stacks, node);
        hd_frame frame = hd_stacks_at(stacks, shown);
        if (i) size = put(text, size, TEXT_LIMIT, (hd_string){" < ", 3});
        if (i && shown != node) size = put(text, size, TEXT_LIMIT, (hd_string){"… < ", strlen("… < ")});
        size = put(text, size, TEXT_LIMIT, hd_stacks_text(stacks, frame.name));
        node = frame.caller;
    }
    if (size)
        hd_table_add_string(b, text, size);
    else
        hd_table_add_text(b, "[no stack]");
}

/* "train;aten::zeros;aten::empty": all of it, the innermost FRAMES_LIMIT. */
static void cell_stack(hd_table_builder *b, const hd_stacks *stacks, uint32_t node, char *text)
{
    uint32_t nodes[FRAMES_LIMIT];
    size_t count = 0, size = 0;
    for (; node != HD_STACK_NONE && count < FRAMES_LIMIT; node = hd_stacks_at(stacks, node).caller)
        nodes[count++] = node;
    for (size_t i = count; i-- > 0;) {
        size = put(text, size, TEXT_LIMIT, hd_stacks_text(stacks, hd_stacks_at(stacks, nodes[i]).name));
        if (i) size = put(text, size, TEXT_LIMIT, (hd_string){";", 1});
    }
    if (size)
        hd_table_add_string(b, text, size);
    else
        hd_table_add_null(b);
}

static void cells_place(hd_table_builder *b, const hd_memory *m, const live_row *row, char *text)
{
    if (row->note) {
        hd_table_add_text(b, row->note);
        hd_table_add_text(b, row->note);
        return;
    }
    cell_where(b, m->stacks, row->node, text);
    cell_stack(b, m->stacks, row->node, text);
}

/* ---- tables ---- */

static void cell_count(hd_table_builder *b, uint64_t count)
{
    if (count)
        hd_table_add_count(b, count);
    else
        hd_table_add_null(b);
}

static void cells_peak(hd_table_builder *b, const hd_memory *m, const hd_trace *trace, const live_row *row, char *text)
{
    int64_t peak = m->pools[row->pool].peak_bytes;
    memory_cells_pool(b, trace, &m->pools[row->pool]);
    report_cell_string(b, trace, row->category);
    hd_table_add_count(b, row->bytes);
    hd_table_add_decimal(b, peak > 0 ? 100.0 * (double)row->bytes / (double)peak : 0);
    cell_count(b, row->count);
    cell_count(b, row->size);
    cells_place(b, m, row, text);
}

static void cells_leak(hd_table_builder *b, const hd_memory *m, const hd_trace *trace, const live_row *row, char *text)
{
    memory_cells_pool(b, trace, &m->pools[row->pool]);
    report_cell_string(b, trace, row->category);
    hd_table_add_count(b, row->bytes);
    cell_count(b, row->count);
    report_cell_int(b, row->first_ns);
    report_cell_int(b, row->last_ns);
    cells_place(b, m, row, text);
}

/* The rows that do not fit, as one. */
static void cells_others(hd_table_builder *b, const live_rows *rows, uint64_t from, bool at_peak)
{
    wide bytes = 0;
    uint64_t count = 0;
    char text[64];
    for (size_t i = from; i < rows->count; i++) {
        bytes += rows->list[i].bytes;
        count += rows->list[i].count;
    }
    for (int i = 0; i < 3; i++) hd_table_add_null(b);
    hd_table_add_count(b, clamp(bytes));
    if (at_peak) hd_table_add_null(b);
    cell_count(b, count);
    hd_table_add_null(b);
    if (!at_peak) hd_table_add_null(b);
    snprintf(text, sizeof text, "[%llu more]", (unsigned long long)(rows->count - from));
    hd_table_add_text(b, text);
    hd_table_add_text(b, text);
}

static hd_status add_live(hd_report *out, const hd_memory *m, const hd_trace *trace, uint64_t limit, bool at_peak,
                          hd_error *err)
{
    live_rows rows = {0};
    hd_table_builder *b = NULL;
    char *text = malloc(TEXT_LIMIT);
    hd_status status = text ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = find_rows(&rows, m, at_peak, hd_trace_large_bytes(trace), err);
    if (status == HD_OK) status = report_builder(&b, &report_memory_about, at_peak ? "peak" : "leaks", err);
    for (size_t i = 0; i < rows.count && i < limit && status == HD_OK; i++)
        (at_peak ? cells_peak : cells_leak)(b, m, trace, &rows.list[i], text);
    if (status == HD_OK && rows.count > limit) cells_others(b, &rows, limit, at_peak);
    if (status == HD_OK) status = report_add(out, b, err);
    free(rows.list);
    free(text);
    return status;
}

hd_status memory_add_peak(hd_report *out, const hd_memory *memory, const hd_trace *trace, uint64_t rows, hd_error *err)
{
    return add_live(out, memory, trace, rows, true, err);
}

hd_status memory_add_leaks(hd_report *out, const hd_memory *memory, const hd_trace *trace, uint64_t rows, hd_error *err)
{
    return add_live(out, memory, trace, rows, false, err);
}
