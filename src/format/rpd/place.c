/* place.c - track, name and kind of a row
 *
 * A GPU is a process "GPU 2" with a track for each queue. Numbers of GPUs are those of the runtime in rocpd_op, and of
 * the system's monitor in rocpd_monitor, which need not be the same.
 */
#include <string.h>

#include "format/numbers.h"
#include "format/rpd/rpd.h"
#include "trace/text.h"

static bool begins(hd_string text, const char *word)
{
    return text.size >= strlen(word) && memcmp(text.data, word, strlen(word)) == 0;
}

static bool ends(hd_string text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data + text.size - size, word, size) == 0;
}

/* ---- GPUs ---- */

static uint32_t queue_track(sq_worker *w, int64_t gpu, int64_t queue)
{
    hd_builder *b = w->reader->builder;
    sq_track *track = sq_track_at(w, (uint64_t)gpu << 32 ^ (uint64_t)queue, RPD_STREAM);
    if (track->track == HD_NONE) {
        const hd_ident pid = sq_text_ident(b, "GPU %lld", (long long)gpu);
        const hd_ident tid = sq_text_ident(b, "queue %lld", (long long)queue);
        *track = (sq_track){hd_builder_track(b, pid, tid, false), {gpu, queue}};
    }
    return track->track;
}

static void set_kind(sq_worker *w, hd_string type)
{
    const rpd_state *s = rpd_of(w);
    if (begins(type, "Copy"))
        w->row.category = s->copy;
    else if (begins(type, "Fill"))
        w->row.category = s->set;
    else if (begins(type, "Barrier") || begins(type, "Marker"))
        w->row.category = s->wait;
}

/* The grid and workgroup of a launch, in workgroups. */
static void add_launch(sq_worker *w, int64_t call)
{
    const rpd_state *s = rpd_of(w);
    uint32_t at;
    if (!hd_map_get(&at, &s->launches, (uint64_t)call, 0)) return;
    const rpd_launch *l = &s->launch_list[at];
    sq_add_three(w, s->grid, l->grid);
    sq_add_three(w, s->block, l->block);
}

const char *rpd_place_op(sq_worker *w)
{
    const rpd_state *s = rpd_of(w);
    hd_builder *b = w->reader->builder;
    int64_t gpu = sq_field(w, RPD_GPU), queue = sq_field(w, RPD_QUEUE), id = sq_field(w, RPD_ID);
    uint32_t type = sq_field_string(w, RPD_OP), at;
    w->row.name = sq_field_string(w, RPD_DESCRIPTION);
    bool is_named = w->row.name != HD_STRING_NONE && hd_builder_string(b, w->row.name).size;
    if (!is_named) w->row.name = type;
    if (w->row.name == HD_STRING_NONE) w->row.name = hd_builder_intern_text(b, "[unknown]");
    if (gpu == HD_NO_NUMBER) gpu = 0;
    if (queue == HD_NO_NUMBER) queue = 0;
    w->row.track = queue_track(w, gpu, queue);
    set_kind(w, hd_builder_string(b, type));
    sq_add(w, s->device, HD_ARG_INT, gpu);
    sq_add(w, s->stream, HD_ARG_INT, queue);
    if (type != HD_STRING_NONE) sq_add(w, s->op_type, HD_ARG_STRING, type);
    if (!hd_map_get(&at, &s->calls, (uint64_t)id, 0)) return NULL;
    int64_t call = s->call_ids[at];
    sq_add(w, s->correlation, HD_ARG_INT, call);
    if (w->row.category == s->copy || w->row.category == s->set) {
        sq_side_add(w, &s->copies, call);
    } else {
        add_launch(w, call);
        sq_side_add(w, &s->kernels, call);
    }
    return NULL;
}

/* ---- the host ---- */

static void place_on_thread(sq_worker *w)
{
    int64_t pid = sq_field(w, RPD_PID), tid = sq_field(w, RPD_TID);
    if (pid == HD_NO_NUMBER && tid == HD_NO_NUMBER) return;
    if (pid == HD_NO_NUMBER) pid = 0;
    if (tid == HD_NO_NUMBER) tid = pid;
    sq_track *track = sq_track_at(w, (uint64_t)pid << 32 ^ (uint64_t)tid, RPD_THREAD);
    if (track->track == HD_NONE) track->track = hd_builder_thread(w->reader->builder, pid, tid);
    w->row.track = track->track;
}

