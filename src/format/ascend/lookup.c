/* lookup.c - data that an Ascend database stores once: texts, tasks, connections, call chains; and names of tracks */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/args.h"
#include "format/ascend/ascend.h"
#include "format/numbers.h"
#include "model/roles/trace_roles.h"

#define COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- tasks ---- */

/* clang-format off */
static const sq_map_column compute[] = {
    {"name", SQ_NAME}, {"blockDim", SQ_ARG, "block dim"}, {"blockNum", SQ_ARG, "block dim"},
    {"block_dim", SQ_ARG, "block dim"}, {"mixBlockDim", SQ_ARG, "mix block dim"},
    {"mixBlockNum", SQ_ARG, "mix block dim"}, {"taskType", SQ_STRING, "accelerator core"},
    {"opType", SQ_STRING, "op type"}, {"inputFormats", SQ_STRING, "Input Formats"},
    {"inputDataTypes", SQ_STRING, "Input type"}, {"inputShapes", SQ_STRING, "Input Dims"},
    {"outputFormats", SQ_STRING, "Output Formats"}, {"outputDataTypes", SQ_STRING, "Output type"},
    {"outputShapes", SQ_STRING, "Output Dims"}, {"attrInfo", SQ_STRING, "attributes"}, {"waitNs", SQ_ARG, "wait ns"},
    {"opState", SQ_STRING, "op state"}, {"hf32Eligible", SQ_STRING, "HF32 eligible"},
    {0},
};
static const sq_map_column collective[] = {
    {"name", SQ_NAME}, {"taskType", SQ_STRING, "operation"}, {"planeId", SQ_ARG, "plane"},
    {"groupName", SQ_STRING, "Process Group Name"}, {"notifyId", SQ_ARG, "notify id"},
    {"rdmaType", SQ_LABEL, "RDMA type", "ENUM_HCCL_RDMA_TYPE"}, {"srcRank", SQ_ARG, "source rank"},
    {"dstRank", SQ_ARG, "destination rank"},
    {"transportType", SQ_LABEL, "transport type", "ENUM_HCCL_TRANSPORT_TYPE"}, {"size", SQ_ARG, "bytes"},
    {"dataType", SQ_LABEL, "data type", "ENUM_HCCL_DATA_TYPE"},
    {"linkType", SQ_LABEL, "link type", "ENUM_HCCL_LINK_TYPE"}, {"opId", SQ_ARG, "op id"},
    {0},
};
static const sq_map_column schedule[] = {
    {"name", SQ_NAME}, {"taskType", SQ_STRING, "accelerator core"}, {"opType", SQ_STRING, "op type"},
    {0},
};
static const sq_map_column copy[] = {
    {"size", SQ_ARG, "bytes"}, {"memcpyOperation", SQ_LABEL, "operation", "ENUM_MEMCPY_OPERATION"},
    {0},
};
static const sq_map_column connection[] = {{"connectionId", SQ_ARG, ""}, {0}};
/* clang-format on */

static hd_status read_tasks(sq_reader *reader, hd_error *err)
{
    ascend_state *s = reader->state;
    HD_TRY(sq_side_read(&s->tasks, reader, "COMPUTE_TASK_INFO", "globalTaskId", compute, err));
    HD_TRY(sq_side_read(&s->tasks, reader, "COMMUNICATION_SCHEDULE_TASK_INFO", "globalTaskId", schedule, err));
    HD_TRY(sq_side_read(&s->copies, reader, "MEMCPY_INFO", "globalTaskId", copy, err));
    HD_TRY(
        sq_side_read_pairs(&s->tasks, reader, "TASK_PMU_INFO", "globalTaskId", &reader->strings, "name", "value", err));
    return sq_side_read(&s->collectives, reader, "COMMUNICATION_TASK_INFO", "globalTaskId", collective, err);
}

/* connectionId */
static hd_status see_collective(void *user, const sq_value *const *v, hd_error *err)
{
    ascend_state *s = user;
    int64_t id = sq_value_number(v[0]);
    if (!ascend_is_id(id)) return HD_OK;
    return hd_map_set(&s->devices, (uint64_t)id, 0, HD_NONE) ? HD_OK : HD_NOMEM(err);
}

