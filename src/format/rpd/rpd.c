/* rpd.c - rocmProfileData: the mapping of tables and columns, and data that is read before events
 *
 * Format   github.com/ROCm/rocmProfileData, rocpd_python/rocpd/schema_data; schema_version 2 seen
 * Maps     rocpd_op -> slices of queues; rocpd_api -> slices of threads; rocpd_monitor -> counters
 * Units    ns of the host's clock        Shapes   n rows -> n events
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/args.h"
#include "format/rpd/rpd.h"

#define COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* clang-format off */
static const sq_map_column common[] = {{"start", SQ_START}, {"end", SQ_END}, {"id", RPD_ID}, {0}};
static const sq_map_column op[] = {
    {"gpuId", RPD_GPU}, {"queueId", RPD_QUEUE}, {"sequenceId", SQ_ARG, "sequence id"},
    {"completionSignal", SQ_ARG, "completion signal"}, {"description_id", RPD_DESCRIPTION}, {"opType_id", RPD_OP},
    {0},
};
static const sq_map_column api[] = {
    {"pid", RPD_PID}, {"tid", RPD_TID}, {"apiName_id", SQ_NAME}, {"args_id", RPD_ARGS},
    {"domain_id", SQ_STRING, "domain"}, {"category_id", SQ_STRING, "category"},
    {0},
};
static const sq_map_column monitor[] = {
    {"deviceType", RPD_OP}, {"deviceId", RPD_GPU}, {"monitorType", RPD_KIND}, {"value", RPD_VALUE},
    {0},
};
static const sq_map_column kernel[] = {
    {"stream", SQ_ARG, "hip stream"}, {"groupSegmentSize", SQ_ARG, "shared memory"},
    {"privateSegmentSize", SQ_ARG, "private segment size"}, {"kernelName_id", SQ_SKIP}, /* the description of the op */
    {"gridX", SQ_SKIP}, {"gridY", SQ_SKIP}, {"gridZ", SQ_SKIP}, /* see_launch */
    {"workgroupX", SQ_SKIP}, {"workgroupY", SQ_SKIP}, {"workgroupZ", SQ_SKIP},
    {0},
};
static const sq_map_column copy[] = {
    {"stream", SQ_ARG, "hip stream"}, {"size", SQ_ARG, "bytes"}, {"kind", SQ_ARG, "copyKind"},
    {0},
};
static const sq_map_column mark[] = {
    {"autogradName_id", SQ_STRING, "operator"}, {"seq", SQ_ARG, "Sequence number"},
    {0},
};

static const sq_map_table tables[] = {
    {"rocpd_api", "api", HD_KIND_SLICE, 'X', api, rpd_place_call},
    {"rocpd_op", "kernel", HD_KIND_SLICE, 'X', op, rpd_place_op},
    {"rocpd_monitor", "monitor", HD_KIND_COUNTER, 'C', monitor, rpd_place_monitor},
    {0},
};
static const sq_map_table others = {NULL, NULL, HD_KIND_SLICE, 'X', api, rpd_place_any};
/* clang-format on */

static const char *const tells[] = {"rocpd_api", "rocpd_op", NULL};
static const char *const looked_up[] = {"rocpd_string",
                                        "rocpd_ustring",
                                        "rocpd_api_ops",
                                        "rocpd_kernelapi",
                                        "rocpd_copyapi",
                                        "ext_autogradapi",
                                        "ext_callstack", /* sums by the nesting */
                                        NULL};

/* ---- before events ---- */

static void intern_texts(sq_reader *reader)
{
    rpd_state *s = reader->state;
    const hd_named_text list[] = {
        {&s->correlation, "correlation"},
        {&s->device, "device"},
        {&s->stream, "stream"},
        {&s->grid, "grid"},
        {&s->block, "block"},
        {&s->op_type, "op type"},
        {&s->arguments, "args"},
        {&s->kernel, "kernel"},
        {&s->copy, "gpu_memcpy"},
        {&s->set, "gpu_memset"},
        {&s->wait, "gpu_sync"},
        {&s->hip, "hip_api"},
        {&s->hsa, "hsa_api"},
        {&s->mark, "user_annotation"},
        {&s->overhead, "overhead"},
        {0},
    };
    hd_intern_texts(reader->builder, list);
}

/* api_id, op_id */
static hd_status see_link(void *user, const sq_value *const *v, hd_error *err)
{
    rpd_state *s = user;
    if (v[0]->type != SQ_INT || v[1]->type != SQ_INT || s->call_count >= HD_NONE) return HD_OK;
    if (!hd_grow((void **)&s->call_ids, &s->call_capacity, s->call_count, sizeof *s->call_ids) ||
        !hd_map_set(&s->calls, (uint64_t)v[1]->number, 0, (uint32_t)s->call_count))
        return HD_NOMEM(err);
    s->call_ids[s->call_count++] = v[0]->number;
    return HD_OK;
}

