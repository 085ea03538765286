/* tables.c - the list of a query's tables, and data shared by all of them */
#include "query/tables/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "trace/ranks.h"

enum { DECLARATION_BYTES = 4096 };

/* ---- failures ---- */

int query_fail(sqlite3_vtab *base, query_tables *tables, const hd_error *err)
{
    tables->query->failure = *err;
    sqlite3_free(base->zErrMsg);
    base->zErrMsg = sqlite3_mprintf("%s", err->message);
    if (query_stopped(tables->query)) return SQLITE_INTERRUPT;
    return err->status == HD_ERR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

hd_status query_check_stop(query_tables *tables, hd_error *err)
{
    if (!query_stopped(tables->query)) return HD_OK;
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "interrupted");
}

hd_status query_source_status(const query_source *source, hd_error *err)
{
    return hd_trace_input_status(source->trace, err);
}

/* ---- what is made of a trace once ---- */

hd_status query_roles(query_source *source, hd_error *err)
{
    if (source->has_roles) return HD_OK;
    source->has_roles = hd_roles_init(&source->roles, source->trace);
    if (source->has_roles) return HD_OK;
    hd_roles_deinit(&source->roles);
    return HD_NOMEM(err);
}

hd_status query_nesting(query_source *source, hd_error *err)
{
    return source->nesting ? HD_OK : hd_nesting_new(&source->nesting, source->trace, err);
}

hd_status query_launches(query_source *source, hd_error *err)
{
    return source->launches ? HD_OK : hd_launches_new(&source->launches, source->trace, err);
}

/* ---- registration ---- */

static int declare(sqlite3 *db, const hd_query_column_about *columns)
{
    char text[DECLARATION_BYTES];
    int used = snprintf(text, sizeof text, "create table x(");
    for (const hd_query_column_about *c = columns; c->name && used < DECLARATION_BYTES; c++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s\"%s\" %s%s", c == columns ? "" : ", ", c->name,
                         c->type, c->is_argument ? " hidden" : "");
    if (used + 2 > DECLARATION_BYTES) return SQLITE_TOOBIG;
    memcpy(text + used, ")", 2);
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    return sqlite3_declare_vtab(db, text);
}

int query_connect(sqlite3 *db, const hd_query_column_about *columns, void *user, int kind, sqlite3_vtab **out)
{
    int code = declare(db, columns);
    query_vtab *vtab = code == SQLITE_OK ? sqlite3_malloc(sizeof *vtab) : NULL;
    if (!vtab) return code == SQLITE_OK ? SQLITE_NOMEM : code;
    *vtab = (query_vtab){.user = user, .kind = kind};
    *out = &vtab->base;
    return SQLITE_OK;
}

int query_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

int query_cursor_new(sqlite3_vtab_cursor **out, size_t size)
{
    *out = sqlite3_malloc64(size);
    if (!*out) return SQLITE_NOMEM;
    memset(*out, 0, size);
    return SQLITE_OK;
}

int query_check_arguments(sqlite3_vtab *base, const sqlite3_index_info *info, const hd_query_table_about *about,
                          int first)
{
    int code = SQLITE_OK;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->iColumn < first) continue;
        if (c->op == SQLITE_INDEX_CONSTRAINT_EQ) {
            if (!c->usable) code = SQLITE_CONSTRAINT;
            continue;
        }
        sqlite3_free(base->zErrMsg);
        base->zErrMsg = sqlite3_mprintf("%s is an argument of %s, which is given by = only",
                                        about->columns[c->iColumn].name, about->name);
        return SQLITE_ERROR;
    }
    return code;
}

void query_argument_result(sqlite3_context *context, const hd_query_table_about *about, int column,
                           const sqlite3_value *given)
{
    char *text = NULL;
    if (given)
        sqlite3_result_value(context, (sqlite3_value *)(uintptr_t)given);
    else
        text = sqlite3_mprintf("%s is an argument of %s, which was not given: by =, or in parentheses",
                               about->columns[column].name, about->name);
    if (text) sqlite3_result_error(context, text, -1);
    sqlite3_free(text);
}

