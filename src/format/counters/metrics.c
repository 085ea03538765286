/* metrics.c - lines of Prometheus' text format, and of OpenMetrics: NAME{LABEL="VALUE",…} NUMBER [TIME]
 *
 * DCGM's exporter gives the unit of a metric in its HELP: "SM clock frequency (in MHz).". Labels that say which GPU, or
 * where it is, are the same for all its metrics; the others distinguish counters of one name.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/ends.h"
#include "format/counters/counters.h"
#include "trace/text.h"

typedef struct metric {
    hd_string name, gpu, instance, model, value, time;
    bool is_gpu;
} metric;

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':';
}

static hd_string take_word(hd_string *rest)
{
    hd_string word = hd_text_trim(rest->data, rest->size);
    size_t size = 0;
    while (size < word.size && !hd_is_blank(word.data[size])) size++;
    *rest = hd_text_trim(word.data + size, word.size - size);
    return (hd_string){word.data, size};
}

/* The value of a label ends at a quote without a backslash before it. false: there is none. */
static bool take_label(hd_string *name, hd_string *value, hd_string *rest)
{
    const char *at = rest->data, *end = at + rest->size;
    while (at < end && (hd_is_blank(*at) || *at == ',')) at++;
    name->data = at;
    while (at < end && is_name(*at)) at++;
    name->size = (size_t)(at - name->data);
    if (end - at < 2 || at[0] != '=' || at[1] != '"' || !name->size) return false;
    value->data = at += 2;
    while (at < end && *at != '"') at += *at == '\\' && end - at > 1 ? 2 : 1;
    if (at >= end) return false;
    value->size = (size_t)(at - value->data);
    *rest = (hd_string){at + 1, (size_t)(end - at - 1)};
    return true;
}

/* Labels that distinguish counters go to r->id. */
static void sort_label(counters_reader *r, metric *m, hd_string name, hd_string value)
{
    static const char *const numbers[] = {"gpu", "gpu_id", "GPU_ID", NULL}, *const instances[] = {"GPU_I_ID", NULL};
    static const char *const models[] = {"modelName", "card_model", NULL};
    static const char *const places[] = {"UUID",
                                         "device",
                                         "Hostname",
                                         "hostname",
                                         "GPU_I_PROFILE",
                                         "pci_bus_id",
                                         "DCGM_FI_DRIVER_VERSION",
                                         "instance",
                                         "job",
                                         "container",
                                         "namespace",
                                         "pod",
                                         "uid",
                                         "serial_number",
                                         "exported_container",
                                         "exported_namespace",
                                         "exported_pod",
                                         NULL};
    if (hd_string_is_any(name, numbers)) {
        m->gpu = value;
        m->is_gpu = true;
    } else if (hd_string_is_any(name, instances)) {
        m->instance = value;
    } else if (hd_string_is_any(name, models)) {
        m->model = value;
    } else if (!hd_string_is_any(name, places)) {
        if (r->id.size) hd_bytes_put(&r->id, ",", 1);
        hd_bytes_put(&r->id, name.data, name.size);
        hd_bytes_put(&r->id, "=", 1);
        hd_bytes_put(&r->id, value.data, value.size);
    }
}

static bool parse_metric(counters_reader *r, metric *m, hd_string text)
{
    size_t size = 0;
    *m = (metric){0};
    r->id.size = 0;
    while (size < text.size && is_name(text.data[size])) size++;
    m->name = (hd_string){text.data, size};
    text = hd_text_trim(text.data + size, text.size - size);
    if (!size || isdigit((unsigned char)*m->name.data)) return false;
    if (text.size && *text.data == '{') {
        hd_string name, value;
        text.data++, text.size--;
        while (take_label(&name, &value, &text)) sort_label(r, m, name, value);
        while (text.size && (hd_is_blank(*text.data) || *text.data == ',')) text.data++, text.size--;
        if (!text.size || *text.data != '}') return false;
        text.data++, text.size--;
    }
    m->value = take_word(&text);
    m->time = take_word(&text);
    return m->value.size && (!text.size || *text.data == '#'); /* an exemplar */
}

/* The name of its counter, with the unit that a line HELP before it gave. */
static uint32_t name_of(counters_reader *r, hd_string text)
{
    uint64_t hash;
    const hd_memo_value *known = hd_memo_find(&hash, &r->names, text.data, text.size);
    return known ? known->a : hd_builder_intern(r->builder, text.data, text.size);
}

static void take_help(counters_reader *r, hd_string text)
{
    uint64_t hash;
    hd_string name = take_word(&text);
    const char *in = memmem(text.data, text.size, "(in ", 4), *end = text.data + text.size;
    const char *close = in ? memchr(in, ')', (size_t)(end - in)) : NULL;
    if (!close || close - in - 4 > 16 || hd_memo_find(&hash, &r->names, name.data, name.size)) return;
    uint32_t id = counters_name(r->builder, name, (hd_string){in + 4, (size_t)(close - in - 4)});
    hd_memo_add(&r->names, hash, name.data, name.size, (hd_memo_value){.a = id});
}

static bool find_time(counters_reader *r, int64_t *out_ns, const metric *m, uint32_t track, const hd_line *line)
{
    if (m->time.size) return counters_time_parse(&r->times, out_ns, m->time.data, m->time.size);
    counters_count(r, NO_TIMES, line);
    uint32_t series = hd_intern_format(
        r->builder, "%u %.*s %.*s", track, (int)(m->name.size < 128 ? m->name.size : 128), m->name.data,
        (int)(r->id.size < 64 ? r->id.size : 64), r->id.data ? (const char *)r->id.data : "");
    return counters_time_of_row(&r->times, out_ns, series);
}

hd_status counters_metrics_line(counters_reader *r, const hd_line *line)
{
    char gpu[80];
    metric m;
    int64_t time_ns;
    hd_string text = hd_text_trim(line->text, line->size);
    if (*text.data == '#') {
        hd_string rest = {text.data + 1, text.size - 1}, word = take_word(&rest);
        if (hd_string_is(word, "HELP")) take_help(r, rest);
        return HD_OK;
    }
    bool is_metric = parse_metric(r, &m, text);
    counters_value value = counters_parse_value(is_metric ? m.value : (hd_string){"", 0});
    if (!is_metric || (!value.is_missing && (!value.is_number || value.unit.size || value.number.size > 100))) {
        counters_count(r, LOST_LINES, line);
        return HD_OK;
    }
    if (value.is_missing) {
        counters_count(r, MISSING_VALUES, line);
        return HD_OK;
    }
    if (m.instance.size && m.gpu.size + m.instance.size < 60) {
        int size = snprintf(gpu, sizeof gpu, "%.*s instance %.*s", (int)m.gpu.size, m.gpu.data, (int)m.instance.size,
                            m.instance.data);
        m.gpu = (hd_string){gpu, (size_t)size};
    }
    uint32_t track = counters_track(r, m.is_gpu ? m.gpu : (hd_string){"metrics", 7}, m.model);
    if (track == HD_NONE || r->id.failed) return HD_NOMEM(r->err);
    hd_status status = HD_END;
    if (find_time(r, &time_ns, &m, track, line))
        status =
            counters_add(r, track, name_of(r, m.name), time_ns, &value, (hd_string){(char *)r->id.data, r->id.size});
    if (status != HD_END) return status;
    counters_count(r, LOST_LINES, line);
    return HD_OK;
}
