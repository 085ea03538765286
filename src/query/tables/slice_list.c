/* slice_list.c - indexes of the slice table, and rows in an order other than that of positions */
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "query/tables/slice_cursor.h"
#include "trace/spill.h"

static uint64_t large_bytes(const slice_table *table)
{
    return hd_trace_large_bytes(table->tables->sources->trace);
}

/* The sort key of a row: for a text with several inputs, the string id with its input. */
static int64_t key_of(const slice_chunk *chunk, uint32_t i, slice_column column, int64_t value)
{
    if (column != SLICE_NAME && column != SLICE_CATEGORY) return value;
    return (int64_t)((uint64_t)slice_chunk_section(chunk, i)->source->index << 32 | (uint32_t)value);
}

/* ---- rows that pass, and their keys ---- */

typedef struct collection {
    int64_t *keys;
    uint32_t *at;
    size_t count, key_capacity, at_capacity;
} collection;

static void collection_deinit(collection *c)
{
    hd_large_free(c->keys);
    hd_large_free(c->at);
}

static hd_status collect_chunk(collection *c, slice_chunk *chunk, slice_column column, uint64_t large, hd_error *err)
{
    const int64_t *values = slice_chunk_values(chunk, column);
    while (c->count + chunk->selected_count > c->key_capacity || c->count + chunk->selected_count > c->at_capacity) {
        size_t wanted = c->key_capacity < SLICE_CHUNK ? SLICE_CHUNK : c->key_capacity + c->key_capacity / 2;
        if (!hd_large_resize((void **)&c->keys, c->count, wanted, sizeof *c->keys, large) ||
            !hd_large_resize((void **)&c->at, c->count, wanted, sizeof *c->at, large))
            return HD_NOMEM(err);
        c->key_capacity = c->at_capacity = wanted;
    }
    for (uint32_t k = 0; k < chunk->selected_count; k++) {
        uint32_t i = chunk->selected[k];
        c->keys[c->count] = key_of(chunk, i, column, values[i]);
        c->at[c->count++] = (uint32_t)slice_chunk_position(chunk, i);
    }
    return HD_OK;
}

/* Computes the keys of another column for the collected rows. */
static hd_status collect_again(collection *c, slice_cursor *cursor, slice_column column, hd_error *err)
{
    slice_chunk *chunk = &cursor->chunk;
    for (size_t first = 0; first < c->count; first += SLICE_CHUNK) {
        uint32_t count = c->count - first < SLICE_CHUNK ? (uint32_t)(c->count - first) : SLICE_CHUNK;
        slice_chunk_list(chunk, cursor->table, c->at + first, count, cursor->whole);
        const int64_t *values = slice_chunk_values(chunk, column);
        for (uint32_t i = 0; i < count; i++) c->keys[first + i] = key_of(chunk, i, column, values[i]);
        HD_TRY(query_check_stop(cursor->table->tables, err));
    }
    return HD_OK;
}

static hd_status collect_all(collection *c, slice_cursor *cursor, slice_column column, hd_error *err)
{
    uint64_t large = large_bytes(cursor->table);
    for (;;) {
        HD_TRY(slice_cursor_advance(cursor, err));
        if (cursor->ended) return HD_OK;
        HD_TRY(collect_chunk(c, &cursor->chunk, column, large, err));
        HD_TRY(query_check_stop(cursor->table->tables, err));
    }
}

/* ---- the order of texts ---- */

typedef struct ranked_text {
    hd_string text;
    int64_t id;
} ranked_text;

static int by_text(const void *a, const void *b)
{
    hd_string x = ((const ranked_text *)a)->text, y = ((const ranked_text *)b)->text;
    return hd_text_compare(x.data, x.size, y.data, y.size);
}

