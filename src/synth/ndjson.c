/* ndjson.c - a trace such as CUPTI's as lines of JSON, one for each record */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/memory/vector.h"
#include "heddle/synth.h"
#include "synth/model.h"

/* Ids of the texts that are looked for; HD_NONE where the trace has none of them. */
typedef struct ndjson {
    const hd_trace *trace;
    hd_output *out;
    hd_error *err;
    uint32_t runtime, kernel, copy, set;
    uint32_t cbid, grid, block, device, stream, size, type;
    uint32_t graph, node, creator;
    char *line;
    size_t used, capacity;
} ndjson;

static uint32_t find(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

static void find_texts(ndjson *w)
{
    const hd_trace *t = w->trace;
    w->runtime = find(t, synth_texts[SYNTH_TEXT_CUPTI_RUNTIME]);
    w->kernel = find(t, synth_texts[SYNTH_TEXT_CUPTI_KERNEL]);
    w->copy = find(t, synth_texts[SYNTH_TEXT_CUPTI_COPY]);
    w->set = find(t, synth_texts[SYNTH_TEXT_CUPTI_SET]);
    w->cbid = find(t, "cbid");
    w->grid = find(t, "grid");
    w->block = find(t, "block");
    w->device = find(t, "deviceId");
    w->stream = find(t, "streamId");
    w->size = find(t, "size");
    w->type = find(t, "type");
    w->graph = find(t, "graphId");
    w->node = find(t, "graphNodeId");
    w->creator = find(t, "graphNodeCreatorCorrelationId");
}

/* ---- pieces of a line; names are ASCII without quotes, as the generator makes them ---- */

static bool put(ndjson *w, const char *data, size_t size)
{
    if (!hd_reserve(&w->line, &w->capacity, w->used + size)) return false;
    memcpy(w->line + w->used, data, size);
    w->used += size;
    return true;
}

static bool put_key(ndjson *w, const char *key)
{
    return put(w, ",\"", 2) && put(w, key, strlen(key)) && put(w, "\":", 2);
}

static bool put_int(ndjson *w, const char *key, int64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRId64, value);
    return put_key(w, key) && put(w, digits, (size_t)size);
}

static bool put_text(ndjson *w, const char *key, hd_string text)
{
    return put_key(w, key) && put(w, "\"", 1) && put(w, text.data, text.size) && put(w, "\"", 1);
}

static bool put_int_arg(ndjson *w, const char *key, const hd_event *event, uint32_t id)
{
    int64_t value;
    return !hd_event_arg_int(&value, w->trace, event, id) || put_int(w, key, value);
}

static bool put_json_arg(ndjson *w, const char *key, const hd_event *event, uint32_t id)
{
    hd_value value;
    if (!hd_event_arg(&value, w->trace, event, id)) return true;
    hd_string text = hd_trace_string(w->trace, (uint32_t)value.bits);
    return put_key(w, key) && put(w, text.data, text.size);
}

/* "Kernel: name" -> "name" */
static hd_string bare_name(const ndjson *w, const hd_event *event)
{
    hd_string name = hd_trace_string(w->trace, event->name);
    const char *colon = memchr(name.data, ':', name.size);
    size_t skip = colon ? (size_t)(colon - name.data) + 2 : 0;
    return skip <= name.size ? (hd_string){name.data + skip, name.size - skip} : name;
}

static bool begin(ndjson *w, const char *type, const hd_event *event)
{
    w->used = 0;
    return put(w, "{\"type\":\"", 9) && put(w, type, strlen(type)) && put(w, "\"", 1) &&
           put_int(w, "start", event->start_ns) && put_int(w, "end", event->start_ns + event->duration_ns);
}

static bool put_call(ndjson *w, const hd_event *event)
{
    const hd_track *track = hd_trace_track_at(w->trace, event->track);
    hd_string pid = hd_trace_string(w->trace, track->pid.text), tid = hd_trace_string(w->trace, track->tid.text);
    return begin(w, "RUNTIME", event) && put_text(w, "name", bare_name(w, event)) &&
           put_int_arg(w, "cbid", event, w->cbid) && put_key(w, "processId") && put(w, pid.data, pid.size) &&
           put_key(w, "threadId") && put(w, tid.data, tid.size);
}

static bool put_kernel(ndjson *w, const hd_event *event)
{
    return begin(w, "CONCURRENT_KERNEL", event) && put_text(w, "name", bare_name(w, event)) &&
           put_json_arg(w, "grid", event, w->grid) && put_json_arg(w, "block", event, w->block) &&
           put_int_arg(w, "graphId", event, w->graph) && put_int_arg(w, "graphNodeId", event, w->node) &&
           put_int_arg(w, "graphNodeCreatorCorrelationId", event, w->creator);
}

static bool put_copy(ndjson *w, const hd_event *event)
{
    hd_value kind;
    if (!begin(w, event->category == w->set ? "MEMSET" : "MEMCPY", event)) return false;
    if (hd_event_arg(&kind, w->trace, event, w->type) &&
        !put_text(w, "copyKind", hd_trace_string(w->trace, (uint32_t)kind.bits)))
        return false;
    return put_int_arg(w, "bytes", event, w->size);
}

static hd_status write_event(ndjson *w, const hd_event *event)
{
    bool call = event->category == w->runtime, kernel = event->category == w->kernel;
    if (!call && !kernel && event->category != w->copy && event->category != w->set)
        return hd_error_set(w->err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the trace is none of a CUPTI library");
    bool fine = call ? put_call(w, event) : kernel ? put_kernel(w, event) : put_copy(w, event);
    fine = fine && put_int_arg(w, "deviceId", event, w->device) && put_int_arg(w, "streamId", event, w->stream) &&
           (event->correlation == HD_NO_CORRELATION || put_int(w, "correlationId", event->correlation)) &&
           put(w, "}\n", 2);
    return fine ? hd_output_write(w->out, w->line, w->used, w->err) : HD_NOMEM(w->err);
}

static hd_status write_all(ndjson *w)
{
    for (size_t i = 0; i < hd_trace_block_count(w->trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_trace_block_at(w->trace, HD_KIND_SLICE, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            hd_event event;
            hd_block_event(&event, block, row);
            HD_TRY(write_event(w, &event));
        }
    }
    return HD_OK;
}

hd_status hd_synth_cupti_write(const hd_trace *trace, const char *path, hd_error *err)
{
    ndjson w = {.trace = trace, .err = err};
    find_texts(&w);
    HD_TRY(hd_output_create(&w.out, path, NULL, err));
    hd_status status = write_all(&w);
    free(w.line);
    if (status == HD_OK) return hd_output_commit(w.out, err);
    hd_output_abort(w.out);
    return status;
}
