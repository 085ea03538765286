/* lookup.c - data that an nsys export stores once: texts, labels, names, call chains, payloads; and names of tracks */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/args.h"
#include "format/nsys/nsys.h"
#include "format/numbers.h"

static const uint64_t tid_mask = 0xffffff;

/* ---- names ---- */

typedef struct name_reader {
    sq_reader *reader;
    hd_map *map;
} name_reader;

/* A number, then the id of its name, or the name. */
static hd_status see_name(void *user, const sq_value *const *v, hd_error *err)
{
    name_reader *r = user;
    uint32_t name = v[1]->type == SQ_INT ? sq_strings_at(&r->reader->strings, v[1]->number)
                                         : sq_value_text(&r->reader->workers[0], v[1]);
    if (v[0]->type != SQ_INT || name == HD_STRING_NONE) return HD_OK;
    return hd_map_set(r->map, (uint64_t)v[0]->number, 0, name) ? HD_OK : HD_NOMEM(err);
}

static hd_status see_metric(void *user, const sq_value *const *v, hd_error *err)
{
    name_reader *r = user;
    uint32_t name = sq_value_text(&r->reader->workers[0], v[2]);
    if (v[0]->type != SQ_INT || v[1]->type != SQ_INT || name == HD_STRING_NONE) return HD_OK;
    return hd_map_set(r->map, (uint64_t)v[0]->number, (uint64_t)v[1]->number, name) ? HD_OK : HD_NOMEM(err);
}

/* "cudaLaunchKernel_v7000" is called cudaLaunchKernel, as nsys does; those of the driver begin with "cu". */
static hd_status see_call(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    nsys_state *s = reader->state;
    if (v[0]->type != SQ_INT || v[1]->type != SQ_TEXT) return HD_OK;
    uint32_t name = sq_strings_at(&reader->strings, v[0]->number);
    hd_string text = hd_builder_string(reader->builder, name);
    size_t size = text.size;
    while (size && text.data[size - 1] >= '0' && text.data[size - 1] <= '9') size--;
    if (size > 2 && size < text.size && memcmp(text.data + size - 2, "_v", 2) == 0)
        name = hd_builder_intern(reader->builder, text.data, size - 2);
    bool is_driver = text.size > 2 && memcmp(text.data, "cu", 2) == 0 && text.data[2] >= 'A' && text.data[2] <= 'Z';
    if (!hd_map_set(&s->calls, (uint64_t)v[0]->number, 0, name)) return HD_NOMEM(err);
    if (is_driver && !hd_map_set(&s->call_is_driver, (uint64_t)v[0]->number, 0, 1)) return HD_NOMEM(err);
    return HD_OK;
}

static hd_status see_string(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    if (v[0]->type != SQ_INT || v[1]->type != SQ_TEXT) return HD_OK;
    if (!hd_map_set(&reader->strings.map, (uint64_t)v[0]->number, 0, sq_value_text(&reader->workers[0], v[1])))
        return HD_NOMEM(err);
    return see_call(user, v, err);
}

/* ---- streams ---- */

/* processId, contextId, streamId, priority, hwId, vmId. Priorities are unsigned there: 4294967291 is -5. */
static hd_status see_stream(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    nsys_state *s = reader->state;
    uint64_t process, stream;
    if (v[0]->type != SQ_INT) return HD_OK;
    s->is_many |= s->process != HD_NO_NUMBER && s->process != v[0]->number;
    s->process = v[0]->number;
    if (v[1]->type != SQ_INT || v[2]->type != SQ_INT || v[3]->type != SQ_INT || !v[3]->number) return HD_OK;
    process = (uint64_t)v[0]->number << 24;
    if (v[4]->type == SQ_INT && v[5]->type == SQ_INT)
        process |= (uint64_t)v[4]->number << 56 | ((uint64_t)v[5]->number & 0xff) << 48;
    stream = (uint64_t)v[1]->number << 32 | (uint32_t)v[2]->number;
    return hd_map_set(&s->priorities, process, stream, (uint32_t)v[3]->number) ? HD_OK : HD_NOMEM(err);
}

/* ---- names that NVTX gives to domains and categories ---- */

