/* lookup.c - data that a database of ROCm 7 stores once: scopes, texts, agents and processes, events, times, arguments,
 * counters
 *
 * Ids count from 1 in the tables of each guid, so everything is keyed by id and scope, the index of the guid.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/args.h"
#include "format/rocpd/rocpd.h"

#define COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- scopes ---- */

static hd_status find_scopes(sq_reader *reader, hd_error *err)
{
    static const char string[] = "rocpd_string";
    rocpd_state *s = reader->state;
    for (size_t t = 0; t < reader->file->table_count; t++) {
        const char *name = reader->file->tables[t].name;
        if (strncmp(name, string, sizeof string - 1) != 0) continue;
        if (!hd_grow((void **)&s->scopes, &s->scope_capacity, s->scope_count, sizeof *s->scopes)) return HD_NOMEM(err);
        s->scopes[s->scope_count++] = name + sizeof string - 1;
    }
    return HD_OK;
}

/* The longest that the name ends with, + 1; 0: none. */
uint64_t rocpd_scope(const sq_reader *reader, const sq_table *table)
{
    const rocpd_state *s = reader->state;
    size_t size = strlen(table->name), longest = 0;
    uint64_t found = 0;
    for (size_t i = 0; i < s->scope_count; i++) {
        size_t n = strlen(s->scopes[i]);
        if (n > size || strcmp(table->name + size - n, s->scopes[i]) != 0 || (found && n <= longest)) continue;
        longest = n;
        found = i + 1;
    }
    return found;
}

/* ---- who and where ---- */

typedef struct info_reader {
    sq_reader *reader;
    enum rocpd_kind kind;
} info_reader;

static uint64_t info_key(enum rocpd_kind kind, uint64_t scope)
{
    return scope << 4 | (uint64_t)kind;
}

const rocpd_info *rocpd_info_at(const rocpd_state *s, enum rocpd_kind kind, int64_t id, uint64_t scope)
{
    uint32_t at;
    if (id == HD_NO_NUMBER || !hd_map_get(&at, &s->info_index, (uint64_t)id, info_key(kind, scope))) return NULL;
    return &s->infos[at];
}

/* id, six numbers, name, and an alternative name; the kind of agent */
static hd_status see_info(void *user, const sq_value *const *v, hd_error *err)
{
    enum { NAME = 1 + ROCPD_NUMBERS, OTHER_NAME, TYPE };
    const info_reader *r = user;
    rocpd_state *s = r->reader->state;
    sq_worker *w = &r->reader->workers[0];
    if (v[0]->type != SQ_INT || s->info_count >= HD_NONE) return HD_OK;
    if (!hd_grow((void **)&s->infos, &s->info_capacity, s->info_count, sizeof *s->infos) ||
        !hd_map_set(&s->info_index, (uint64_t)v[0]->number, info_key(r->kind, w->scope), (uint32_t)s->info_count))
        return HD_NOMEM(err);
    rocpd_info *info = &s->infos[s->info_count++];
    *info = (rocpd_info){.name = HD_STRING_NONE};
    for (int i = 0; i < ROCPD_NUMBERS; i++) info->numbers[i] = sq_value_number(v[1 + i]);
    for (int i = NAME; i <= OTHER_NAME && info->name == HD_STRING_NONE; i++) {
        if (v[i]->type == SQ_INT) info->name = sq_strings_in(&r->reader->strings, v[i]->number, w->scope);
        if (v[i]->type == SQ_TEXT && v[i]->size) info->name = sq_value_text(w, v[i]);
    }
    info->is_cpu = v[TYPE]->type == SQ_TEXT && v[TYPE]->size == 3 && memcmp(v[TYPE]->data, "CPU", 3) == 0;
    return HD_OK;
}

static hd_status read_infos(sq_reader *reader, hd_error *err)
{
    static const struct {
        enum rocpd_kind kind;
        const char *table;
        const char *columns[5 + ROCPD_NUMBERS];
    } list[] = {
        {ROCPD_NODES, "rocpd_info_node#", {"id", "", "", "", "", "", "", "hostname", "system_name", "", NULL}},
        {ROCPD_PROCESSES, "rocpd_info_process#", {"id", "nid", "", "pid", "", "", "", "name", "command", "", NULL}},
        {ROCPD_THREADS, "rocpd_info_thread#", {"id", "nid", "pid", "tid", "", "", "", "name", "", "", NULL}},
        {ROCPD_AGENTS,
         "rocpd_info_agent#",
         {"id", "nid", "pid", "type_index", "absolute_index", "", "", "product_name", "name", "type", NULL}},
        {ROCPD_QUEUES, "rocpd_info_queue#", {"id", "nid", "pid", "", "", "", "", "name", "", "", NULL}},
        {ROCPD_STREAMS, "rocpd_info_stream#", {"id", "nid", "pid", "", "", "", "", "name", "", "", NULL}},
        {ROCPD_TRACKS,
         "rocpd_track#",
         {"id", "nid", "pid", "tid", "agent_id", "queue_id", "stream_id", "name_id", "", "", NULL}},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        info_reader r = {reader, list[i].kind};
        HD_TRY(sq_again(reader, list[i].table, list[i].columns, see_info, &r, err));
    }
    return HD_OK;
}