/* id, apiName_id: launches of modules give their grid in work-items, all others in workgroups. */
static hd_status see_call(void *user, const sq_value *const *v, hd_error *err)
{
    sq_reader *reader = user;
    rpd_state *s = reader->state;
    if (v[0]->type != SQ_INT || v[1]->type != SQ_INT) return HD_OK;
    hd_string name = hd_builder_string(reader->builder, sq_strings_at(&reader->strings, v[1]->number));
    bool is_ext = name.size == strlen("hipExtModuleLaunchKernel") &&
                  (memcmp(name.data, "hipExtModuleLaunchKernel", name.size) == 0 ||
                   memcmp(name.data, "hipHccModuleLaunchKernel", name.size) == 0);
    return !is_ext || hd_map_set(&s->in_items, (uint64_t)v[0]->number, 0, 1) ? HD_OK : HD_NOMEM(err);
}

/* api_ptr_id, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ */
static hd_status see_launch(void *user, const sq_value *const *v, hd_error *err)
{
    rpd_state *s = user;
    uint32_t found;
    if (v[0]->type != SQ_INT || s->launch_count >= HD_NONE) return HD_OK;
    if (!hd_grow((void **)&s->launch_list, &s->launch_capacity, s->launch_count, sizeof *s->launch_list) ||
        !hd_map_set(&s->launches, (uint64_t)v[0]->number, 0, (uint32_t)s->launch_count))
        return HD_NOMEM(err);
    rpd_launch *l = &s->launch_list[s->launch_count++];
    for (int i = 0; i < 3; i++) {
        l->grid[i] = sq_value_number(v[1 + i]);
        l->block[i] = sq_value_number(v[4 + i]);
        if (!hd_map_get(&found, &s->in_items, (uint64_t)v[0]->number, 0)) continue;
        if (l->grid[i] > 0 && l->block[i] > 0) l->grid[i] = (l->grid[i] - 1) / l->block[i] + 1;
    }
    return HD_OK;
}

static hd_status begin(sq_reader *reader, hd_error *err)
{
    rpd_state *s = reader->state;
    intern_texts(reader);
    HD_TRY(sq_strings_read(&reader->strings, reader, "rocpd_string", "id", "string", err));
    HD_TRY(sq_strings_read(&s->user_texts, reader, "rocpd_ustring", "id", "string", err));
    const sq_table *calls = sq_file_table(reader->file, "rocpd_api");
    s->has_user_texts = calls && strcasecmp(sq_table_references(calls, "args_id"), "rocpd_ustring") == 0;
    HD_TRY(sq_each(reader, "rocpd_api_ops", COLUMNS("api_id", "op_id"), see_link, s, err));
    HD_TRY(sq_again(reader, "rocpd_api", COLUMNS("id", "apiName_id"), see_call, reader, err));
    HD_TRY(sq_again(reader, "rocpd_kernelapi",
                    COLUMNS("api_ptr_id", "gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ"),
                    see_launch, s, err));
    HD_TRY(sq_side_read(&s->kernels, reader, "rocpd_kernelapi", "api_ptr_id", kernel, err));
    HD_TRY(sq_side_read(&s->copies, reader, "rocpd_copyapi", "api_ptr_id", copy, err));
    return sq_side_read(&s->marks, reader, "ext_autogradapi", "api_ptr_id", mark, err);
}

static hd_status finish(sq_reader *reader, hd_error *err)
{
    (void)err;
    for (unsigned i = 0; i < reader->worker_count; i++) rpd_name_tracks(reader, &reader->workers[i]);
    return HD_OK;
}

static void deinit(sq_reader *reader)
{
    rpd_state *s = reader->state;
    hd_map_deinit(&s->user_texts.map);
    hd_map_deinit(&s->calls);
    hd_map_deinit(&s->in_items);
    hd_map_deinit(&s->launches);
    sq_side_deinit(&s->kernels);
    sq_side_deinit(&s->copies);
    sq_side_deinit(&s->marks);
    free(s->call_ids);
    free(s->launch_list);
}

static const hd_sql_mapping mapping = {
    .tells = tells,
    .tables = tables,
    .columns = common,
    .looked_up = looked_up,
    .others = &others,
    .state_size = sizeof(rpd_state),
    .begin = begin,
    .finish = finish,
    .deinit = deinit,
};

const hd_format hd_rpd_format = {
    .info = {.name = "rpd",
             .title = "rocmProfileData",
             .extensions = ".rpd",
             .reads = true,
             .keeps = "everything",
             .loses = "strings that no event has; sums of call stacks"},
    .sniff = sq_sniff,
    .mapping = &mapping,
};