/* eventType, globalTid, domainId, category, text, textId */
static hd_status see_nvtx(void *user, hd_error *err)
{
    enum { CATEGORY = 33, DOMAIN = 75 };
    sq_reader *reader = user;
    nsys_state *s = reader->state;
    const sq_value *const v = reader->workers[0].cursor.values;
    const int *at = s->nvtx;
    if (at[0] < 0 || v[at[0]].type != SQ_INT || (v[at[0]].number != CATEGORY && v[at[0]].number != DOMAIN))
        return HD_OK;
    int64_t domain = at[2] < 0 ? 0 : sq_value_number(&v[at[2]]), category = at[3] < 0 ? 0 : sq_value_number(&v[at[3]]);
    uint64_t process = at[1] < 0 || v[at[1]].type != SQ_INT ? 0 : (uint64_t)v[at[1]].number & ~tid_mask;
    uint32_t name = at[4] < 0 ? HD_STRING_NONE : sq_value_text(&reader->workers[0], &v[at[4]]);
    if (name == HD_STRING_NONE && at[5] >= 0 && v[at[5]].type == SQ_INT)
        name = sq_strings_at(&reader->strings, v[at[5]].number);
    if (name == HD_STRING_NONE || domain == HD_NO_NUMBER) return HD_OK;
    bool fine = v[at[0]].number == DOMAIN
                    ? hd_map_set(&s->domains, process, (uint64_t)domain, name)
                    : hd_map_set(&s->categories, process, (uint64_t)domain << 32 | (uint32_t)category, name);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status read_nvtx_names(sq_reader *reader, hd_error *err)
{
    static const char *const columns[] = {"eventType", "globalTid", "domainId", "category", "text", "textId"};
    nsys_state *s = reader->state;
    const sq_table *table = sq_file_table(reader->file, "NVTX_EVENTS");
    if (!table) return HD_OK;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) s->nvtx[i] = sq_table_column(table, columns[i]);
    return sq_table_twice(reader, table, see_nvtx, reader, err);
}

/* ---- before events ---- */

static void intern_texts(sq_reader *reader)
{
    nsys_state *s = reader->state;
    const hd_named_text list[] = {
        {&s->text.correlation, "correlation"},
        {&s->text.correlation_own, "correlationId"},
        {&s->text.grid, "grid"},
        {&s->text.block, "block"},
        {&s->text.priority, "priority"},
        {&s->text.shared, "shared memory"},
        {&s->text.bytes, "Bytes"},
        {&s->text.device_type, "Device Type"},
        {&s->text.category, "category"},
        {&s->text.domain, "domain"},
        {&s->text.memory, "[memory]"},
        {&s->text.driver, "cuda_driver"},
        {&s->text.cpu_process, "CPUs"},
        {&s->text.unknown, "[unknown]"},
        {0},
    };
    hd_intern_texts(reader->builder, list);
}

static hd_status read_labels(sq_reader *reader, hd_error *err)
{
    nsys_state *s = reader->state;
    HD_TRY(sq_strings_read(&s->memory_kinds, reader, "ENUM_CUDA_MEM_KIND", "id", "label", err));
    HD_TRY(sq_strings_read(&s->sync_kinds, reader, "ENUM_CUPTI_SYNC_TYPE", "id", "label", err));
    HD_TRY(sq_strings_read(&s->overhead_kinds, reader, "ENUM_CUPTI_OVERHEAD_TYPE", "id", "label", err));
    HD_TRY(sq_strings_read(&s->thread_states, reader, "ENUM_SAMPLING_THREAD_STATE", "id", "label", err));
    static const char *const memory[] = {"Pageable", "Pinned",        "Device",        "Array",
                                         "Managed",  "Device Static", "Managed Static"};
    static const char *const sync[] = {"Unknown", "Event sync", "Stream wait sync", "Stream sync", "Context sync"};
    for (size_t i = 0; s->memory_kinds.map.count == i && i < sizeof memory / sizeof *memory; i++)
        if (!hd_map_set(&s->memory_kinds.map, i, 0, hd_builder_intern_text(reader->builder, memory[i])))
            return HD_NOMEM(err);
    for (size_t i = 0; s->sync_kinds.map.count == i && i < sizeof sync / sizeof *sync; i++)
        if (!hd_map_set(&s->sync_kinds.map, i, 0, hd_builder_intern_text(reader->builder, sync[i])))
            return HD_NOMEM(err);
    return HD_OK;
}

static hd_status read_chains(hd_map *out, sq_reader *reader, const char *table, hd_error *err)
{
    const sq_chain_table chains = {table, "id", "stackDepth", "symbol", "kernelMode", HD_FRAME_NATIVE};
    return sq_chains_read(out, reader, &chains, &reader->strings, err);
}

