/* interval_set.c - intervals from the rows of a query, which runs on the same connection */
#include "query/tables/intervals/interval_set.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "trace/spill.h"

enum { CHECK_ROWS = 8192 };

/* ---- partitions ---- */

static uint64_t hash_of(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
        const void *data = sqlite3_value_blob(value);
        return hd_hash_pair((uint64_t)type, hd_hash(data, (size_t)sqlite3_value_bytes(value)));
    }
    if (type == SQLITE_INTEGER) return hd_hash_pair((uint64_t)type, (uint64_t)sqlite3_value_int64(value));
    double real = sqlite3_value_double(value);
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return hd_hash_pair((uint64_t)type, bits);
}

static bool is_same(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a), size = sqlite3_value_bytes(a);
    if (type != sqlite3_value_type(b)) return false;
    if (type == SQLITE_INTEGER) return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    if (type == SQLITE_FLOAT) return sqlite3_value_double(a) == sqlite3_value_double(b);
    if (type == SQLITE_NULL) return true;
    return size == sqlite3_value_bytes(b) &&
           (size == 0 || memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), (size_t)size) == 0);
}

static hd_status group_of(uint32_t *out, query_interval_set *set, sqlite3_value *value, hd_error *err)
{
    uint64_t hash = hash_of(value);
    HD_SLOTS_FIND(*out, &set->slots, hash, is_same(set->groups[*out], value));
    if (*out != HD_SLOTS_NONE) return HD_OK;
    if (!hd_grow((void **)&set->groups, &set->group_capacity, set->group_count, sizeof *set->groups))
        return HD_NOMEM(err);
    sqlite3_value *copy = sqlite3_value_dup(value);
    if (!copy || !hd_slots_add(&set->slots, hash, (uint32_t)set->group_count)) {
        sqlite3_value_free(copy);
        return HD_NOMEM(err);
    }
    *out = (uint32_t)set->group_count;
    set->groups[set->group_count++] = copy;
    return HD_OK;
}

/* ---- rows ---- */

typedef struct reading {
    query_tables *tables;
    const char *what;
    sqlite3_stmt *stmt;
    int ts, dur, id, partition; /* columns; id, partition -1: none */
    int64_t latest;             /* where unfinished intervals end */
} reading;

static int find_column(sqlite3_stmt *stmt, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        if (sqlite3_stricmp(sqlite3_column_name(stmt, i), name) == 0) return i;
    return -1;
}

static hd_status find_columns(reading *r, const char *partition, hd_error *err)
{
    r->ts = find_column(r->stmt, "ts");
    r->dur = find_column(r->stmt, "dur");
    r->id = find_column(r->stmt, "id");
    r->partition = partition ? find_column(r->stmt, partition) : -1;
    if (r->ts < 0 || r->dur < 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s has no column %s; name one: select … as %s",
                            r->what, r->ts < 0 ? "ts" : "dur", r->ts < 0 ? "ts" : "dur");
    if (partition && r->partition < 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s has no column %.100s to part by", r->what,
                            partition);
    return HD_OK;
}

static hd_status add_row(query_interval_set *out, const reading *r, uint32_t set, int64_t number, hd_error *err)
{
    query_interval interval = {.set = set, .id = number};
    int ts_type = sqlite3_column_type(r->stmt, r->ts), dur_type = sqlite3_column_type(r->stmt, r->dur);
    if (ts_type == SQLITE_NULL) return HD_OK;
    if (ts_type == SQLITE_TEXT || ts_type == SQLITE_BLOB || dur_type == SQLITE_TEXT || dur_type == SQLITE_BLOB)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s has a text as ts or dur in row %lld",
                            r->what, (long long)number + 1);
    int64_t duration = dur_type == SQLITE_NULL ? -1 : sqlite3_column_int64(r->stmt, r->dur);
    interval.start = sqlite3_column_int64(r->stmt, r->ts);
    if (duration < 0)
        interval.end = interval.start < r->latest ? r->latest : interval.start;
    else if (__builtin_add_overflow(interval.start, duration, &interval.end))
        interval.end = INT64_MAX;
    if (r->id >= 0 && sqlite3_column_type(r->stmt, r->id) == SQLITE_INTEGER)
        interval.id = sqlite3_column_int64(r->stmt, r->id);
    if (r->partition >= 0) HD_TRY(group_of(&interval.group, out, sqlite3_column_value(r->stmt, r->partition), err));
    uint64_t large = hd_trace_large_bytes(r->tables->sources->trace);
    if (!hd_large_grow((void **)&out->list, &out->capacity, out->count, sizeof *out->list, large)) return HD_NOMEM(err);
    out->list[out->count++] = interval;
    return HD_OK;
}

