/* et_nodes.c - nodes as slices, dependencies as flows */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/chakra/chakra.h"
#include "trace/lazy.h"

static const char *const dependency_names[CHAKRA_DEPENDENCIES] = {
    [CHAKRA_CONTROL] = "ctrl_dep", [CHAKRA_DATA] = "data_dep", [CHAKRA_THREAD] = "inter_thread_dep"};

void chakra_node_init(chakra_node *node)
{
    *node = (chakra_node){
        .thread = HD_NO_NUMBER, .stream = HD_NO_NUMBER, .scope = HD_NO_NUMBER, .collective = HD_NO_NUMBER};
}

hd_status chakra_damage(chakra_reader *r, uint64_t offset, hd_error *err)
{
    if (r->damaged++ == 0) r->damage_offset = offset;
    if (!r->options->strict) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, offset, "a node that cannot be read, and --strict refuses repairs");
}

hd_status chakra_add_edge(chakra_reader *r, chakra_dependency kind, uint64_t from, hd_error *err)
{
    if (!hd_grow((void **)&r->edges, &r->edge_capacity, r->edge_count, sizeof *r->edges)) return HD_NOMEM(err);
    r->edges[r->edge_count++] = (chakra_edge){from, (uint32_t)r->seen_count, kind};
    return HD_OK;
}

/* ---- the position of a node ---- */

/* Whether a node is on a device: it says so, or has a stream, or is of a type that devices have, unless it is marked as
 * the CPU's. */
static bool is_device(const chakra_node *node)
{
    if (node->has_is_cpu) return !node->is_cpu;
    if (node->stream != HD_NO_NUMBER) return true;
    return node->thread == HD_NO_NUMBER && node->type >= CHAKRA_MEM_LOAD && node->type <= CHAKRA_COLLECTIVE;
}

static bool is_communication(const chakra_node *node)
{
    return node->type == CHAKRA_SEND || node->type == CHAKRA_RECEIVE || node->type == CHAKRA_COLLECTIVE;
}

static uint32_t category_of(const chakra_reader *r, const chakra_node *node)
{
    enum { USER_SCOPE = 7 };
    const char *name = "cpu_op";
    if (node->category != HD_STRING_NONE) return node->category;
    if (node->type == CHAKRA_MEM_LOAD || node->type == CHAKRA_MEM_STORE)
        name = is_device(node) ? "gpu_memcpy" : "memory";
    else if (node->type == CHAKRA_METADATA)
        name = "metadata";
    else if (node->type >= CHAKRA_STORAGE)
        name = "storage";
    else if (is_device(node))
        name = "kernel";
    else if (node->scope == USER_SCOPE)
        name = "user_annotation";
    return hd_builder_intern_text(r->builder, name);
}

/* Concurrent activities of a device need different tracks: one per stream, else one per kind of activity. */
static uint32_t track_of(chakra_reader *r, const chakra_node *node)
{
    hd_builder *b = r->builder;
    if (!is_device(node)) {
        int64_t thread = node->thread == HD_NO_NUMBER ? r->pid : node->thread;
        return hd_builder_thread(b, r->pid, thread);
    }
    hd_ident pid = {HD_IDENT_STRING, hd_intern_format(b, "device of %lld", (long long)r->pid)};
    const char *sort = is_communication(node)                                            ? "communication"
                       : node->type == CHAKRA_MEM_LOAD || node->type == CHAKRA_MEM_STORE ? "memory"
                                                                                         : "compute";
    uint32_t name = node->stream != HD_NO_NUMBER ? hd_intern_format(b, "stream %lld", (long long)node->stream)
                                                 : hd_builder_intern_text(b, sort);
    uint32_t track = hd_builder_track(b, pid, (hd_ident){HD_IDENT_STRING, name}, false);
    if (track == HD_NONE || hd_trace_track_at(hd_builder_trace(b), track)->kind == HD_TRACK_STREAM) return track;
    uint32_t process = hd_builder_track(b, pid, (hd_ident){0}, true);
    hd_builder_set_stream(b, track, HD_NO_NUMBER, node->stream);
    hd_builder_name_track(b, track, name);
    if (process != HD_NONE) hd_builder_name_track(b, process, hd_builder_intern_text(b, "device"));
    return track;
}

