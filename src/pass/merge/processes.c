/* processes.c - how processes of one run differ from ranks: names, clocks, correlation ids */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "pass/merge/impl.h"
#include "trace/strings.h"

/* Clocks of one host count from its boot. The base times of its processes differ by noise and by steps of the system's
 * time; a larger difference means two boots. */
#define ONE_BOOT_NS ((int64_t)3600 * 1000000000)

/* ---- names ---- */

hd_string merge_process_label(const merger *m, size_t index)
{
    const hd_trace *trace = m->inputs[index].trace;
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        if (track->kind == HD_TRACK_PROCESS && track->device == HD_NO_NUMBER)
            return hd_builder_string(m->builder, m->ranks[index].pids[t].text);
    }
    return (hd_string){"", 0};
}

uint32_t merge_process_text(const merger *m, size_t index, const hd_track *process)
{
    hd_json_out out = {0};
    hd_string name = hd_trace_string(m->trace, process->name), label = merge_process_label(m, index);
    if (name.size == 0) name = hd_trace_string(m->trace, process->pid.text);
    hd_json_put(&out, name.data, name.size);
    hd_json_put_text(&out, " (process ");
    hd_json_put(&out, label.data, label.size);
    hd_json_put_text(&out, ")");
    uint32_t id = out.failed ? HD_STRING_NONE : hd_builder_intern(m->builder, out.data, out.size);
    free(out.data);
    return id;
}

/* ---- clocks ---- */

/* The text of the member "host" of the key "process", or from perf's data of a recording on the same clock; an id of
 * `hosts`, HD_STRING_NONE: unknown. */
static hd_status host_of(uint32_t *out, hd_strings *hosts, const hd_trace *trace, hd_error *err)
{
    hd_string process = merge_metadata_of(trace, "process");
    bool is_perf = !process.data;
    const char *host = NULL, *clock;
    size_t size = 0, clock_size;
    *out = HD_STRING_NONE;
    if (is_perf) process = merge_metadata_of(trace, "perf");
    if (!process.data) return HD_OK;
    char *text = calloc(1, process.size + HD_JSON_PADDING);
    if (!text) return HD_NOMEM(err);
    memcpy(text, process.data, process.size);
    const char *end = hd_json_skip_value(text);
    bool is_object = end && *text == '{', is_ours = !is_perf;
    if (is_object && is_perf)
        is_ours = hd_json_find(&clock, &clock_size, text, "clock") && strncmp(clock, "\"monotonic\"", 11) == 0;
    if (is_object && is_ours && hd_json_find(&host, &size, text, is_perf ? "hostname" : "host"))
        *out = hd_strings_intern(hosts, host, size);
    free(text);
    return HD_OK;
}

hd_status merge_process_hosts(merger *m, hd_error *err)
{
    hd_strings hosts;
    HD_TRY(hd_strings_init(&hosts, err));
    hd_status status = HD_OK;
    for (size_t i = 0; i < m->count && status == HD_OK; i++)
        status = host_of(&m->ranks[i].host, &hosts, m->inputs[i].trace, err);
    hd_strings_deinit(&hosts);
    return status;
}

hd_status merge_process_bases(int64_t *bases, const merger *m, hd_error *err)
{
    uint32_t most = 0;
    for (size_t i = 0; i < m->count; i++) most = m->ranks[i].host > most ? m->ranks[i].host : most;
    int64_t *first = malloc(((size_t)most + 1) * sizeof *first);
    if (!first) return HD_NOMEM(err);
    for (size_t h = 0; h <= most; h++) first[h] = HD_NO_TIME;
    for (size_t i = 0; i < m->count; i++) {
        uint32_t host = m->ranks[i].host;
        int64_t difference;
        if (host == 0 || bases[i] == HD_NO_TIME) continue;
        if (first[host] == HD_NO_TIME) first[host] = bases[i];
        bool apart = __builtin_sub_overflow(bases[i], first[host], &difference);
        if (!apart && difference < ONE_BOOT_NS && difference > -ONE_BOOT_NS) bases[i] = first[host];
    }
    free(first);
    return HD_OK;
}

/* ---- correlation ids ---- */

static int64_t largest_in(const hd_block *block, uint32_t shape, int key)
{
    const hd_arg_group *group = hd_block_group(block, shape);
    int64_t most = 0;
    for (uint32_t i = 0; group && i < group->row_count; i++) {
        int64_t value = hd_column_at(&group->columns[key], i);
        most = value > most ? value : most;
    }
    return most;
}

static int64_t largest_of_shape(const hd_trace *trace, uint32_t shape, uint32_t key)
{
    const hd_shape *s = hd_trace_shape_at(trace, shape);
    int64_t most = 0;
    for (uint32_t k = 0; k < s->key_count; k++) {
        if (s->keys[k].key != key || s->keys[k].type != HD_ARG_INT) continue;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
            for (size_t b = 0; b < hd_trace_block_count(trace, (hd_kind)kind); b++) {
                int64_t value = largest_in(hd_trace_block_at(trace, (hd_kind)kind, b), shape, (int)k);
                most = value > most ? value : most;
            }
        }
    }
    return most;
}

void merge_correlation_keys(uint32_t out[MERGE_ID_KEYS], const hd_trace *trace)
{
    static const char creator[] = "graphNodeCreatorCorrelationId";
    int count = 1;
    for (int i = 1; i < MERGE_ID_KEYS; i++) out[i] = HD_NONE;
    out[0] = hd_trace_find_string(trace, creator, sizeof creator - 1);
    for (uint32_t s = 0; s < hd_trace_shape_count(trace) && count < MERGE_ID_KEYS; s++) {
        const hd_shape *shape = hd_trace_shape_at(trace, s);
        uint32_t key = shape->correlation < 0 ? HD_NONE : shape->keys[shape->correlation].key;
        bool is_known = key == HD_NONE;
        for (int i = 0; i < count; i++) is_known |= out[i] == key;
        if (!is_known) out[count++] = key;
    }
}

static int64_t largest_correlation(const hd_trace *trace)
{
    uint32_t keys[MERGE_ID_KEYS];
    int64_t most = 0;
    merge_correlation_keys(keys, trace);
    for (int k = 0; k < MERGE_ID_KEYS; k++) {
        for (uint32_t s = 0; keys[k] != HD_NONE && s < hd_trace_shape_count(trace); s++) {
            int64_t value = largest_of_shape(trace, s, keys[k]);
            most = value > most ? value : most;
        }
    }
    return most;
}

/* Shifts each input's ids after those of the previous inputs. */
hd_status merge_choose_correlations(merger *m, hd_error *err)
{
    int64_t top = 0;
    uint64_t shared = 0;
    (void)err;
    for (size_t i = 0; i < m->count; i++) {
        int64_t most = largest_correlation(m->inputs[i].trace);
        if (most == 0) continue;
        if (most > MERGE_EXACT_LIMIT - top) {
            shared++;
            continue;
        }
        m->ranks[i].correlation_shift = top;
        top += most;
    }
    if (shared)
        hd_builder_ledger(m->builder, "merge", "merge.correlations-not-shifted", HD_LEDGER_NOTE, shared,
                          HD_OFFSET_NONE);
    return HD_OK;
}