typedef struct node_reader {
    sq_reader *reader;
    uint32_t name;
} node_reader;

/* hostname */
static hd_status see_node(void *user, const sq_value *const *v, hd_error *err)
{
    node_reader *r = user;
    rocpd_state *s = r->reader->state;
    uint32_t name = sq_value_text(&r->reader->workers[0], v[0]);
    (void)err;
    s->is_many_nodes |= r->name != HD_STRING_NONE && r->name != name;
    r->name = name;
    return HD_OK;
}

/* ---- events ---- */

typedef struct event_columns {
    sq_reader *reader;
    const char *const *extras; /* names of columns from the fifth on */
} event_columns;

static hd_status add_extra(rocpd_state *s, rocpd_event *event, const char *key, sq_worker *w, const sq_value *value,
                           hd_error *err)
{
    bool is_empty = value->type != SQ_TEXT || value->size == 0 ||
                    (value->size == 2 && (memcmp(value->data, "{}", 2) == 0 || memcmp(value->data, "[]", 2) == 0));
    if (is_empty || s->extra_count >= UINT32_MAX) return HD_OK;
    if (!hd_grow((void **)&s->extras, &s->extra_capacity, s->extra_count, sizeof *s->extras)) return HD_NOMEM(err);
    s->extras[s->extra_count++] =
        (sq_item){hd_builder_intern_text(w->reader->builder, key), HD_ARG_STRING, sq_value_text(w, value)};
    event->count++;
    return HD_OK;
}

/* id, stack_id, correlation_id, category_id, extras */
static hd_status see_event(void *user, const sq_value *const *v, hd_error *err)
{
    const event_columns *c = user;
    rocpd_state *s = c->reader->state;
    sq_worker *w = &c->reader->workers[0];
    if (v[0]->type != SQ_INT || s->event_count >= HD_NONE) return HD_OK;
    if (!hd_grow((void **)&s->events, &s->event_capacity, s->event_count, sizeof *s->events) ||
        !hd_map_set(&s->event_index, (uint64_t)v[0]->number, w->scope, (uint32_t)s->event_count))
        return HD_NOMEM(err);
    rocpd_event *event = &s->events[s->event_count++];
    *event = (rocpd_event){.stack = sq_value_number(v[1]),
                           .external = sq_value_number(v[2]),
                           .category = HD_STRING_NONE,
                           .first = (uint32_t)s->extra_count};
    if (v[3]->type == SQ_INT) { /* of schema 4 they have a table of their own */
        event->category = sq_strings_in(&s->categories, v[3]->number, w->scope);
        if (!s->categories.map.count) event->category = sq_strings_in(&c->reader->strings, v[3]->number, w->scope);
    }
    for (int i = 0; c->extras[i]; i++) HD_TRY(add_extra(s, event, c->extras[i], w, v[4 + i], err));
    return HD_OK;
}

static hd_status read_rocpd_events(sq_reader *reader, hd_error *err)
{
    static const char *const columns[] = {"id",         "stack_id",  "correlation_id", "category_id",
                                          "call_stack", "line_info", "extdata",        NULL};
    const event_columns c = {reader, columns + 4};
    return sq_each(reader, "rocpd_event#", columns, see_event, (void *)&c, err);
}

/* id, value */
static hd_status see_time(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    rocpd_state *s = reader->state;
    if (v[0]->type != SQ_INT || s->time_count >= HD_NONE) return HD_OK;
    if (!hd_grow((void **)&s->times, &s->time_capacity, s->time_count, sizeof *s->times) ||
        !hd_map_set(&s->time_index, (uint64_t)v[0]->number, reader->workers[0].scope, (uint32_t)s->time_count))
        return HD_NOMEM(err);
    s->times[s->time_count++] = sq_value_number(v[1]);
    return HD_OK;
}

/* ---- before events ---- */