/* ---- when ---- */

static int64_t *clock_of(chakra_reader *r, uint32_t track)
{
    uint32_t index;
    if (hd_map_get(&index, &r->threads, track, 0)) return &r->clocks[index];
    if (!hd_grow((void **)&r->clocks, &r->clock_capacity, r->clock_count, sizeof *r->clocks) ||
        !hd_map_set(&r->threads, track, 0, (uint32_t)r->clock_count))
        return NULL;
    r->clocks[r->clock_count] = 0;
    return &r->clocks[r->clock_count++];
}

static int64_t add_times(int64_t a, int64_t b)
{
    return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a;
}

/* A node gets its id when it begins, and is written when it ends: it lasts until after the last id within it. */
static void time_by_order(hd_row *row, const chakra_node *node, int64_t *clock)
{
    int64_t id = node->id < INT64_MAX - 1 ? (int64_t)node->id : INT64_MAX - 1;
    if (id > *clock) *clock = id;
    row->start_ns = id;
    row->duration_ns = *clock + 1 - id;
}

/* The earliest start allowed by its dependencies and by the previous node of its track. */
static void time_by_dependencies(chakra_reader *r, hd_row *row, const chakra_node *node, int64_t *clock)
{
    int64_t start = *clock;
    for (size_t i = r->first_edge; i < r->edge_count; i++) {
        uint32_t index;
        if (hd_map_get(&index, &r->index, r->edges[i].from, 0) && r->seen[index].end > start)
            start = r->seen[index].end;
    }
    row->start_ns = start;
    row->duration_ns = node->has_duration && node->duration.whole > 0 ? node->duration.whole : 0;
    *clock = add_times(start, row->duration_ns);
}

static void set_times(chakra_reader *r, hd_row *row, const chakra_node *node, int64_t *clock)
{
    if (!node->has_start) {
        r->untimed++;
        if (r->by_order)
            time_by_order(row, node, clock);
        else
            time_by_dependencies(r, row, node, clock);
        return;
    }
    int64_t part = node->start.part, whole;
    row->start_ns = node->start.whole;
    row->start_ps = (uint32_t)(part / HD_FINER_PER_PS);
    row->start_finer = (uint64_t)(part % HD_FINER_PER_PS);
    row->duration_ns = 0;
    row->end_ps = row->start_ps;
    row->end_finer = row->start_finer;
    r->bad_times += node->has_duration && node->duration.whole < 0;
    if (!node->has_duration || node->duration.whole < 0) return;
    part += node->duration.part;
    whole = add_times(node->duration.whole, part >= HD_FIXED_ONE);
    part -= part >= HD_FIXED_ONE ? HD_FIXED_ONE : 0;
    row->end_ps = (uint32_t)(part / HD_FINER_PER_PS);
    row->end_finer = (uint64_t)(part % HD_FINER_PER_PS);
    row->duration_ns = whole;
}

/* ---- nodes ---- */

hd_status chakra_add_node(chakra_reader *r, const chakra_node *node, hd_error *err)
{
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    row.track = track_of(r, node);
    int64_t *clock = clock_of(r, row.track);
    if (!clock || !hd_grow((void **)&r->seen, &r->seen_capacity, r->seen_count, sizeof *r->seen)) return HD_NOMEM(err);
    row.name = node->name;
    row.category = category_of(r, node);
    set_times(r, &row, node, clock);
    uint32_t before;
    if (hd_map_get(&before, &r->index, node->id, 0))
        r->twice++; /* dependencies on that id refer to the first node */
    else if (!hd_map_set(&r->index, node->id, 0, (uint32_t)r->seen_count))
        return HD_NOMEM(err);
    r->seen[r->seen_count++] = (chakra_seen){row.track, row.start_ns, add_times(row.start_ns, row.duration_ns)};
    r->first_edge = r->edge_count;
    return hd_args_add_row(&r->args, &row, err);
}

