/* write.c - the answer of /api/session: the traces, their progress, and their offsets on a common axis
 *
 * The axis of the web UI is that of the first ready trace, and offset_ns converts other traces:
 *   unix   by Unix time, if all traces know theirs
 *   clock  else by their own clocks, as `heddle convert --ranks` does
 *   start  all begin together, if they would otherwise be further apart than their total length: they are of different
 *          runs
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/system.h"
#include "model/clock/clock.h"
#include "trace/lazy.h"
#include "trace/ranks.h"
#include "view/ranks/ranks.h"
#include "view/session/impl.h"
#include "view/write/json.h"

typedef enum view_axis { AXIS_UNIX, AXIS_CLOCK, AXIS_START } view_axis;

/* Unix time of the trace's first event; false: not known. */
static bool unix_start(int64_t *out, const view_entry *entry)
{
    return entry->facts.base_ns != HD_NO_TIME &&
           !__builtin_add_overflow(view_scene_start(entry->scene), entry->facts.base_ns, out);
}

/* Where the traces are on the page: how far each is from the first that is ready. */
typedef struct view_places {
    view_axis axis;
    int64_t *offsets, *shifts; /* by entry; NULL: none is ready, or no memory. shifts: as those of SQL */
} view_places;

static view_places choose_places(const view_session *s)
{
    size_t count = (size_t)s->count + 1, ready = 0;
    int64_t *shifts = calloc(count, sizeof *shifts);
    const hd_trace_facts **facts = calloc(count, sizeof *facts);
    hd_clock_span *spans = calloc(count, sizeof *spans);
    view_places out = {AXIS_START, calloc(count, sizeof *out.offsets), calloc(count, sizeof *out.shifts)};
    bool fine = facts && shifts && spans && out.offsets && out.shifts;
    for (uint32_t i = 0; fine && i < s->count; i++) {
        if (s->entries[i]->state == VIEW_READY) facts[ready++] = &s->entries[i]->facts;
    }
    bool shared = fine && hd_clock_shifts_of(shifts, facts, ready);
    ready = 0;
    for (uint32_t i = 0; fine && i < s->count; i++) {
        const view_entry *entry = s->entries[i];
        if (entry->state != VIEW_READY) continue;
        hd_clock_span *span = &spans[ready];
        out.shifts[i] = shifts[ready];
        *span = (hd_clock_span){.length_ns = view_scene_span(entry->scene)};
        fine = !__builtin_add_overflow(view_scene_start(entry->scene), shifts[ready], &span->start_ns) &&
               !__builtin_sub_overflow(span->start_ns, spans[0].start_ns, &out.offsets[i]);
        ready++;
    }
    fine = fine && hd_clock_is_one_run(spans, ready);
    if (fine) out.axis = shared || !ready ? AXIS_UNIX : AXIS_CLOCK;
    if (!fine && out.offsets) memset(out.offsets, 0, count * sizeof *out.offsets);
    free(facts);
    free(shifts);
    free(spans);
    return out;
}

static int64_t rank_of(const view_session *s, const view_entry *entry)
{
    if (entry->facts.rank >= 0) return entry->facts.rank;
    return s->count > 1 ? hd_rank_of_path(entry->path ? entry->path : entry->name) : HD_NO_NUMBER;
}

static void write_text(hd_json_out *out, const char *key, const char *text)
{
    view_json_text(out, key, (hd_string){text, strlen(text)});
}

static void write_or_null(hd_json_out *out, const char *key, int64_t value)
{
    if (value != HD_NO_NUMBER) {
        view_json_int(out, key, value);
        return;
    }
    view_json_key(out, key);
    hd_json_put_text(out, "null");
}

/* As `heddle` prints errors, without the name shown next to it. */
static void write_error(hd_json_out *out, const hd_error *err)
{
    char text[HD_ERROR_TEXT_BYTES];
    hd_error shown = *err;
    shown.path[0] = '\0';
    write_text(out, "error", hd_error_text(text, sizeof text, &shown));
}

/* The name, or where another trace has the same, the path. */
static const char *shown_name(const view_session *s, const view_entry *entry)
{
    for (uint32_t i = 0; entry->path && i < s->count; i++) {
        if (s->entries[i] != entry && s->entries[i]->state != VIEW_CLOSED &&
            strcmp(s->entries[i]->name, entry->name) == 0)
            return entry->path;
    }
    return entry->name;
}

