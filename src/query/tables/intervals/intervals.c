/* intervals.c - joins of intervals as table-valued functions: one sweep over the rows of two queries
 *
 *     interval_union(QUERY [, PARTITION])        the times that at least one interval covers, merged
 *     interval_intersect(A, B [, PARTITION])     each overlapping pair of an interval of A and one of B, with the
 *     overlap containing(RANGES, EVENTS [, PARTITION])   each event with each range that contains it entirely
 *
 * Intervals are half open; an interval of length 0 is at its ts. Intervals of one query may overlap. Sweep: in order of
 * start, each interval is paired with the open intervals of the other query and then becomes open itself; intervals
 * that have ended are removed when the sweep comes across them. O(n log n + pairs), without the log if both are sorted
 * by ts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory/vector.h"
#include "query/tables/intervals/interval_set.h"

typedef enum interval_kind { INTERVAL_UNION, INTERVAL_INTERSECT, INTERVAL_CONTAINING, INTERVAL_KINDS } interval_kind;

enum { CHECK_ITEMS = 4096, ARGUMENTS_MAX = 3 };

#define PARTITION                                                                                                      \
    {                                                                                                                  \
        "partition", "INT", "value of the column that separates them", false                                           \
    }
#define PARTITION_BY                                                                                                   \
    {                                                                                                                  \
        "partition_by", "TEXT", "a column of both queries: only rows with equal values in it are joined", true         \
    }

static const hd_query_column_about union_columns[] = {
    {"ts", "INT", "start, ns", false},
    {"dur", "INT", "duration, ns", false},
    {"count", "INT", "how many intervals are in it", false},
    PARTITION,
    {"query", "TEXT", "a query with the columns ts and dur, or a table's name", true},
    PARTITION_BY,
    {0},
};
static const hd_query_column_about intersect_columns[] = {
    {"ts", "INT", "start of the overlap, ns", false},
    {"dur", "INT", "its duration, ns", false},
    {"a_id", "INT", "the interval of the first query: its id, or its number from 0 on", false},
    {"b_id", "INT", "that of the second query", false},
    PARTITION,
    {"a", "TEXT", "a query with the columns ts and dur, or a table's name", true},
    {"b", "TEXT", "another one", true},
    PARTITION_BY,
    {0},
};
static const hd_query_column_about containing_columns[] = {
    {"range_id", "INT", "the range: its id, or its number from 0 on", false},
    {"event_id", "INT", "the event, likewise", false},
    {"ts", "INT", "start of the event, ns", false},
    {"dur", "INT", "duration of the event, ns", false},
    {"range_ts", "INT", "start of the range, ns", false},
    {"range_dur", "INT", "duration of the range, ns", false},
    PARTITION,
    {"ranges", "TEXT", "a query with the columns ts and dur, or a table's name", true},
    {"events", "TEXT", "another one", true},
    PARTITION_BY,
    {0},
};

static const struct {
    hd_query_table_about about;
    int column_count, query_count;
    const char *names[2]; /* of the queries, in errors */
} kinds[INTERVAL_KINDS] = {
    {{"interval_union", "times that intervals cover, each once", union_columns}, 4, 1, {"interval_union: query"}},
    {{"interval_intersect", "pairs of intervals that overlap", intersect_columns},
     5,
     2,
     {"interval_intersect: a", "interval_intersect: b"}},
    {{"containing", "events with the ranges that hold all of them", containing_columns},
     7,
     2,
     {"containing: ranges", "containing: events"}},
};

typedef struct open_list {
    uint32_t *items;
    size_t count, capacity;
} open_list;

typedef struct interval_cursor {
    sqlite3_vtab_cursor base;
    query_interval_set set;
    open_list open[2];
    size_t item;      /* the interval at hand */
    size_t met, kept; /* of the other list: entries compared, and entries still open */
    bool is_meeting;
    query_interval a, b; /* the row: both intervals; for a union only a */
    uint64_t count;
    sqlite3_int64 row;
    sqlite3_value *given[ARGUMENTS_MAX]; /* NULL: it was not */
    uint64_t hash;                       /* of them */
    bool ended;
} interval_cursor;

static const query_vtab *vtab_of(const interval_cursor *cursor)
{
    return (const query_vtab *)cursor->base.pVtab;
}

/* ---- the sweep ---- */

static int64_t min_end(const query_interval *a, const query_interval *b)
{
    return a->end < b->end ? a->end : b->end;
}

static bool is_pair(interval_kind kind, const query_interval *range, const query_interval *event)
{
    return kind == INTERVAL_INTERSECT || (range->start <= event->start && event->end <= range->end);
}

/* The next pair of the current interval with open intervals of the other list. */
static bool meet(interval_cursor *cursor)
{
    const query_interval *list = cursor->set.list, *here = &list[cursor->item];
    open_list *other = &cursor->open[!here->set];
    while (cursor->met < other->count) {
        uint32_t at = other->items[cursor->met++];
        const query_interval *open = &list[at];
        if (open->end <= here->start && open->start != here->start)
            continue; /* it has ended: remove it from the list
                                                                                 */
        other->items[cursor->kept++] = at;
        cursor->a = here->set == 0 ? *here : *open;
        cursor->b = here->set == 0 ? *open : *here;
        if (is_pair(vtab_of(cursor)->kind, &cursor->a, &cursor->b)) return true;
    }
    other->count = cursor->kept;
    return false;
}

