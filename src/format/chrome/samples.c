/* samples.c - the top-level key `samples`: stack samples, as catapult's exporter of perf and Hermes write them
 *
 * Format   "Trace Event Format", global samples: [{"cpu": 0, "tid": 1, "ts": 1000.0, "name": "cycles", "sf": 3,
 *          "weight": 1}, …]; `sf` is a key of `stackFrames`. Hermes has a pid as well, and all numbers in quotes
 * Maps     each -> the equivalent event {"ph": "P"}: name, ts, pid, tid and sf are its members, all others its args
 * pid      if missing, that of the only thread of the trace with that tid; none if there is no such thread
 *
 * The key may come before the events, whose threads give the pids: its text is kept until all events are read.
 */
#include <stdlib.h>

#include "base/error.h"
#include "format/chrome/reader.h"
#include "trace/text.h"

enum { BATCH_BYTES = 1 << 20 };

typedef struct sampler {
    chrome_reader *reader;
    hd_map pids;      /* by string id of a tid: that of its pid, HD_NONE where two processes have it */
    hd_json_out text; /* events to parse */
    hd_json_out args; /* of one event */
} sampler;

bool chrome_is_samples(hd_string key, const char *value, const char *end)
{
    const char *frame, *p = hd_json_skip_space(value + (*value == '['));
    size_t size;
    return hd_string_is(key, "samples") && *value == '[' && p < end && *p == '{' &&
           hd_json_find(&frame, &size, p, "sf");
}

bool chrome_keep_samples(chrome_reader *reader, const char *value, const char *end)
{
    if (reader->samples.size)
        hd_json_put(&reader->samples, ",", 1);
    else
        reader->samples_offset = reader->rest.offset;
    hd_json_put(&reader->samples, value + 1, (size_t)(end - value) - 2); /* without its brackets */
    return !reader->samples.failed;
}

/* ---- processes of threads ---- */

static bool note_threads(sampler *s)
{
    const hd_trace *trace = hd_builder_trace(s->reader->builder);
    bool fine = true;
    for (uint32_t t = 0; fine && t < hd_trace_track_count(trace); t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        if (track->tid.type != HD_IDENT_NUMBER || track->pid.type != HD_IDENT_NUMBER) continue;
        const hd_map_entry *known = hd_map_find(&s->pids, track->tid.text, 0);
        bool is_only = !known || known->value == track->pid.text;
        fine = hd_map_set(&s->pids, track->tid.text, 0, is_only ? track->pid.text : HD_NONE);
    }
    return fine;
}

static void put_pid(sampler *s, hd_string tid)
{
    const hd_trace *trace = hd_builder_trace(s->reader->builder);
    const hd_map_entry *known = hd_map_find(&s->pids, hd_trace_find_string(trace, tid.data, tid.size), 0);
    if (!known || known->value == HD_NONE) return;
    hd_string pid = hd_trace_string(trace, known->value);
    hd_json_put_text(&s->text, ",\"pid\":");
    hd_json_put(&s->text, pid.data, pid.size);
}

/* ---- events ---- */

static bool is_member(const hd_json_text *key)
{
    static const char *const names[] = {"name", "cat", "ts", "pid", "tid", "sf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (hd_string_is((hd_string){key->data, key->size}, names[i])) return true;
    }
    return false;
}

/* Appends the sample whose `{` is at p as an event to the text; returns the position after its `}`. The text is
 * valid. */
static const char *put_sample(sampler *s, const char *p)
{
    hd_string tid = {0};
    bool has_pid = false;
    s->args.size = 0;
    hd_json_put_text(&s->text, "{\"ph\":\"P\"");
    for (p = hd_json_skip_space(p + 1); *p == '"';) {
        hd_json_text key;
        const char *start = p, *value = hd_json_skip_space(hd_json_string(&key, p + 1));
        value = hd_json_skip_space(value + 1);
        p = hd_json_skip_value(value);
        hd_json_out *out = is_member(&key) ? &s->text : &s->args;
        hd_json_put(out, ",", out == &s->text || out->size);
        hd_json_put(out, start, (size_t)(p - start));
        if (hd_string_is((hd_string){key.data, key.size}, "pid")) has_pid = true;
        if (hd_string_is((hd_string){key.data, key.size}, "tid")) tid = (hd_string){value, (size_t)(p - value)};
        p = hd_json_skip_space(p);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    if (!has_pid && tid.size) put_pid(s, tid);
    if (s->args.size) {
        hd_json_put_text(&s->text, ",\"args\":{");
        hd_json_put(&s->text, s->args.data, s->args.size);
        hd_json_put_text(&s->text, "}");
    }
    hd_json_put_text(&s->text, "}");
    return p + 1;
}

/* Parses the text into rows. */
static hd_status add_events(sampler *s)
{
    static const char padding[HD_JSON_PADDING];
    chrome_reader *reader = s->reader;
    size_t size = s->text.size;
    hd_json_put(&s->text, padding, sizeof padding);
    if (s->text.failed || s->args.failed) return HD_NOMEM(reader->err);
    const chrome_span span = {.data = s->text.data, .size = size, .offset = reader->samples_offset, .is_final = true};
    s->text.size = 0;
    return chrome_add_elements(reader, &span);
}

static hd_status read_list(sampler *s, const char *p)
{
    for (p = hd_json_skip_space(p); *p;) {
        hd_json_put(&s->text, ",", s->text.size > 0);
        if (*p == '{') {
            p = put_sample(s, p);
        } else { /* kept as the element of an array of events that is none */
            const char *end = hd_json_skip_value(p);
            hd_json_put(&s->text, p, (size_t)(end - p));
            p = end;
        }
        if (s->text.size >= BATCH_BYTES) HD_TRY(add_events(s));
        p = hd_json_skip_space(p);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return add_events(s);
}

hd_status chrome_read_samples(chrome_reader *reader)
{
    static const char padding[HD_JSON_PADDING];
    sampler s = {.reader = reader};
    if (!reader->samples.size) return HD_OK;
    hd_json_put(&reader->samples, padding, sizeof padding);
    if (reader->samples.failed) return HD_NOMEM(reader->err);
    bool want_sources = reader->parsers[0].want_sources;
    reader->parsers[0].want_sources = false; /* the parsed text is not that of the input */
    hd_status status = note_threads(&s) ? read_list(&s, reader->samples.data) : HD_NOMEM(reader->err);
    reader->parsers[0].want_sources = want_sources;
    hd_map_deinit(&s.pids);
    free(s.text.data);
    free(s.args.data);
    return status;
}