hd_status nsys_begin(sq_reader *reader, hd_error *err)
{
    nsys_state *s = reader->state;
    s->process = HD_NO_NUMBER;
    intern_texts(reader);
    HD_TRY(sq_each(reader, "StringIds", COLUMNS("id", "value"), see_string, reader, err));
    HD_TRY(read_labels(reader, err));
    HD_TRY(sq_each(reader, "ThreadNames", COLUMNS("globalTid", "nameId"), see_name, &(name_reader){reader, &s->threads},
                   err));
    HD_TRY(sq_each(reader, "PROCESSES", COLUMNS("globalPid", "name"), see_name, &(name_reader){reader, &s->processes},
                   err));
    HD_TRY(sq_each(reader, "TARGET_INFO_GPU_METRICS", COLUMNS("typeId", "metricId", "metricName"), see_metric,
                   &(name_reader){reader, &s->metrics}, err));
    HD_TRY(sq_again(reader, "TARGET_INFO_CUDA_STREAM",
                    COLUMNS("processId", "contextId", "streamId", "priority", "hwId", "vmId"), see_stream, reader,
                    err));
    HD_TRY(read_chains(&s->samples, reader, "SAMPLING_CALLCHAINS", err));
    HD_TRY(read_chains(&s->calls_of_os, reader, "OSRT_CALLCHAINS", err));
    HD_TRY(read_chains(&s->calls_of_cuda, reader, "CUDA_CALLCHAINS", err));
    HD_TRY(nsys_read_payloads(reader, err));
    return read_nvtx_names(reader, err);
}

/* ---- after them ---- */

/* utcEpochNs */
static hd_status see_session(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    (void)err;
    if (v[0]->type == SQ_INT) hd_builder_facts(reader->builder)->base_ns = v[0]->number;
    return HD_OK;
}

static hd_status tell_gpus(sq_reader *reader, hd_error *err)
{
    const sq_table *table = sq_file_table(reader->file, "TARGET_INFO_GPU");
    bool has_device = table && sq_table_column(table, "cuDevice") >= 0;
    return sq_devices_to_metadata(
        reader, "TARGET_INFO_GPU",
        COLUMNS(has_device ? "cuDevice" : "id", "name", "totalMemory", "computeMajor", "computeMinor", "smCount", ""),
        err);
}

static void name_thread(sq_reader *reader, const sq_track *t, const hd_map_entry *key)
{
    nsys_state *s = reader->state;
    uint32_t name;
    if (hd_map_get(&name, &s->threads, key->a, 0)) hd_builder_name_track(reader->builder, t->track, name);
    if (!hd_map_get(&name, &s->processes, key->a & ~tid_mask, 0)) return;
    hd_ident pid = sq_number_ident(reader->builder, (int64_t)(key->a >> 24 & tid_mask));
    uint32_t process = hd_builder_track(reader->builder, pid, (hd_ident){0}, true);
    if (process != HD_NONE) hd_builder_name_track(reader->builder, process, name);
}

static void name_queue(sq_reader *reader, const sq_track *t)
{
    hd_builder *b = reader->builder;
    const int64_t *n = t->numbers; /* process, device, context, stream */
    const hd_track track = *hd_trace_track_at(hd_builder_trace(b), t->track);
    hd_builder_set_stream(b, t->track, n[1], n[3]);
    hd_builder_name_track(b, t->track, sq_intern(b, "stream %lld", (long long)n[3]));
    hd_builder_sort_track(b, t->track, n[3]);
    uint32_t process = hd_builder_track(b, track.pid, (hd_ident){0}, true);
    if (process == HD_NONE) return;
    hd_builder_name_track(b, process, sq_intern(b, "GPU %lld", (long long)n[1]));
    hd_sort_numbered(b, process, HD_SORT_DEVICES, n[1]);
}

static void name_tracks(sq_reader *reader, const sq_worker *w)
{
    for (size_t i = 0; i < w->track_index.count; i++) {
        const hd_map_entry *key = &w->track_index.entries[i];
        const sq_track *t = &w->tracks[key->value];
        if (t->track == HD_NONE) continue;
        if (key->b == NSYS_THREAD && t->numbers[0] == (int64_t)key->a)
            name_thread(reader, t, key);
        else if ((key->a & 0xff) == NSYS_QUEUE && t->numbers[2] == (int64_t)(key->b >> 32))
            name_queue(reader, t);
        else if (key->b == NSYS_CPU && (key->a & 0xff) == NSYS_CPU)
            hd_builder_sort_track(reader->builder, t->track, t->numbers[0]);
    }
}

hd_status nsys_finish(sq_reader *reader, hd_error *err)
{
    HD_TRY(sq_again(reader, "TARGET_INFO_SESSION_START_TIME", COLUMNS("utcEpochNs"), see_session, reader, err));
    HD_TRY(tell_gpus(reader, err));
    for (unsigned i = 0; i < reader->worker_count; i++) name_tracks(reader, &reader->workers[i]);
    return HD_OK;
}

void nsys_deinit(sq_reader *reader)
{
    nsys_state *s = reader->state;
    hd_map *const maps[] = {&s->threads,        &s->processes,          &s->priorities,
                            &s->domains,        &s->categories,         &s->metrics,
                            &s->calls,          &s->call_is_driver,     &s->samples,
                            &s->calls_of_os,    &s->calls_of_cuda,      &s->memory_kinds.map,
                            &s->sync_kinds.map, &s->overhead_kinds.map, &s->thread_states.map};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    nsys_payloads_deinit(&s->payloads);
}