static hd_status next_pair(interval_cursor *cursor, hd_error *err)
{
    for (;;) {
        if (cursor->is_meeting && meet(cursor)) return HD_OK;
        if (cursor->is_meeting) {
            open_list *own = &cursor->open[cursor->set.list[cursor->item].set];
            if (!hd_grow((void **)&own->items, &own->capacity, own->count, sizeof *own->items)) return HD_NOMEM(err);
            own->items[own->count++] = (uint32_t)cursor->item++;
        }
        cursor->ended = cursor->item >= cursor->set.count;
        cursor->is_meeting = !cursor->ended;
        if (cursor->ended) return HD_OK;
        if (cursor->item % CHECK_ITEMS == 0) HD_TRY(query_check_stop(vtab_of(cursor)->user, err));
        const query_interval *here = &cursor->set.list[cursor->item];
        if (cursor->item > 0 && here->group != here[-1].group) cursor->open[0].count = cursor->open[1].count = 0;
        cursor->met = cursor->kept = 0;
    }
}

static void next_union(interval_cursor *cursor)
{
    const query_interval *list = cursor->set.list;
    cursor->ended = cursor->item >= cursor->set.count;
    if (cursor->ended) return;
    cursor->a = list[cursor->item++];
    cursor->count = 1;
    for (; cursor->item < cursor->set.count; cursor->item++, cursor->count++) {
        const query_interval *here = &list[cursor->item];
        if (here->group != cursor->a.group || here->start > cursor->a.end) break;
        if (here->end > cursor->a.end) cursor->a.end = here->end;
    }
}

static hd_status next_row(interval_cursor *cursor, hd_error *err)
{
    cursor->row++;
    if (vtab_of(cursor)->kind != INTERVAL_UNION) return next_pair(cursor, err);
    next_union(cursor);
    return HD_OK;
}

/* ---- plans ---- */

/* idxNum: a bit per given argument; argv has them in that order. */
static int interval_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const query_vtab *vtab = (const query_vtab *)base;
    int columns = kinds[vtab->kind].column_count, queries = kinds[vtab->kind].query_count;
    int places[ARGUMENTS_MAX] = {-1, -1, -1}, count = 0;
    int code = query_check_arguments(base, info, &kinds[vtab->kind].about, columns);
    if (code != SQLITE_OK) return code;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->iColumn >= columns) places[c->iColumn - columns] = i;
    }
    for (int i = 0; i < queries; i++) {
        if (places[i] >= 0) continue;
        sqlite3_free(base->zErrMsg);
        base->zErrMsg =
            sqlite3_mprintf("%s is missing: a query as text, or a table's name", kinds[vtab->kind].names[i]);
        return SQLITE_ERROR;
    }
    for (int i = 0; i <= queries; i++) {
        if (places[i] < 0) continue;
        info->idxNum |= 1 << i;
        info->aConstraintUsage[places[i]].argvIndex = ++count;
        info->aConstraintUsage[places[i]].omit = true;
    }
    info->estimatedCost = 1e7;
    info->estimatedRows = 10000;
    return SQLITE_OK;
}

static int interval_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    (void)base;
    return query_cursor_new(out, sizeof(interval_cursor));
}

static void drop_given(interval_cursor *cursor)
{
    for (int i = 0; i < ARGUMENTS_MAX; i++) sqlite3_value_free(cursor->given[i]);
    memset(cursor->given, 0, sizeof cursor->given);
    cursor->hash = 0;
}

static bool keep_given(interval_cursor *cursor, int plan, sqlite3_value **values)
{
    bool room = true;
    drop_given(cursor);
    for (int i = 0; i < ARGUMENTS_MAX && room; i++) {
        if (!(plan & 1 << i)) continue;
        room = (cursor->given[i] = sqlite3_value_dup(*values++)) != NULL;
        const char *text = room ? (const char *)sqlite3_value_text(cursor->given[i]) : NULL;
        if (text) cursor->hash = hd_hash_pair(cursor->hash, hd_hash(text, strlen(text)));
    }
    return room;
}