/* The tracer's own work is recorded among the calls. */
static bool is_overhead(hd_string name)
{
    return ends(name, "::writeRows") || begins(name, "rpdflush") || hd_string_is(name, "run_to_completion") ||
           hd_string_is(name, "hcc_activity_callback");
}

const char *rpd_place_call(sq_worker *w)
{
    const rpd_state *s = rpd_of(w);
    hd_builder *b = w->reader->builder;
    int64_t id = sq_field(w, RPD_ID);
    uint32_t args = sq_field_string_of(w, s->has_user_texts ? &s->user_texts : &w->reader->strings, RPD_ARGS);
    hd_string name = hd_builder_string(b, w->row.name), text = hd_builder_string(b, args);
    bool is_mark = hd_string_is(name, "UserMarker") && text.size;
    place_on_thread(w);
    if (begins(name, "hip") || begins(name, "hsa_")) {
        w->row.category = begins(name, "hip") ? s->hip : s->hsa;
        if (id != HD_NO_NUMBER) sq_add(w, s->correlation, HD_ARG_INT, id);
    } else if (hd_string_is(name, "UserMarker")) {
        w->row.category = s->mark;
        sq_side_add(w, &s->marks, id);
    } else if (is_overhead(name)) {
        w->row.category = s->overhead;
    }
    if (is_mark) w->row.name = args;
    if (w->row.name == HD_STRING_NONE) w->row.name = hd_builder_intern_text(b, "[unknown]");
    if (text.size && !is_mark) sq_add(w, s->arguments, HD_ARG_STRING, args);
    return NULL;
}

const char *rpd_place_any(sq_worker *w)
{
    place_on_thread(w);
    if (w->row.name == HD_STRING_NONE) w->row.name = w->row.category;
    if (w->end != HD_NO_NUMBER) return NULL;
    w->row.kind = HD_KIND_INSTANT;
    w->row.phase = 'i';
    return NULL;
}

/* ---- monitors ---- */

/* A value from `start` on; it is stored as text. The next value begins where one ends. */
const char *rpd_place_monitor(sq_worker *w)
{
    hd_builder *b = w->reader->builder;
    int64_t device = sq_field(w, RPD_GPU);
    uint32_t kind = sq_field_text(w, RPD_KIND), type = sq_field_text(w, RPD_OP);
    hd_string text = hd_builder_string(b, type);
    sq_track *track = sq_track_at(w, (uint64_t)device << 32 | type, RPD_MONITOR);
    if (track->track == HD_NONE) {
        bool is_gpu = text.size == 0 || hd_string_is(text, "gpu");
        hd_ident pid = sq_text_ident(b, "%.*s %lld monitor", is_gpu ? 3 : (int)(text.size & 63),
                                     is_gpu ? "GPU" : text.data, (long long)(device == HD_NO_NUMBER ? 0 : device));
        *track = (sq_track){hd_builder_track(b, pid, (hd_ident){0}, true), {pid.text, device}};
    }
    w->row.track = track->track;
    w->row.name = kind == HD_STRING_NONE ? w->row.category : kind;
    sq_add_number(w, w->row.name, RPD_VALUE);
    return NULL;
}

/* ---- after events ---- */

void rpd_name_tracks(sq_reader *reader, const sq_worker *w)
{
    hd_builder *b = reader->builder;
    for (size_t e = 0; e < w->track_index.count; e++) {
        const hd_map_entry *key = &w->track_index.entries[e];
        const sq_track *t = &w->tracks[key->value];
        const int64_t *n = t->numbers;
        if (t->track == HD_NONE || key->b == RPD_THREAD) continue;
        if (key->b == RPD_MONITOR) {
            hd_builder_name_track(b, t->track, (uint32_t)n[0]);
            hd_sort_numbered(b, t->track, HD_SORT_MONITORS, n[1]);
            continue;
        }
        uint32_t process = hd_builder_track(b, sq_text_ident(b, "GPU %lld", (long long)n[0]), (hd_ident){0}, true);
        hd_builder_set_stream(b, t->track, n[0], n[1]);
        hd_builder_name_track(b, t->track, sq_intern(b, "queue %lld", (long long)n[1]));
        hd_builder_sort_track(b, t->track, n[1]);
        if (process == HD_NONE) continue;
        hd_builder_name_track(b, process, sq_intern(b, "GPU %lld", (long long)n[0]));
        hd_sort_numbered(b, process, HD_SORT_DEVICES, n[0]);
    }
}