/* The text of a value, as from slice_column_value; data NULL: null. */
static hd_string text_of(const slice_cursor *cursor, slice_column column, int64_t id)
{
    const hd_trace *trace = cursor->table->tables->sources->trace;
    if (column != SLICE_TYPE && column != SLICE_ROLE)
        return id == HD_STRING_NONE ? (hd_string){0} : hd_trace_string(trace, (uint32_t)id);
    const char *word = slice_word(column, id);
    return word ? (hd_string){word, strlen(word)} : (hd_string){0};
}

/* Replaces string ids by their rank among the texts that occur, null first. SQLite relies on this order for GROUP BY
 * too, and takes it as satisfying an equal ORDER BY. Names are of one input (takes_order). */
static hd_status rank_texts(collection *c, const slice_cursor *cursor, slice_column column, hd_error *err)
{
    size_t limit = hd_trace_string_count(cursor->table->tables->sources->trace), count = 0;
    if (column == SLICE_TYPE || column == SLICE_ROLE) limit = column == SLICE_TYPE ? HD_KIND_COUNT : HD_ROLES;
    uint32_t *ranks = calloc(limit + 1, sizeof *ranks);
    if (!ranks) return HD_NOMEM(err);
    for (size_t i = 0; i < c->count; i++) {
        if (c->keys[i] < 0 || (size_t)c->keys[i] >= limit) c->keys[i] = (int64_t)limit; /* null */
        count += ranks[c->keys[i]] == 0;
        ranks[c->keys[i]] = 1;
    }
    ranked_text *texts = calloc(count + 1, sizeof *texts);
    if (!texts) {
        free(ranks);
        return HD_NOMEM(err);
    }
    count = 0;
    for (size_t id = 0; id < limit; id++) {
        hd_string text = ranks[id] ? text_of(cursor, column, (int64_t)id) : (hd_string){0};
        if (text.data) texts[count++] = (ranked_text){text, (int64_t)id};
    }
    memset(ranks, 0, (limit + 1) * sizeof *ranks);
    hd_sort(texts, count, sizeof *texts, by_text);
    for (size_t i = 0; i < count; i++) ranks[texts[i].id] = (uint32_t)i + 1;
    for (size_t i = 0; i < c->count; i++) c->keys[i] = ranks[c->keys[i]];
    free(texts);
    free(ranks);
    return HD_OK;
}

/* Sorts the rows by the current keys, stably. */
static hd_status sort_by_keys(collection *c, const slice_cursor *cursor, int order, hd_error *err)
{
    slice_column column = cursor->plan.order[order].column;
    if (slice_is_text(column)) HD_TRY(rank_texts(c, cursor, column, err));
    for (size_t i = 0; cursor->plan.order[order].descending && i < c->count; i++) c->keys[i] = ~c->keys[i];
    return query_sort(&c->keys, &c->at, c->count, large_bytes(cursor->table), err);
}

hd_status slice_cursor_sort(slice_cursor *cursor, hd_error *err)
{
    const slice_plan *plan = &cursor->plan;
    int last = plan->order_count - 1;
    collection c = {0};
    hd_status status = collect_all(&c, cursor, plan->order[last].column, err);
    if (status == HD_OK) status = sort_by_keys(&c, cursor, last, err);
    for (int i = last - 1; i >= 0 && status == HD_OK; i--) {
        status = collect_again(&c, cursor, plan->order[i].column, err);
        if (status == HD_OK) status = sort_by_keys(&c, cursor, i, err);
    }
    slice_cursor_stop(cursor);
    if (status != HD_OK || !c.count) {
        collection_deinit(&c);
        cursor->ended = true;
        return status;
    }
    hd_large_free(c.keys);
    cursor->list = cursor->own = c.at;
    cursor->end = c.count;
    for (int i = 0; i < cursor->filter_count; i++) slice_filter_deinit(&cursor->filters[i], cursor->table);
    cursor->filter_count = 0; /* all of them pass */
    return HD_OK;
}

/* ---- indexes ---- */