/* deviceId, streamId, taskId, contextId, connectionId */
static hd_status see_task(void *user, const sq_value *const *v, hd_error *err)
{
    ascend_state *s = user;
    int64_t device = sq_value_number(v[0]), stream = sq_value_number(v[1]), task = sq_value_number(v[2]);
    hd_map_entry *known = s->devices.count ? hd_map_find(&s->devices, (uint64_t)sq_value_number(v[4]), 0) : NULL;
    if (known && device >= 0 && device < HD_NONE) known->value = (uint32_t)device;
    if (!ascend_is_id(sq_value_number(v[3])) || !ascend_is_id(task)) return HD_OK;
    return hd_map_set(&s->frames, ascend_queue_key(device, stream), (uint64_t)task, 1) ? HD_OK : HD_NOMEM(err);
}

/* ---- connections ---- */

static hd_status add_connection(ascend_state *s, int64_t id, int64_t start, uint32_t chain, hd_error *err)
{
    uint32_t at;
    if (!ascend_is_id(id)) return HD_OK;
    if (!hd_map_get(&at, &s->connection_index, (uint64_t)id, 0)) {
        if (!hd_grow((void **)&s->connections, &s->connection_capacity, s->connection_count, sizeof *s->connections) ||
            !hd_map_set(&s->connection_index, (uint64_t)id, 0, (uint32_t)s->connection_count))
            return HD_NOMEM(err);
        s->connections[s->connection_count++] = (ascend_connection){start, 1, chain};
        return HD_OK;
    }
    ascend_connection *c = &s->connections[at];
    if (c->count < UINT32_MAX) c->count++;
    if (start < c->first_ns) c->first_ns = start;
    return HD_OK;
}

/* "ProfilerStep#50": the same is in STEP_TIME. */
static hd_status see_step(ascend_state *s, hd_string name, hd_error *err)
{
    int64_t step;
    if (!hd_step_number(&step, name)) return HD_OK;
    return hd_map_set(&s->steps, (uint64_t)step, 0, 1) ? HD_OK : HD_NOMEM(err);
}

/* connectionId, startNs, callchainId, globalTid, name */
static hd_status see_op(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    ascend_state *s = reader->state;
    int64_t id = sq_value_number(v[0]), start = sq_value_number(v[1]), thread = sq_value_number(v[3]);
    uint32_t chain = HD_STACK_NONE;
    if (v[4]->type == SQ_INT)
        HD_TRY(see_step(s, hd_builder_string(reader->builder, sq_strings_at(&reader->strings, v[4]->number)), err));
    if (s->pid == HD_NO_NUMBER && thread != HD_NO_NUMBER) s->pid = (int64_t)((uint64_t)thread >> 32);
    const struct sq_side_row *row = id == HD_NO_NUMBER ? NULL : sq_side_first(&s->connections_of, id, 0);
    if (row) hd_map_get(&chain, &s->chains, (uint64_t)sq_value_number(v[2]), 0);
    for (; row; row = sq_side_next(&s->connections_of, row))
        if (row->count) HD_TRY(add_connection(s, s->connections_of.items[row->first].bits, start, chain, err));
    return HD_OK;
}

/* connectionId, startNs */
static hd_status see_range(void *user, const sq_value *const *v, hd_error *err)
{
    return add_connection(user, sq_value_number(v[0]), sq_value_number(v[1]), HD_STACK_NONE, err);
}

static hd_status read_connections(sq_reader *reader, hd_error *err)
{
    ascend_state *s = reader->state;
    static const sq_chain_table chains = {"PYTORCH_CALLCHAINS", "id", "stackDepth", "stack", "", HD_FRAME_PYTHON};
    HD_TRY(sq_chains_read(&s->chains, reader, &chains, &reader->strings, err));
    HD_TRY(sq_side_read(&s->connections_of, reader, "CONNECTION_IDS", "id", connection, err));
    HD_TRY(sq_again(reader, "PYTORCH_API", COLUMNS("connectionId", "startNs", "callchainId", "globalTid", "name"),
                    see_op, reader, err));
    return sq_again(reader, "MSTX_EVENTS", COLUMNS("connectionId", "startNs"), see_range, s, err);
}

