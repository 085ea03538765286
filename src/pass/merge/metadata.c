/* metadata.c - merges top-level keys of several inputs
 *
 * A key with equal values in all inputs stays. `stackFrames` is one tree for all (stacks.c). Others are stored by rank
 * under "ranks", or by the pid of the process under "processes", where `modules` becomes one list for all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "pass/merge/impl.h"
#include "trace/strings.h"
#include "trace/text.h"

/* ---- what all inputs have ---- */

static hd_string value_of(const hd_trace *trace, hd_string key)
{
    for (size_t i = hd_trace_metadata_count(trace); i-- > 0;) {
        const hd_metadata *m = hd_trace_metadata_at(trace, i);
        hd_string name = hd_trace_string(trace, m->key);
        if (name.size == key.size && memcmp(name.data, key.data, key.size) == 0)
            return hd_trace_string(trace, m->value);
    }
    return (hd_string){NULL, 0};
}

hd_string merge_metadata_of(const hd_trace *trace, const char *key)
{
    return value_of(trace, (hd_string){key, strlen(key)});
}

/* Keys that are stored elsewhere in the merged trace. */
static bool is_elsewhere(const merger *m, hd_string key)
{
    if (m->count == 1 && !m->shared) return false;
    return hd_string_is(key, "stackFrames") || (m->processes && hd_string_is(key, "modules"));
}

/* What a process measured of itself belongs to it alone, even if another has the same value; so does its rank. */
static bool is_of_one(const merger *m, hd_string key)
{
    return m->count > 1 && hd_string_is(key, m->processes ? "heddle.capture" : "distributedInfo");
}

static uint32_t intern(const merger *m, hd_string s)
{
    return hd_builder_intern(m->builder, s.data, s.size);
}

/* Whether all inputs have the same value for it. */
static bool is_common(const merger *m, hd_string key, hd_string value)
{
    for (size_t i = 0; i < m->count; i++) {
        hd_string other = value_of(m->inputs[i].trace, key);
        if (!other.data || other.size != value.size || memcmp(other.data, value.data, value.size) != 0) return false;
    }
    return true;
}

/* Puts the common keys of the first input, and collects their names in a set: searching each key in each input would be
 * quadratic. */
static hd_status put_common(merger *m, hd_strings *common, hd_error *err)
{
    const hd_trace *first = m->inputs[0].trace;
    char base[32];
    bool base_stated = false;
    for (size_t i = 0; i < hd_trace_metadata_count(first); i++) {
        const hd_metadata *meta = hd_trace_metadata_at(first, i);
        hd_string key = hd_trace_string(first, meta->key);
        if (is_elsewhere(m, key) || is_of_one(m, key)) continue;
        hd_string value = hd_trace_string(first, meta->value);
        if (!is_common(m, key, value)) continue;
        base_stated |= hd_string_is(key, "baseTimeNanoseconds");
        const uint32_t key_id = intern(m, key);
        hd_builder_metadata(m->builder, key_id, intern(m, value), meta->after_events);
        if (hd_strings_intern(common, key.data, key.size) == HD_STRING_NONE) return HD_NOMEM(err);
    }
    if (!base_stated && m->base_ns != HD_NO_TIME && merge_metadata_of(first, "baseTimeNanoseconds").data) {
        snprintf(base, sizeof base, "%" PRId64, m->base_ns);
        const uint32_t key_id = hd_builder_intern_text(m->builder, "baseTimeNanoseconds");
        hd_builder_metadata(m->builder, key_id, hd_builder_intern_text(m->builder, base), false);
    }
    return HD_OK;
}

/* ---- what they differ in ---- */

enum { LABEL_BYTES = 64 };

/* A unique label for an input: two captures of one process are "70" and "70 #2". */
static void choose_label(char text[LABEL_BYTES], const merger *m, size_t index, hd_strings *labels)
{
    hd_string label = m->processes ? merge_process_label(m, index) : (hd_string){"", 0};
    int size = snprintf(text, LABEL_BYTES, "%.*s", (int)(label.size < 32 ? label.size : 32), label.data);
    if (size == 0) snprintf(text, LABEL_BYTES, "%" PRId64, m->inputs[index].rank);
    for (unsigned n = 2; hd_strings_find(labels, text, strlen(text)) != HD_NONE; n++)
        snprintf(text + size, LABEL_BYTES - (size_t)size, " #%u", n);
    hd_strings_intern(labels, text, strlen(text));
}

static void put_label(const merger *m, hd_json_out *out, size_t index, hd_strings *labels)
{
    char text[LABEL_BYTES];
    choose_label(text, m, index, labels);
    hd_json_put_text(out, out->size > 1 ? "," : "");
    hd_json_put_string(out, text, strlen(text));
    hd_json_put_text(out, ":{");
}

/* `"rank": {…}` with the keys that are not common; nothing if there are none. */
static void put_others(const merger *m, hd_json_out *out, size_t index, const hd_strings *common, hd_strings *labels)
{
    const hd_trace *trace = m->inputs[index].trace;
    bool first = true;
    for (size_t i = 0; i < hd_trace_metadata_count(trace); i++) {
        const hd_metadata *meta = hd_trace_metadata_at(trace, i);
        hd_string key = hd_trace_string(trace, meta->key);
        if (is_elsewhere(m, key) || hd_strings_find(common, key.data, key.size) != HD_NONE) continue;
        hd_string value = hd_trace_string(trace, meta->value);
        if (first)
            put_label(m, out, index, labels);
        else
            hd_json_put_text(out, ",");
        first = false;
        hd_json_put_string(out, key.data, key.size);
        hd_json_put_text(out, ":");
        hd_json_put(out, value.data, value.size);
    }
    if (!first) hd_json_put_text(out, "}");
}