/* Errors: MEMORY, those of the trace. */
static hd_status make_index(slice_table *table, slice_column column, hd_error *err)
{
    query_index *index = &table->indexes[column];
    if (index->keys) return HD_OK;
    HD_TRY(slice_prepare(table, 1u << column, err));
    slice_cursor *scan = calloc(1, sizeof *scan);
    if (!scan) return HD_NOMEM(err);
    scan->table = table;
    scan->ts = QUERY_ALL;
    scan->plan.columns = 1u << column;
    scan->whole = slice_needs_args(1u << column);
    bool is_text = slice_is_text(column);
    scan->filters[0] = (slice_filter){.column = column, .bounds = {is_text ? 1 : INT64_MIN + 1, INT64_MAX}};
    scan->filter_count = 1; /* null is in no index */
    collection c = {0};
    hd_status status = collect_all(&c, scan, column, err);
    if (status == HD_OK) status = query_sort(&c.keys, &c.at, c.count, large_bytes(table), err);
    slice_cursor_stop(scan);
    free(scan);
    if (status == HD_OK && !c.keys) c.keys = hd_large_new(1, sizeof *c.keys, UINT64_MAX);
    if (status == HD_OK && !c.keys) status = HD_NOMEM(err);
    if (status == HD_OK)
        *index = (query_index){c.keys, c.at, c.count};
    else
        collection_deinit(&c);
    return status;
}

/* ---- rows that may pass ---- */

/* The values that a filter allows, one by one: false after the last. Texts have their input in the upper bits. */
static bool value_of(query_bounds *out, const slice_filter *filter, size_t inputs, size_t number)
{
    if (filter->like) return false;
    if (filter->list) {
        if (number >= filter->list_count) return false;
        *out = (query_bounds){filter->list[number], filter->list[number]};
        return true;
    }
    for (size_t input = 0; filter->ids && input < inputs; input++) {
        if (number < filter->id_counts[input]) {
            int64_t key = (int64_t)((uint64_t)input << 32 | (uint64_t)filter->ids[input][number]);
            *out = (query_bounds){key, key};
            return true;
        }
        number -= filter->id_counts[input];
    }
    *out = filter->bounds;
    return !filter->ids && number == 0;
}

typedef struct positions {
    uint32_t *list;
    size_t count, capacity;
} positions;

static hd_status add_positions(positions *p, const uint32_t *at, size_t count, hd_error *err)
{
    if (p->count + count > p->capacity) {
        size_t wanted = p->count + count + p->capacity / 2;
        if (!hd_large_resize((void **)&p->list, p->count, wanted, sizeof *p->list, UINT64_MAX)) return HD_NOMEM(err);
        p->capacity = wanted;
    }
    for (size_t i = 0; i < count; i++) p->list[p->count++] = at[i];
    return HD_OK;
}

/* Rows of an id, or of the id in an arg_set_id. */
static hd_status find_id(positions *out, const slice_table *table, slice_column column, int64_t id, hd_error *err)
{
    if (column == SLICE_ARGS) {
        if (id < 0 || (id & ((1 << QUERY_ARG_SHIFT) - 1)) != QUERY_ARGS_SLICE) return HD_OK;
        id >>= QUERY_ARG_SHIFT;
    }
    const slice_section *section = slice_section_of(table, id);
    if (!section) return HD_OK;
    uint32_t position = (uint32_t)(section->first + (uint64_t)(id - section->id));
    return add_positions(out, &position, 1, err);
}

static hd_status use_list(slice_cursor *cursor, positions *p)
{
    if (!p->count) cursor->ended = true;
    cursor->list = cursor->own = p->list;
    cursor->end = p->count;
    return HD_OK;
}

static bool is_seek(const slice_filter *filter)
{
    bool by_id = filter->column == SLICE_ID || filter->column == SLICE_ARGS;
    return by_id && (filter->list || filter->bounds.low >= filter->bounds.high);
}