/* ---- before events ---- */

static void intern_texts(sq_reader *reader)
{
    ascend_state *s = reader->state;
    const hd_named_text list[] = {
        {&s->text.correlation, "correlation"},
        {&s->text.device, "device"},
        {&s->text.bytes, "Bytes"},
        {&s->text.device_type, "Device Type"},
        {&s->text.device_id, "Device Id"},
        {&s->text.address, "Addr"},
        {&s->text.allocated, "Total Allocated"},
        {&s->text.reserved, "Total Reserved"},
        {&s->text.ge_allocated, "GE Total Allocated"},
        {&s->text.ge_reserved, "GE Total Reserved"},
        {&s->text.domain, "domain"},
        {&s->text.group, "Process Group Name"},
        {&s->text.memory, "[memory]"},
        {&s->text.ge_memory, "NPU_OP_MEM"},
        {&s->text.name, "name"},
        {&s->text.operation, "operation"},
        {&s->text.task_type, "task type"},
        {&s->text.copy, "gpu_memcpy"},
        {&s->text.set, "gpu_memset"},
        {&s->text.wait, "gpu_sync"},
        {&s->text.span, "gpu_user_annotation"},
        {&s->text.queue, "task_queue"},
        {&s->text.python, "python_function"},
        {&s->text.annotation, "user_annotation"},
        {&s->text.unknown, "[unknown]"},
        {&s->text.to_device, "async_npu"},
        {&s->text.task_queue, "async_task_queue"},
        {&s->text.backward, "fwdbwd"},
        {0},
    };
    hd_intern_texts(reader->builder, list);
}

/* rankId, deviceId */
static hd_status see_rank(void *user, const sq_value *const *v, hd_error *err)
{
    ascend_state *s = user;
    int64_t rank = sq_value_number(v[0]), device = sq_value_number(v[1]);
    if (rank < 0 || rank >= HD_NONE || device == HD_NO_NUMBER) return HD_OK;
    return hd_map_set(&s->ranks, (uint64_t)device, 0, (uint32_t)rank) ? HD_OK : HD_NOMEM(err);
}

static hd_status see_any(void *user, const sq_value *const *v, hd_error *err)
{
    (void)v;
    (void)err;
    *(bool *)user = true;
    return HD_OK;
}

hd_status ascend_begin(sq_reader *reader, hd_error *err)
{
    ascend_state *s = reader->state;
    s->pid = HD_NO_NUMBER;
    intern_texts(reader);
    HD_TRY(sq_strings_read(&reader->strings, reader, "STRING_IDS", "id", "value", err));
    HD_TRY(sq_strings_read(&s->modules, reader, "ENUM_MODULE", "id", "name", err));
    HD_TRY(sq_again(reader, "RANK_DEVICE_MAP", COLUMNS("rankId", "deviceId"), see_rank, s, err));
    HD_TRY(sq_again(reader, "OP_MEMORY", COLUMNS("size"), see_any, &s->has_op_memory, err));
    HD_TRY(read_tasks(reader, err));
    HD_TRY(sq_again(reader, "COMMUNICATION_OP", COLUMNS("connectionId"), see_collective, s, err));
    HD_TRY(sq_again(reader, "TASK", COLUMNS("deviceId", "streamId", "taskId", "contextId", "connectionId"), see_task, s,
                    err));
    return read_connections(reader, err);
}

/* ---- after them ---- */

static void set_rank(sq_reader *reader, uint32_t track, int64_t device)
{
    const ascend_state *s = reader->state;
    uint32_t rank;
    if (s->ranks.count > 1 && hd_map_get(&rank, &s->ranks, (uint64_t)device, 0))
        hd_builder_set_rank(reader->builder, track, rank);
}