static int interval_close(sqlite3_vtab_cursor *base)
{
    interval_cursor *cursor = (interval_cursor *)base;
    query_intervals_deinit(&cursor->set);
    free(cursor->open[0].items);
    free(cursor->open[1].items);
    drop_given(cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static hd_status begin(interval_cursor *cursor, int plan, sqlite3_value **values, hd_error *err)
{
    const query_vtab *vtab = vtab_of(cursor);
    int queries = kinds[vtab->kind].query_count;
    const char *partition = plan & 1 << queries ? (const char *)sqlite3_value_text(values[queries]) : NULL;
    query_intervals_deinit(&cursor->set);
    cursor->open[0].count = cursor->open[1].count = 0;
    cursor->item = 0;
    cursor->is_meeting = false;
    cursor->row = 0;
    for (int i = 0; i < queries; i++) {
        const char *sql = (const char *)sqlite3_value_text(values[i]);
        if (!sql)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "%s is null: a query as text, or a table's name", kinds[vtab->kind].names[i]);
        HD_TRY(query_intervals_read(&cursor->set, vtab->user, kinds[vtab->kind].names[i], sql, partition, (uint32_t)i,
                                    err));
    }
    if (cursor->set.count >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "%s: more than 2^32 rows",
                            kinds[vtab->kind].about.name);
    HD_TRY(query_intervals_sort(&cursor->set, vtab->user, err));
    return next_row(cursor, err);
}

static int interval_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
    (void)text;
    (void)argc;
    interval_cursor *cursor = (interval_cursor *)base;
    hd_error error = {0};
    if (!keep_given(cursor, plan, argv)) return SQLITE_NOMEM;
    if (begin(cursor, plan, argv, &error) == HD_OK) return SQLITE_OK;
    return query_fail(base->pVtab, vtab_of(cursor)->user, &error);
}

static int interval_next(sqlite3_vtab_cursor *base)
{
    interval_cursor *cursor = (interval_cursor *)base;
    hd_error error;
    if (next_row(cursor, &error) == HD_OK) return SQLITE_OK;
    return query_fail(base->pVtab, vtab_of(cursor)->user, &error);
}

static int interval_eof(sqlite3_vtab_cursor *base)
{
    return ((interval_cursor *)base)->ended;
}

/* INT64_MAX: the ends are too far apart for a duration. */
static int64_t length(int64_t start, int64_t end)
{
    int64_t out;
    return __builtin_sub_overflow(end, start, &out) ? INT64_MAX : out;
}

static int interval_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const interval_cursor *cursor = (const interval_cursor *)base;
    interval_kind kind = vtab_of(cursor)->kind;
    const query_interval *a = &cursor->a, *b = &cursor->b;
    if (column == kinds[kind].column_count - 1) {
        if (a->group < cursor->set.group_count) sqlite3_result_value(context, cursor->set.groups[a->group]);
        return SQLITE_OK;
    }
    if (column >= kinds[kind].column_count) {
        query_argument_result(context, &kinds[kind].about, column, cursor->given[column - kinds[kind].column_count]);
        return SQLITE_OK;
    }
    int64_t start = kind == INTERVAL_UNION || a->start > b->start ? a->start : b->start;
    const int64_t of_union[] = {a->start, length(a->start, a->end), (int64_t)cursor->count};
    const int64_t of_pair[] = {start, length(start, min_end(a, b)), a->id, b->id};
    const int64_t of_event[] = {a->id, b->id, b->start, length(b->start, b->end), a->start, length(a->start, a->end)};
    const int64_t *values = kind == INTERVAL_UNION ? of_union : kind == INTERVAL_INTERSECT ? of_pair : of_event;
    bool is_length =
        column == 1 ? kind != INTERVAL_CONTAINING : kind == INTERVAL_CONTAINING && (column == 3 || column == 5);
    if (!is_length || values[column] != INT64_MAX) sqlite3_result_int64(context, values[column]); /* else null */
    return SQLITE_OK;
}

static int interval_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const interval_cursor *cursor = (const interval_cursor *)base;
    *out = (sqlite3_int64)hd_hash_pair(cursor->hash, (uint64_t)cursor->row); /* as of reports */
    return SQLITE_OK;
}

#define CONNECT(name, kind)                                                                                            \
    static int name(sqlite3 *db, void *user, int argc, const char *const *argv, sqlite3_vtab **out, char **message)    \
    {                                                                                                                  \
        (void)argc;                                                                                                    \
        (void)argv;                                                                                                    \
        (void)message;                                                                                                 \
        return query_connect(db, kinds[kind].about.columns, user, kind, out);                                          \
    }
CONNECT(connect_union, INTERVAL_UNION)
CONNECT(connect_intersect, INTERVAL_INTERSECT)
CONNECT(connect_containing, INTERVAL_CONTAINING)

#define MODULE(connect)                                                                                                \
    {                                                                                                                  \
        .iVersion = 1, .xConnect = (connect), .xBestIndex = interval_best_index, .xDisconnect = query_disconnect,      \
        .xOpen = interval_open, .xClose = interval_close, .xFilter = interval_filter, .xNext = interval_next,          \
        .xEof = interval_eof, .xColumn = interval_column, .xRowid = interval_rowid,                                    \
    }
static const sqlite3_module modules[INTERVAL_KINDS] = {MODULE(connect_union), MODULE(connect_intersect),
                                                       MODULE(connect_containing)};

hd_status query_intervals_register(query_tables *tables, hd_error *err)
{
    for (int kind = 0; kind < INTERVAL_KINDS; kind++) {
        HD_TRY(query_add_about(tables, &kinds[kind].about, err));
        HD_TRY(query_add_module(tables, kinds[kind].about.name, &modules[kind], tables, err));
    }
    return HD_OK;
}
