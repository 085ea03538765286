/* arg_set.h - the arguments of an event as key and value, as Perfetto names them
 *
 * A key of `args` is "args.KEY", one of the event itself "KEY", without those that have a column (tts, tdur, s, dur and the
 * like). Objects and arrays are taken apart: "args.grid[0]", "args.a.b"; the flat key is that without the indices. What
 * is null is no argument. The arguments of a track are how it wants to be sorted.
 */
#ifndef HD_QUERY_TABLES_ARG_SET_H
#define HD_QUERY_TABLES_ARG_SET_H

#include "base/memory/arena.h"
#include "query/tables/rows.h"

typedef struct query_arg {
    hd_string key, flat_key;
    const char *type; /* "int", "string", "real", "bool" */
    query_cell value;
} query_arg;

/* Zero-initialised is empty. */
typedef struct query_arg_set {
    query_arg *list;
    size_t count, capacity;
    hd_arena arena; /* of keys, and of texts that stood in JSON */
} query_arg_set;

/* The event of an arg_set_id; false: there is none, or it is a track's. */
bool query_arg_event(hd_event *out, query_source **out_source, const query_tables *tables, int64_t id);
/* All of a set; one that is not there is empty. Errors: MEMORY. */
hd_status query_arg_set_read(query_arg_set *out, const query_tables *tables, int64_t id, hd_error *err);
/* Add what a JSON text holds, below a key. What is no JSON adds nothing. */
hd_status query_arg_set_json(query_arg_set *set, hd_string key, hd_string json, hd_error *err);
void query_arg_set_deinit(query_arg_set *set);

/* Whether keys of a shape are arguments; the caller frees the list, by shape. NULL: no memory. */
bool *query_shapes_with_args(const hd_trace *trace);
bool query_is_arg(const hd_trace *trace, hd_arg_key key);

/* One argument, "args.KEY" or "KEY"; SQLITE_NULL: it has none. Texts live in `scratch`, which the caller keeps. */
hd_status query_arg_find(query_cell *out, query_arg_set *scratch, const query_tables *tables, int64_t id, const char *key,
                         size_t size, hd_error *err);

#endif