static void intern_texts(sq_reader *reader)
{
    rocpd_state *s = reader->state;
    const hd_named_text list[] = {
        {&s->text.correlation, "correlation"},
        {&s->text.correlation_own, "correlationId"},
        {&s->text.external, "external correlation id"},
        {&s->text.device, "device"},
        {&s->text.stream, "stream"},
        {&s->text.grid, "grid"},
        {&s->text.block, "block"},
        {&s->text.bytes, "Bytes"},
        {&s->text.memory, "[memory]"},
        {&s->text.device_type, "Device Type"},
        {&s->text.address, "Addr"},
        {&s->text.hip, "hip_api"},
        {&s->text.hsa, "hsa_api"},
        {&s->text.mark, "user_annotation"},
        {&s->text.unknown, "[unknown]"},
        {&s->text.region, "region"},
        {&s->text.category, "category"},
        {&s->text.mangled, "mangled"},
        {0},
    };
    hd_intern_texts(reader->builder, list);
}

static hd_status read_sides(sq_reader *reader, hd_error *err)
{
    /* clang-format off */
    static const sq_map_column kernel[] = {
        {"display_name", SQ_NAME}, {"sgpr_count", SQ_ARG}, {"arch_vgpr_count", SQ_ARG}, {"accum_vgpr_count", SQ_ARG},
        {"kernel_name", SQ_ARG, "mangled"}, {"guid", SQ_SKIP}, {"nid", SQ_SKIP}, {"pid", SQ_SKIP},
        {"code_object_id", SQ_SKIP}, {"kernel_object", SQ_SKIP}, {"kernarg_segment_size", SQ_SKIP},
        {"kernarg_segment_alignment", SQ_SKIP}, {"group_segment_size", SQ_SKIP}, {"private_segment_size", SQ_SKIP},
        {"extdata", SQ_EXTRA},
        {0},
    };
    /* clang-format on */
    static const sq_chain_table chains = {"rocpd_call_stack#", "event_id", "depth", "pc_id", "", HD_FRAME_NATIVE};
    rocpd_state *s = reader->state;
    HD_TRY(sq_side_read(&s->kernels, reader, "rocpd_info_kernel_symbol#", "id", kernel, err));
    HD_TRY(sq_strings_read(&s->counter_names, reader, "rocpd_info_pmc#", "id", "name", err));
    HD_TRY(sq_side_read_pairs(&s->arguments, reader, "rocpd_arg#", "event_id", &reader->strings, "name", "value", err));
    HD_TRY(sq_side_read_sums(&s->counters, reader, "rocpd_pmc_event#", "event_id", &s->counter_names, "pmc_id", "value",
                             err));
    HD_TRY(sq_strings_read(&s->functions, reader, "rocpd_info_pc#", "id", "function", err));
    return sq_chains_read(&s->chains, reader, &chains, &s->functions, err);
}

hd_status rocpd_begin(sq_reader *reader, hd_error *err)
{
    rocpd_state *s = reader->state;
    HD_TRY(find_scopes(reader, err));
    HD_TRY(sq_strings_read(&reader->strings, reader, "rocpd_string#", "id", "string", err));
    HD_TRY(sq_strings_read(&s->categories, reader, "rocpd_info_category#", "id", "name", err));
    HD_TRY(sq_again(reader, "rocpd_info_node#", COLUMNS("hostname"), see_node, &(node_reader){reader, HD_STRING_NONE},
                    err));
    intern_texts(reader);
    HD_TRY(read_infos(reader, err));
    HD_TRY(read_rocpd_events(reader, err));
    HD_TRY(sq_each(reader, "rocpd_timestamp#", COLUMNS("id", "value"), see_time, reader, err));
    return read_sides(reader, err);
}

/* ---- after them ---- */

hd_status rocpd_finish(sq_reader *reader, hd_error *err)
{
    for (unsigned i = 0; i < reader->worker_count; i++) rocpd_name_tracks(reader, &reader->workers[i]);
    return sq_devices_to_metadata(reader, "rocpd_info_agent#",
                                  COLUMNS("type_index", "product_name", "", "", "", "", "type"), err);
}

void rocpd_deinit(sq_reader *reader)
{
    rocpd_state *s = reader->state;
    hd_map *const maps[] = {&s->info_index,     &s->event_index,       &s->time_index,   &s->chains,
                            &s->categories.map, &s->counter_names.map, &s->functions.map};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    sq_side_deinit(&s->kernels);
    sq_side_deinit(&s->arguments);
    sq_side_deinit(&s->counters);
    free(s->scopes);
    free(s->infos);
    free(s->events);
    free(s->times);
    free(s->extras);
}
