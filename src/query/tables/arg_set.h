/* arg_set.h - the arguments of an event as key and value, as Perfetto names them
 *
 * A key of `args` is "args.KEY", a key of the event itself "KEY", except keys with a column (tts, tdur, s, dur and the
 * like). Objects and arrays are split: "args.grid[0]", "args.a.b"; the flat key is the key without indices. Null values
 * are omitted. The arguments of a track are its sort order.
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
    hd_arena arena; /* of keys, and of texts decoded from JSON */
} query_arg_set;

/* The event of an arg_set_id; false: none, or the id is that of a track. */
bool query_arg_event(hd_event *out, query_source **out_source, const query_tables *tables, int64_t id);
/* Reads a whole set; an unknown set is empty. Errors: MEMORY. */
hd_status query_arg_set_read(query_arg_set *out, const query_tables *tables, int64_t id, hd_error *err);
/* Adds the contents of a JSON text below a key. Invalid JSON adds nothing. */
hd_status query_arg_set_json(query_arg_set *set, hd_string key, hd_string json, hd_error *err);
void query_arg_set_deinit(query_arg_set *set);

/* Whether keys of a shape are arguments; the caller frees the list, by shape. NULL: no memory. */
bool *query_shapes_with_args(const hd_trace *trace);

/* One argument, "args.KEY" or "KEY"; SQLITE_NULL: absent. Texts are stored in `scratch`, which the caller keeps. */
hd_status query_arg_find(query_cell *out, query_arg_set *scratch, const query_tables *tables, int64_t id,
                         const char *key, size_t size, hd_error *err);

#endif