static hd_status add_key(merger *m, const char *key, const hd_json_out *value, hd_error *err)
{
    if (value->failed) return HD_NOMEM(err);
    const uint32_t key_id = hd_builder_intern_text(m->builder, key);
    hd_builder_metadata(m->builder, key_id, hd_builder_intern(m->builder, value->data, value->size), false);
    return HD_OK;
}

/* ---- modules ---- */

/* An element with its process, since addresses are local to a process. */
static void put_element(hd_json_out *out, const char *element, size_t size, const char *process)
{
    const char *value;
    size_t value_size;
    hd_json_put_text(out, out->size > 1 ? ",\n" : "");
    if (*element == '{' && !hd_json_find(&value, &value_size, element, "pid")) {
        hd_json_put_text(out, "{\"pid\":");
        hd_json_put_string(out, process, strlen(process));
        hd_json_put_text(out, *hd_json_skip_space(element + 1) == '}' ? "" : ",");
        element++;
        size--;
    }
    hd_json_put(out, element, size);
}

/* The elements of a JSON array, without duplicates. Any other value is skipped: hostile, or empty. */
static hd_status put_elements(hd_json_out *out, hd_string array, const char *process, hd_error *err)
{
    hd_strings seen;
    char *text = calloc(1, array.size + HD_JSON_PADDING);
    if (!text) return HD_NOMEM(err);
    memcpy(text, array.data, array.size);
    const char *p = hd_json_skip_space(text);
    hd_status status = hd_strings_init(&seen, err);
    if (status != HD_OK || *p != '[' || !hd_json_skip_value(p)) {
        if (status == HD_OK) hd_strings_deinit(&seen);
        free(text);
        return status;
    }
    p = hd_json_skip_space(p + 1);
    while (*p && *p != ']') {
        const char *end = hd_json_skip_value(p);
        uint32_t known = atomic_load(&seen.count);
        if (hd_strings_intern(&seen, p, (size_t)(end - p)) >= known) put_element(out, p, (size_t)(end - p), process);
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    hd_strings_deinit(&seen);
    free(text);
    return HD_OK;
}

static hd_status put_modules(merger *m, hd_error *err)
{
    hd_strings labels;
    hd_json_out out = {0};
    char label[LABEL_BYTES];
    HD_TRY(hd_strings_init(&labels, err));
    hd_status status = HD_OK;
    hd_json_put_text(&out, "[");
    for (size_t i = 0; i < m->count && status == HD_OK; i++) {
        hd_string modules = merge_metadata_of(m->inputs[i].trace, "modules");
        choose_label(label, m, i, &labels);
        if (modules.data) status = put_elements(&out, modules, label, err);
    }
    hd_json_put_text(&out, "]");
    if (status == HD_OK && out.size > 2) status = add_key(m, "modules", &out, err);
    free(out.data);
    hd_strings_deinit(&labels);
    return status;
}

/* ---- shifts ---- */

/* "clock_shifts_ns", by rank; a rank's original times are the times minus this. */
static hd_status put_shifts(merger *m, hd_error *err)
{
    hd_json_out out = {0};
    char text[64];
    bool any = false;
    for (size_t i = 0; i < m->count; i++) {
        snprintf(text, sizeof text, "%s\"%" PRId64 "\":%" PRId64, i ? "," : "{", m->inputs[i].rank,
                 m->inputs[i].shift_ns);
        hd_json_put_text(&out, text);
        any |= m->inputs[i].shift_ns != 0;
    }
    hd_json_put_text(&out, "}");
    hd_status status = any ? add_key(m, "clock_shifts_ns", &out, err) : HD_OK;
    free(out.data);
    return status;
}

/* ---- all of them ---- */

hd_status merge_metadata(merger *m, hd_error *err)
{
    hd_strings common, labels;
    hd_json_out others = {0};
    HD_TRY(hd_strings_init(&common, err));
    hd_status status = hd_strings_init(&labels, err);
    if (status != HD_OK) {
        hd_strings_deinit(&common);
        return status;
    }
    status = put_common(m, &common, err);
    hd_json_put_text(&others, "{");
    for (size_t i = 0; i < m->count && status == HD_OK; i++) put_others(m, &others, i, &common, &labels);
    hd_json_put_text(&others, "}");
    if (status == HD_OK && others.size > 2) status = add_key(m, m->processes ? "processes" : "ranks", &others, err);
    if (status == HD_OK && m->processes && m->count > 1) status = put_modules(m, err);
    if (status == HD_OK && !m->processes) status = put_shifts(m, err);
    free(others.data);
    hd_strings_deinit(&common);
    hd_strings_deinit(&labels);
    return status;
}

void merge_facts(const merger *m)
{
    hd_trace_facts *facts = hd_builder_copy_facts(m->builder, m->inputs[0].trace);
    facts->top_level_array = false;
    facts->base_ns = m->base_ns;
    if (!m->processes || m->count > 1) facts->rank = m->count == 1 ? m->inputs[0].rank : HD_NO_NUMBER;
    for (size_t i = 1; i < m->count; i++) {
        const hd_trace_facts *other = hd_trace_facts_of(m->inputs[i].trace);
        facts->stored_bytes += other->stored_bytes;
        facts->input_bytes += other->input_bytes;
        facts->has_args = facts->has_args && other->has_args;
        bool is_alone = !m->processes && facts->world_size == 1;
        if (facts->world_size != other->world_size || is_alone) facts->world_size = HD_NO_NUMBER;
        if (strcmp(facts->compression, other->compression) != 0) facts->compression = "none";
    }
}