hd_status query_add_about(query_tables *tables, const hd_query_table_about *about, hd_error *err)
{
    /* Reserves one more entry: the list ends with {0}. */
    if (!hd_grow((void **)&tables->abouts, &tables->about_capacity, tables->about_count + 1, sizeof *tables->abouts))
        return HD_NOMEM(err);
    tables->abouts[tables->about_count++] = *about;
    tables->abouts[tables->about_count] = (hd_query_table_about){0};
    return HD_OK;
}

hd_status query_add_module(query_tables *tables, const char *name, const sqlite3_module *module, void *user,
                           hd_error *err)
{
    int code = sqlite3_create_module_v2(tables->query->db, name, module, user, NULL);
    return code == SQLITE_OK ? HD_OK : query_failed(tables->query, code, err);
}

/* source->ranks. */
static hd_status find_ranks(query_source *source, hd_error *err)
{
    uint32_t count = hd_trace_track_count(source->trace);
    int64_t *ranks = malloc(((size_t)count + 1) * sizeof *ranks), known = HD_NO_NUMBER;
    bool are_several = false;
    if (!ranks) return HD_NOMEM(err);
    for (uint32_t t = 0; t < count; t++) {
        ranks[t] = hd_trace_rank_of(source->trace, t);
        are_several |= known != HD_NO_NUMBER && ranks[t] != HD_NO_NUMBER && ranks[t] != known;
        if (ranks[t] != HD_NO_NUMBER) known = ranks[t];
    }
    if (are_several)
        source->ranks = ranks;
    else
        free(ranks);
    return HD_OK;
}

int64_t query_rank_of(const query_source *source, uint32_t track)
{
    if (!source->ranks) return source->rank;
    int64_t rank = track < hd_trace_track_count(source->trace) ? source->ranks[track] : HD_NO_NUMBER;
    return rank == HD_NO_NUMBER ? QUERY_NULL : rank;
}

hd_status query_tables_register(hd_query *query, hd_error *err)
{
    query_tables *tables = calloc(1, sizeof *tables);
    query->tables = tables;
    if (tables) tables->sources = calloc(query->input_count, sizeof *tables->sources);
    if (!tables || !tables->sources) return HD_NOMEM(err);
    tables->query = query;
    tables->count = query->input_count;
    if (tables->count > (size_t)1 << (63 - QUERY_INPUT_SHIFT - QUERY_ARG_SHIFT))
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "%zu inputs are more than a query can have",
                            tables->count);
    for (size_t i = 0; i < tables->count; i++)
        tables->sources[i] = (query_source){.tables = tables,
                                            .trace = query->inputs[i].trace,
                                            .index = (uint32_t)i,
                                            .shift = query->shifts[i],
                                            .rank = query->inputs[i].rank};
    for (size_t i = 0; i < tables->count; i++) HD_TRY(find_ranks(&tables->sources[i], err));
    HD_TRY(query_slice_register(tables, err));
    HD_TRY(query_rows_register(tables, err));
    HD_TRY(query_args_register(tables, err));
    HD_TRY(query_views_register(tables, err));
    HD_TRY(query_reports_register(tables, err));
    return query_intervals_register(tables, err);
}

void query_tables_unregister(hd_query *query)
{
    query_tables *tables = query->tables;
    if (!tables) return;
    query_slice_unregister(tables);
    query_rows_unregister(tables);
    query_reports_unregister(tables);
    for (size_t i = 0; i < tables->count && tables->sources; i++) {
        query_source *source = &tables->sources[i];
        if (source->has_roles) hd_roles_deinit(&source->roles);
        hd_nesting_free(source->nesting);
        hd_launches_free(source->launches);
        query_async_free(source->async);
        free(source->ranks);
        query_counters_free(source->counters);
    }
    free(tables->sources);
    free(tables->abouts);
    free(tables);
    query->tables = NULL;
}

const hd_query_table_about *hd_query_table_at(const hd_query *query, size_t index)
{
    const query_tables *tables = query->tables;
    return tables && index < tables->about_count ? &tables->abouts[index] : NULL;
}