static bool is_name(const char *sql)
{
    size_t size = strlen(sql);
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)sql[i]) && sql[i] != '_') return false;
    return size > 0;
}

/* SQLite's error for the query, with the name of the failing argument. */
static hd_status failed(const reading *r, hd_error *err)
{
    if (query_stopped(r->tables->query)) return query_check_stop(r->tables, err);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: %s", r->what,
                        sqlite3_errmsg(r->tables->query->db));
}

static hd_status prepare(reading *r, const char *sql, hd_error *err)
{
    char *text = is_name(sql) ? sqlite3_mprintf("select * from \"%w\"", sql) : sqlite3_mprintf("%s", sql);
    if (!text) return HD_NOMEM(err);
    const char *rest = NULL;
    int code = sqlite3_prepare_v2(r->tables->query->db, text, -1, &r->stmt, &rest);
    bool is_more = code == SQLITE_OK && rest && rest[strspn(rest, " \t\r\n;")] != 0;
    sqlite3_free(text);
    if (code != SQLITE_OK) return failed(r, err);
    if (!r->stmt || is_more || !sqlite3_stmt_readonly(r->stmt) || sqlite3_column_count(r->stmt) == 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s is to be one select, or a table's name",
                            r->what);
    return HD_OK;
}

hd_status query_intervals_read(query_interval_set *out, query_tables *tables, const char *what, const char *sql,
                               const char *partition, uint32_t set, hd_error *err)
{
    reading r = {.tables = tables, .what = what};
    for (size_t i = 0; i < tables->count; i++) {
        int64_t end = query_time(&tables->sources[i], hd_trace_facts_of(tables->sources[i].trace)->end_ns);
        if (end > r.latest) r.latest = end;
    }
    if (tables->nesting >= QUERY_NESTING_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "%s: queries in queries in queries …", what);
    tables->nesting++;
    hd_status status = prepare(&r, sql, err);
    if (status == HD_OK) status = find_columns(&r, partition, err);
    int64_t number = 0;
    int code = SQLITE_ROW;
    while (status == HD_OK && (code = sqlite3_step(r.stmt)) == SQLITE_ROW) {
        status = add_row(out, &r, set, number++, err);
        if (number % CHECK_ROWS == 0 && status == HD_OK) status = query_check_stop(tables, err);
    }
    if (status == HD_OK && code != SQLITE_DONE) status = failed(&r, err);
    sqlite3_finalize(r.stmt);
    tables->nesting--;
    return status;
}

static int by_group_and_start(const void *a, const void *b)
{
    const query_interval *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->set > y->set) - (x->set < y->set);
}

hd_status query_intervals_sort(query_interval_set *set, query_tables *tables, hd_error *err)
{
    uint64_t large = hd_trace_large_bytes(tables->sources->trace);
    bool sorted = true;
    for (size_t i = 1; i < set->count && sorted; i++)
        sorted = by_group_and_start(&set->list[i - 1], &set->list[i]) <= 0;
    if (sorted || hd_large_sort(set->list, set->count, sizeof *set->list, by_group_and_start, large)) return HD_OK;
    return HD_NOMEM(err);
}

void query_intervals_deinit(query_interval_set *set)
{
    for (size_t i = 0; i < set->group_count; i++) sqlite3_value_free(set->groups[i]);
    free(set->groups);
    hd_slots_deinit(&set->slots);
    hd_large_free(set->list);
    *set = (query_interval_set){0};
}
