/* write.c - what /api/session says: the traces, how far they are, and where they stand on one axis
 *
 * The axis of the page is that of the first trace that is ready, and offset_ns puts another there:
 *   unix   by Unix time, if all traces know theirs
 *   clock  else by their own clocks, as `heddle convert --ranks` does
 *   start  all begin together, if those would lie further apart than all of them are long: they are of different runs
 */
#include <stdio.h>

#include "base/error.h"
#include "pass/merge/merge.h"
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

static bool start_on(int64_t *out, const view_entry *entry, view_axis axis)
{
    *out = axis == AXIS_CLOCK ? view_scene_start(entry->scene) : 0;
    return axis != AXIS_UNIX || unix_start(out, entry);
}

/* Whether the traces lie near enough to each other on an axis. */
static bool is_one_run(const view_session *s, view_axis axis)
{
    __extension__ typedef __int128 wide;
    wide low = INT64_MAX, high = INT64_MIN, spans = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t start;
        if (s->entries[i]->state != VIEW_READY || !start_on(&start, s->entries[i], axis)) continue;
        int64_t span = view_scene_span(s->entries[i]->scene);
        low = start < low ? start : low;
        high = (wide)start + span > high ? (wide)start + span : high;
        spans += span;
    }
    return high - low <= 2 * spans;
}

static view_axis choose_axis(const view_session *s)
{
    view_axis axis = AXIS_UNIX;
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t start;
        if (s->entries[i]->state == VIEW_READY && !unix_start(&start, s->entries[i])) axis = AXIS_CLOCK;
    }
    return is_one_run(s, axis) ? axis : AXIS_START;
}

static int64_t offset_of(const view_session *s, const view_entry *entry, view_axis axis)
{
    int64_t zero, start, offset;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->entries[i]->state != VIEW_READY) continue;
        if (!start_on(&zero, s->entries[i], axis) || !start_on(&start, entry, axis)) return 0;
        return __builtin_sub_overflow(start, zero, &offset) ? 0 : offset;
    }
    return 0;
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

static void write_digits(hd_json_out *out, const char *key, int64_t value)
{
    view_json_key(out, key);
    hd_json_put_text(out, "\"");
    hd_json_put_int(out, value);
    hd_json_put_text(out, "\"");
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

/* As `heddle` prints errors, without the name that stands beside it. */
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
        if (s->entries[i] != entry && strcmp(s->entries[i]->name, entry->name) == 0) return entry->path;
    }
    return entry->name;
}

static void write_entry(hd_json_out *out, const view_session *s, const view_entry *entry, view_axis axis)
{
    static const char *const states[] = {"reading", "ready", "failed"};
    bool ready = entry->state == VIEW_READY;
    int64_t start;
    hd_json_put_text(out, "{");
    view_json_int(out, "id", entry->id);
    write_text(out, "name", shown_name(s, entry));
    write_text(out, "format", ready && entry->facts.format ? entry->facts.format : "");
    write_text(out, "state", states[entry->state]);
    view_json_int(out, "done", (int64_t)entry->done);
    view_json_int(out, "total", (int64_t)entry->total);
    hd_error gone = entry->error;
    if (ready) (void)hd_trace_input_status(view_scene_trace(entry->scene), &gone);
    if (gone.status != HD_OK) write_error(out, &gone);
    write_digits(out, "start_ns", ready ? view_scene_start(entry->scene) : 0);
    view_json_int(out, "span_ns", ready ? view_scene_span(entry->scene) : 1);
    view_json_int(out, "offset_ns", ready ? offset_of(s, entry, axis) : 0);
    write_or_null(out, "rank", rank_of(s, entry));
    if (ready && unix_start(&start, entry))
        write_digits(out, "unix_ns", start);
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
    view_axis axis = choose_axis(s);
    hd_json_put_text(out, "{");
    write_text(out, "version", HD_VERSION);
    write_text(out, "session", id);
    view_json_int(out, "revision", (int64_t)s->revision);
    write_text(out, "axis", axes[axis]);
    view_json_key(out, "traces");
    hd_json_put_text(out, "[");
    for (uint32_t i = 0; i < s->count; i++) {
        if (i) hd_json_put_text(out, ",");
        write_entry(out, s, s->entries[i], axis);
    }
    hd_json_put_text(out, "]");
    view_json_key(out, "job");
    view_ranks_write(out, s->ranks);
    hd_json_put_text(out, "}");
    pthread_mutex_unlock(&s->lock);
}