/* Of a trace that needs more memory than there is: what there is, what it needs, estimated, and whether its first
 * seconds can be tried: not twice, and not of a store, where a crop decodes every block to bind the flows. */
static void write_memory(hd_json_out *out, const view_entry *entry)
{
    double here = (double)hd_memory_of_module(), needed = 0;
    if (entry->state == VIEW_READY)
        needed = (double)VIEW_EVENT_BYTES * (double)hd_trace_event_count(view_scene_trace(entry->scene));
    else if (entry->done)
        needed = here * (double)entry->total / (double)entry->done;
    if (here <= 0) return;
    view_json_key(out, "memory");
    hd_json_put_text(out, "{");
    view_json_int(out, "here", (int64_t)here);
    if (needed > here && needed < (double)INT64_MAX) view_json_int(out, "needed", (int64_t)needed);
    bool is_store = entry->facts.format && strcmp(entry->facts.format, "heddle") == 0;
    if (!entry->most_events && !is_store) view_json_bool(out, "head", true);
    hd_json_put_text(out, "}");
}

static void write_entry(hd_json_out *out, const view_session *s, const view_entry *entry, int64_t offset, int64_t shift)
{
    static const char *const states[] = {"reading", "ready", "failed"};
    bool ready = entry->state == VIEW_READY;
    int64_t start;
    hd_json_put_text(out, "{");
    view_json_int(out, "id", entry->id);
    write_text(out, "name", shown_name(s, entry));
    write_text(out, "format", ready && entry->facts.format ? entry->facts.format : "");
    write_text(out, "state", states[entry->state]);
    if (entry->is_asked) view_json_bool(out, "asked", true);
    view_json_int(out, "done", (int64_t)entry->done);
    view_json_int(out, "total", (int64_t)entry->total);
    hd_error gone = entry->error;
    if (ready) (void)hd_trace_input_status(view_scene_trace(entry->scene), &gone);
    if (gone.status != HD_OK) write_error(out, &gone);
    if (gone.status == HD_ERR_MEMORY || (entry->most_events && gone.status == HD_ERR_LIMIT)) write_memory(out, entry);
    if (entry->part[0]) write_text(out, "part", entry->part);
    view_json_digits(out, "start_ns", ready ? view_scene_start(entry->scene) : 0);
    view_json_int(out, "span_ns", ready ? view_scene_span(entry->scene) : 1);
    view_json_int(out, "offset_ns", offset);
    if (shift) view_json_digits(out, "sql_shift_ns", shift);
    if (ready) write_text(out, "device_kind", entry->device_kind);
    write_or_null(out, "rank", rank_of(s, entry));
    if (ready && unix_start(&start, entry))
        view_json_digits(out, "unix_ns", start);
    else
        write_or_null(out, "unix_ns", HD_NO_NUMBER);
    view_json_int(out, "tracks", ready ? view_scene_revision(entry->scene) : 0);
    write_text(out, "busy", entry->busy);
    hd_json_put_text(out, "}");
}

void view_session_write(hd_json_out *out, view_session *s)
{
    static const char *const axes[] = {"unix", "clock", "start"};
    char id[2 * sizeof s->id + 1];
    for (size_t i = 0; i < sizeof s->id; i++) snprintf(id + 2 * i, 3, "%02x", s->id[i]);
    pthread_mutex_lock(&s->lock);
    view_places places = choose_places(s);
    hd_json_put_text(out, "{");
    write_text(out, "version", HD_VERSION);
    write_text(out, "session", id);
    view_json_int(out, "revision", (int64_t)s->revision);
    write_text(out, "axis", axes[places.axis]);
    view_json_key(out, "traces");
    hd_json_put_text(out, "[");
    bool is_first = true;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->entries[i]->state == VIEW_CLOSED) continue;
        if (!is_first) hd_json_put_text(out, ",");
        is_first = false;
        write_entry(out, s, s->entries[i], places.offsets ? places.offsets[i] : 0,
                    places.shifts ? places.shifts[i] : 0);
    }
    hd_json_put_text(out, "]");
    if (s->options.diff_before) {
        view_json_key(out, "diff");
        hd_json_put_text(out, "{");
        view_json_int(out, "before", s->options.diff_before);
        view_json_int(out, "traces", s->options.diff_count);
        hd_json_put_text(out, "}");
    }
    view_json_key(out, "job");
    view_ranks_write(out, s->ranks);
    hd_json_put_text(out, "}");
    pthread_mutex_unlock(&s->lock);
    free(places.offsets);
    free(places.shifts);
}