/* ---- dependencies ---- */

static hd_status add_point(chakra_reader *r, char phase, const chakra_seen *node, uint32_t name, hd_error *err)
{
    hd_row row = hd_row_of(HD_KIND_FLOW, phase);
    row.phase |= phase == 'f' ? HD_FLAG_BIND_ENCLOSING : 0;
    row.track = node->track;
    row.start_ns = node->start;
    row.name = row.category = name;
    row.id_type = HD_ID_INT;
    row.id = (int64_t)r->flows;
    return hd_args_add_row(&r->args, &row, err);
}

/* On one track the nesting of slices already shows the caller. */
static bool is_nesting(const chakra_reader *r, const chakra_edge *edge, const chakra_seen *from, const chakra_seen *to)
{
    return edge->kind == CHAKRA_CONTROL && r->by_order && from->track == to->track;
}

static hd_status add_flows(chakra_reader *r, hd_error *err)
{
    uint32_t names[CHAKRA_DEPENDENCIES], index;
    for (int i = 0; i < CHAKRA_DEPENDENCIES; i++) names[i] = hd_builder_intern_text(r->builder, dependency_names[i]);
    for (size_t i = 0; i < r->edge_count; i++) {
        const chakra_edge *edge = &r->edges[i];
        if (edge->to >= r->seen_count) break; /* of a node that was not read to its end */
        if (!hd_map_get(&index, &r->index, edge->from, 0)) {
            r->missing++;
            continue;
        }
        const chakra_seen *from = &r->seen[index], *to = &r->seen[edge->to];
        if (index == edge->to || is_nesting(r, edge, from, to)) continue;
        r->flows++;
        HD_TRY(add_point(r, 's', from, names[edge->kind], err));
        HD_TRY(add_point(r, 'f', to, names[edge->kind], err));
    }
    return HD_OK;
}

/* ---- the end ---- */

static void note(chakra_reader *r, const char *code, hd_ledger_level level, uint64_t count, uint64_t offset)
{
    if (count) hd_builder_ledger(r->builder, CHAKRA_STAGE, code, level, count, offset);
}

hd_status chakra_finish(chakra_reader *r, hd_error *err)
{
    if (r->options->strict && r->is_cut)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, r->read_bytes, "the trace ends in the middle");
    HD_TRY(add_flows(r, err));
    HD_TRY(hd_args_finish(&r->args, err));
    note(r, "chakra.no-times", HD_LEDGER_NOTE, r->untimed, HD_OFFSET_NONE);
    note(r, "chakra.dependency-missing", HD_LEDGER_NOTE, r->missing, HD_OFFSET_NONE);
    note(r, "chakra.id-twice", HD_LEDGER_NOTE, r->twice, HD_OFFSET_NONE);
    note(r, "chakra.negative-duration", HD_LEDGER_REPAIR, r->bad_times, HD_OFFSET_NONE);
    note(r, "chakra.text-not-utf8", HD_LEDGER_REPAIR, r->args.text_repairs, HD_OFFSET_NONE);
    note(r, "chakra.arguments-lost", HD_LEDGER_LOSS, r->args.lost, HD_OFFSET_NONE);
    note(r, "chakra.node-damaged", HD_LEDGER_LOSS, r->damaged, r->damage_offset);
    note(r, "chakra.truncated", HD_LEDGER_LOSS, r->is_cut, r->read_bytes);
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    facts->input_bytes = r->read_bytes;
    facts->has_args = r->options->args == HD_ARGS_ALL;
    facts->base_ns = HD_NO_TIME;
    return HD_OK;
}
