/* sums.c - kernels and operators of a trace by name: count, sum, extremes, sum of squares and histogram of durations */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/memory/vector.h"
#include "report/gpu/gpu.h"
#include "report/job/job.h"

enum { BUCKETS = 64 };

typedef struct sum_key {
    int64_t rank, device;
    uint32_t name, is_kernel;
} sum_key;

typedef struct name_sum {
    uint64_t count;
    int64_t min, max;
    gpu_i128 total;
    double squares;
    uint32_t buckets[BUCKETS];
    gpu_reach reach; /* of operators */
} name_sum;

typedef struct sums {
    gpu_scope scope;
    gpu_slices ops;
    gpu_groups keys;
    name_sum *list; /* by key */
    size_t capacity;
} sums;

/* NULL: no memory. */
static name_sum *add_duration(sums *s, const sum_key *key, int64_t duration)
{
    uint32_t known = s->keys.count, group = gpu_group(&s->keys, key);
    if (group == HD_NONE || !hd_grow((void **)&s->list, &s->capacity, group, sizeof *s->list)) return NULL;
    name_sum *sum = &s->list[group];
    if (group == known) *sum = (name_sum){.min = INT64_MAX, .reach.lane = HD_NONE};
    if (duration < 0) duration = 0;
    sum->count++;
    sum->total += duration;
    sum->squares += (double)duration * (double)duration;
    if (duration < sum->min) sum->min = duration;
    if (duration > sum->max) sum->max = duration;
    sum->buckets[duration ? 63 - __builtin_clzll((uint64_t)duration) : 0]++;
    return sum;
}

static bool add_kernels(sums *s)
{
    for (uint32_t d = 0; d < s->scope.device_count; d++) {
        const gpu_device *device = &s->scope.devices[d];
        for (uint32_t i = 0; i < device->count; i++) {
            uint32_t at = s->scope.order[device->first + i];
            const gpu_work *work = &s->scope.works[at];
            sum_key key = {device->rank, device->device, s->scope.launches->works[at].name, true};
            if (work->role == HD_ROLE_KERNEL && !add_duration(s, &key, gpu_duration(work))) return false;
        }
    }
    return true;
}

/* Time of an operator nested in one with the same name is in the total of that one. */
static bool add_operators(sums *s)
{
    for (size_t i = 0; i < s->ops.count; i++) {
        const gpu_slice *op = &s->ops.list[i];
        sum_key key = {s->scope.ranks[op->lane], HD_NO_NUMBER, op->name, false};
        name_sum *sum = add_duration(s, &key, op->end - op->start);
        if (!sum) return false;
        sum->total -= gpu_reach_add(&sum->reach, op->lane, op->start, op->end) - op->start;
    }
    return true;
}

/* ---- tables ---- */

#define SUMS                                                                                                           \
    {"name", HD_VALUE_STRING, "in full"}, {"count", HD_VALUE_COUNT, "how often it ran"},                               \
        {"total", HD_VALUE_DURATION, "sum of the durations; of operators those not within another of the same name"},  \
        {"min", HD_VALUE_DURATION, "the shortest"}, {"max", HD_VALUE_DURATION, "the longest"},                         \
        {"squares", HD_VALUE_DECIMAL, "sum of the squares of the durations in ns"},                                    \
    {                                                                                                                  \
        "histogram", HD_VALUE_STRING, "\"9:3 10:12\": 3 of 2^9 to 2^10 ns, 12 of 2^10 to 2^11; 0 has those of 0 ns"    \
    }
const hd_report_column job_kernel_columns[] = {{"rank", HD_VALUE_INT, "null: unknown"},
                                               {"device", HD_VALUE_INT, "null: the process has no device number"},
                                               SUMS,
                                               {0}};
const hd_report_column job_operator_columns[] = {{"rank", HD_VALUE_INT, "null: unknown"}, SUMS, {0}};

static void add_row(hd_table_builder *b, const sums *s, uint32_t group, hd_json_out *text)
{
    const sum_key *key = gpu_group_key(&s->keys, group);
    const name_sum *sum = &s->list[group];
    report_cell_int(b, key->rank);
    if (key->is_kernel) report_cell_int(b, key->device);
    report_cell_string(b, s->scope.trace, key->name);
    hd_table_add_count(b, sum->count);
    hd_table_add_int(b, gpu_whole(sum->total));
    hd_table_add_int(b, sum->min);
    hd_table_add_int(b, sum->max);
    hd_table_add_decimal(b, sum->squares);
    text->size = 0;
    for (int i = 0; i < BUCKETS; i++) {
        if (!sum->buckets[i]) continue;
        if (text->size) hd_json_put_text(text, " ");
        hd_json_put_int(text, i);
        hd_json_put_text(text, ":");
        hd_json_put_int(text, sum->buckets[i]);
    }
    hd_table_add_string(b, text->data, text->size);
}

static hd_status add_table(hd_report *out, const sums *s, bool kernels, hd_error *err)
{
    hd_table_builder *b;
    hd_json_out text = {0};
    HD_TRY(hd_table_builder_new(&b, kernels ? "kernels" : "operators", err));
    hd_table_set_saturating(b);
    for (const hd_report_column *c = kernels ? job_kernel_columns : job_operator_columns; c->name; c++)
        hd_table_add_column(b, c->name, c->type);
    for (uint32_t i = 0; i < s->keys.count; i++) {
        const sum_key *key = gpu_group_key(&s->keys, i);
        if (key->is_kernel == kernels) add_row(b, s, i, &text);
    }
    hd_table_sort(b, kernels ? "rank,device" : "rank", "total");
    bool fine = !text.failed;
    free(text.data);
    if (fine) return report_add(out, b, err);
    hd_table_builder_free(b);
    return HD_NOMEM(err);
}

hd_status job_sums(hd_report *out, const hd_report_input *input, hd_error *err)
{
    static const gpu_options options = {0};
    sums s = {.keys = {.key_size = sizeof(sum_key)}};
    *out = (hd_report){0};
    hd_status status = gpu_scope_init(&s.scope, input, &options, 0, err);
    if (status == HD_OK) status = gpu_slices_init(&s.ops, &s.scope, 1u << HD_ROLE_OP, err);
    if (status == HD_OK && !(add_kernels(&s) && add_operators(&s))) status = HD_NOMEM(err);
    if (status == HD_OK) status = add_table(out, &s, true, err);
    if (status == HD_OK) status = add_table(out, &s, false, err);
    if (status != HD_OK) hd_report_free(out);
    free(s.list);
    gpu_groups_deinit(&s.keys);
    gpu_slices_deinit(&s.ops);
    gpu_scope_deinit(&s.scope);
    return status;
}