static void name_track(sq_reader *reader, const sq_track *t, uint64_t kind)
{
    hd_builder *b = reader->builder;
    const int64_t *n = t->numbers;
    if (kind == ASCEND_THREAD || t->track == HD_NONE) return;
    if (n[0] != HD_NO_NUMBER) set_rank(reader, t->track, n[0]);
    switch (kind) {
    case ASCEND_NPU:
        hd_builder_name_track(b, t->track, sq_intern(b, "NPU %lld", (long long)n[0]));
        hd_builder_label_track(b, t->track, hd_builder_intern_text(b, "NPU"));
        hd_sort_numbered(b, t->track, HD_SORT_DEVICES, n[0]);
        break;
    case ASCEND_COUNTERS:
        hd_builder_name_track(b, t->track, (uint32_t)n[1]);
        hd_sort_numbered(b, t->track, HD_SORT_MONITORS, n[0] == HD_NO_NUMBER ? -1 : n[0]);
        break;
    case ASCEND_TOLD:
        hd_builder_name_track(b, t->track, (uint32_t)n[1]);
        hd_builder_sort_track(b, t->track, INT64_C(1) << 32);
        break;
    default: /* streams */
        hd_builder_set_stream(b, t->track, n[0], n[1]);
        hd_builder_name_track(b, t->track, sq_intern(b, "stream %lld", (long long)n[1]));
        hd_builder_sort_track(b, t->track, n[1]);
    }
}

typedef struct host_reader {
    hd_json_out name;
    size_t rows;
} host_reader;

/* Machines with equal names, which may be that of their image, are distinguished by their number. */
static hd_status see_host(void *user, const sq_value *const *v, hd_error *err)
{
    enum { NAME_MAX_SIZE = 200, UID_MAX_SIZE = 60 };
    host_reader *r = user;
    char text[NAME_MAX_SIZE + UID_MAX_SIZE + 4];
    if (r->rows++ || v[0]->type != SQ_TEXT || !v[0]->size || v[0]->size > NAME_MAX_SIZE) return HD_OK;
    size_t size = v[0]->size;
    memcpy(text, v[0]->data, size);
    if (v[1]->type == SQ_TEXT && v[1]->size && v[1]->size <= UID_MAX_SIZE)
        size += (size_t)sprintf(text + size, " (%.*s)", (int)v[1]->size, (const char *)v[1]->data);
    hd_json_put_string(&r->name, text, size);
    return r->name.failed ? HD_NOMEM(err) : HD_OK;
}

/* The metadata `hostname`, if it is one. */
static hd_status read_host(sq_reader *reader, hd_error *err)
{
    hd_builder *b = reader->builder;
    host_reader r = {0};
    hd_status status = sq_again(reader, "HOST_INFO", COLUMNS("hostName", "hostUid"), see_host, &r, err);
    if (status == HD_OK && r.rows == 1 && r.name.size) {
        const uint32_t key_id = hd_builder_intern_text(b, "hostname");
        hd_builder_metadata(b, key_id, hd_builder_intern(b, r.name.data, r.name.size), false);
    }
    free(r.name.data);
    return status;
}

hd_status ascend_finish(sq_reader *reader, hd_error *err)
{
    const ascend_state *s = reader->state;
    for (unsigned i = 0; i < reader->worker_count; i++) {
        const sq_worker *w = &reader->workers[i];
        for (size_t e = 0; e < w->track_index.count; e++) {
            const hd_map_entry *key = &w->track_index.entries[e];
            name_track(reader, &w->tracks[key->value], key->b);
        }
    }
    if (s->ranks.count == 1) hd_builder_facts(reader->builder)->rank = (int64_t)s->ranks.entries[0].value;
    HD_TRY(read_host(reader, err));
    return sq_devices_to_metadata(reader, "NPU_INFO", COLUMNS("id", "name", "", "", "", "", ""), err);
}

void ascend_deinit(sq_reader *reader)
{
    ascend_state *s = reader->state;
    hd_map *const maps[] = {&s->modules.map, &s->frames, &s->devices,         &s->ranks,
                            &s->steps,       &s->chains, &s->connection_index};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) hd_map_deinit(maps[i]);
    sq_side_deinit(&s->tasks);
    sq_side_deinit(&s->copies);
    sq_side_deinit(&s->collectives);
    sq_side_deinit(&s->connections_of);
    free(s->connections);
}