static hd_status seek(slice_cursor *cursor, const slice_filter *filter, hd_error *err)
{
    positions p = {0};
    query_bounds value;
    hd_status status = HD_OK;
    for (size_t i = 0; status == HD_OK && value_of(&value, filter, 1, i); i++)
        if (value.low == value.high) status = find_id(&p, cursor->table, filter->column, value.low, err);
    if (status == HD_OK) return use_list(cursor, &p);
    hd_large_free(p.list);
    return status;
}

/* An estimate of the rows that an index of the column finds for the condition: smaller is better, 0: unusable. */
static int usefulness(const slice_filter *filter)
{
    bool equal = filter->list || filter->ids || filter->bounds.low >= filter->bounds.high;
    bool between = filter->bounds.low != QUERY_ALL.low && filter->bounds.high != QUERY_ALL.high;
    if (filter->like) return 0;
    switch (filter->column) {
    case SLICE_CORRELATION: return equal ? 1 : 0;
    case SLICE_PARENT: return equal ? 2 : 0;
    case SLICE_TS: return equal ? 3 : between ? 4 : 0;
    case SLICE_NAME: return equal ? 5 : 0;
    case SLICE_TRACK: return equal ? 6 : 0;
    default: return 0;
    }
}

static hd_status use_index(slice_cursor *cursor, const slice_filter *filter, hd_error *err)
{
    slice_table *table = cursor->table;
    HD_TRY(make_index(table, filter->column, err));
    const query_index *index = &table->indexes[filter->column];
    query_bounds value, next;
    size_t first = 0, count = 0;
    if (value_of(&value, filter, table->tables->count, 0) && !value_of(&next, filter, table->tables->count, 1)) {
        query_index_find(&first, &count, index, value.low, value.high);
        cursor->list = index->at;
        cursor->at = first;
        cursor->end = first + count;
        cursor->ended = count == 0;
        return HD_OK;
    }
    positions p = {0};
    hd_status status = HD_OK;
    for (size_t i = 0; status == HD_OK && value_of(&value, filter, table->tables->count, i); i++) {
        query_index_find(&first, &count, index, value.low, value.high);
        status = add_positions(&p, index->at + first, count, err);
    }
    if (status == HD_OK) return use_list(cursor, &p);
    hd_large_free(p.list);
    return status;
}

/* Whether the filter rejects every row. */
static bool is_empty(const slice_filter *filter, size_t inputs)
{
    size_t ids = 0;
    if (filter->like) return !filter->pattern;
    if (filter->list) return filter->list_count == 0;
    for (size_t i = 0; i < inputs && filter->ids; i++) ids += filter->id_counts[i];
    return filter->ids ? ids == 0 : filter->bounds.low > filter->bounds.high;
}

hd_status slice_cursor_find(slice_cursor *cursor, hd_error *err)
{
    const slice_filter *best = NULL;
    cursor->ts = QUERY_ALL;
    for (int i = 0; i < cursor->filter_count; i++) {
        const slice_filter *filter = &cursor->filters[i];
        if (is_empty(filter, cursor->table->tables->count)) {
            cursor->ended = true;
            return HD_OK;
        }
        if (filter->column == SLICE_TS && !filter->list) {
            if (filter->bounds.low > cursor->ts.low) cursor->ts.low = filter->bounds.low;
            if (filter->bounds.high < cursor->ts.high) cursor->ts.high = filter->bounds.high;
        }
        if (cursor->table->count <= UINT32_MAX && is_seek(filter)) return seek(cursor, filter, err);
    }
    const slice_filter ts = {.column = SLICE_TS, .bounds = cursor->ts};
    if (usefulness(&ts)) best = &ts;
    for (int i = 0; i < cursor->filter_count; i++) {
        int here = usefulness(&cursor->filters[i]);
        if (here && cursor->filters[i].column != SLICE_TS && (!best || here < usefulness(best)))
            best = &cursor->filters[i];
    }
    bool worth_it =
        best && cursor->table->count <= UINT32_MAX && (cursor->calls > 1 || cursor->table->indexes[best->column].keys);
    return worth_it ? use_index(cursor, best, err) : HD_OK;
}
