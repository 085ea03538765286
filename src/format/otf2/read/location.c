/* location.c - the events of one location, in two passes
 *
 * A slice is stored where it begins, with its duration, which is known only at its end. So the first pass reads only
 * enters and leaves, pairs them and keeps eight bytes per slice; the second makes the rows. Both read the file from the
 * page cache; memory does not grow with the contents of regions.
 *
 * A Leave closes the newest open entry of its region. If that is not the innermost region, the two cross, which OTF2
 * forbids and no writer checks: the times are unchanged, so the slices cross as well, and `heddle fix` repairs lanes. A
 * Leave of a region that is not open stays as an end event without a begin. A region that is still open at the end is
 * closed at the location's last enter or leave.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "format/otf2/otf2.h"
#include "format/otf2/read/read.h"

#define PUSH(list, ...)                                                                                                \
    (hd_grow((void **)&(list).at, &(list).capacity, (list).count, sizeof *(list).at)                                   \
         ? ((list).at[(list).count++] = (__VA_ARGS__), true)                                                           \
         : false)

#define NEVER UINT64_MAX

/* ---- the clock ---- */

int64_t otf2_ns(const otf2_reader *r, uint64_t ticks, uint32_t *out_ps)
{
    __extension__ typedef unsigned __int128 u128;
    const uint64_t second = 1000000000;
    *out_ps = 0;
    if (r->shift) { /* wraps: that is how the writer got it below zero; the value that means no time is no time */
        int64_t ns = (int64_t)(ticks - r->shift);
        return ns == HD_NO_TIME ? ns + 1 : ns;
    }
    if (r->resolution == second) return ticks > INT64_MAX ? INT64_MAX : (int64_t)ticks;
    uint64_t seconds = ticks / r->resolution, rest = ticks % r->resolution;
    if (seconds >= INT64_MAX / second) return INT64_MAX;
    u128 part = (u128)rest * second;
    uint64_t ns = (uint64_t)(part / r->resolution);
    if (r->has_ps) *out_ps = (uint32_t)((part % r->resolution) * 1000 / r->resolution);
    return (int64_t)(seconds * second + ns);
}

hd_row otf2_row(const otf2_reader *r, hd_kind kind, char phase, uint64_t time)
{
    hd_row row = hd_row_of(kind, phase);
    row.track = r->location.track;
    row.start_ns = otf2_ns(r, time, &row.start_ps);
    return row;
}

/* ---- first pass: which leave ends which enter ---- */

static OTF2_CallbackCode scan_enter(otf2_reader *r, otf2_def *what, uint64_t time)
{
    otf2_location *location = &r->location;
    if (what) {
        open_region open = {.what = what, .below = what->open, .slice = location->ends.count};
        if (!PUSH(location->stack, open)) return otf2_stop(r, HD_NOMEM(r->err));
        what->open = (uint32_t)location->stack.count;
    }
    if (!hd_large_grow((void **)&location->ends.at, &location->ends.capacity, location->ends.count,
                       sizeof *location->ends.at, r->matches.large))
        return otf2_stop(r, HD_NOMEM(r->err));
    location->ends.at[location->ends.count++] = NEVER;
    if (time > location->end_time) location->end_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

/* Attributes of a Leave become arguments of its slice, after those of the Enter. */
static OTF2_CallbackCode keep_late(otf2_reader *r, uint64_t slice, OTF2_AttributeList *attributes)
{
    otf2_args_clear(r);
    otf2_arg_attributes(r, attributes);
    for (size_t i = 0; i < r->args.count; i++) {
        late_arg late = {slice, i, r->args.keys[i], r->args.values[i]};
        if (!PUSH(r->location.late, late)) return otf2_stop(r, HD_NOMEM(r->err));
    }
    const own_event *own = &r->own;
    if (!r->is_own) return OTF2_CALLBACK_SUCCESS;
    const late_arg columns[] = {{slice, 0, {.reserved = own->phase ? OWN_PHASE : OWN_NONE}, own->phase},
                                {slice, 0, {.reserved = own->has_time ? OWN_TIME : OWN_NONE}, own->time},
                                {slice, 0, {.reserved = own->name ? OWN_NAME : OWN_NONE}, own->name},
                                {slice, 0, {.reserved = own->has_track ? OWN_TRACK : OWN_NONE}, own->track}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (columns[i].key.reserved != OWN_NONE && !PUSH(r->location.late, columns[i]))
            return otf2_stop(r, HD_NOMEM(r->err));
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode scan_leave(otf2_reader *r, otf2_def *what, uint64_t time, OTF2_AttributeList *attributes)
{
    otf2_location *location = &r->location;
    uint64_t number = location->leave_count++;
    if (time > location->end_time) location->end_time = time;
    if (!what || !what->open) {
        hd_string name = hd_builder_string(r->builder, what ? what->name : HD_STRING_NONE);
        otf2_lint_event(&r->lint, LINT_LEAVE_WITHOUT_ENTER, "Leave of \"%.*s\", which is not open",
                        (int)(name.size < 60 ? name.size : 60), name.data);
        return PUSH(location->strays, number) ? OTF2_CALLBACK_SUCCESS : otf2_stop(r, HD_NOMEM(r->err));
    }
    open_region *open = &location->stack.at[what->open - 1];
    if (what->open != location->stack.count) {
        hd_string name = hd_builder_string(r->builder, what->name);
        hd_string top = hd_builder_string(r->builder, location->stack.at[location->stack.count - 1].what->name);
        otf2_lint_event(&r->lint, LINT_CROSSING, "Leave of \"%.*s\" inside \"%.*s\"",
                        (int)(name.size < 40 ? name.size : 40), name.data, (int)(top.size < 40 ? top.size : 40),
                        top.data);
    }
    location->ends.at[open->slice] = time;
    open->closed = true;
    what->open = open->below;
    OTF2_CallbackCode code = keep_late(r, open->slice, attributes);
    while (location->stack.count && location->stack.at[location->stack.count - 1].closed) location->stack.count--;
    return code;
}

static void at_event(otf2_reader *r, OTF2_TimeStamp time, uint64_t position)
{
    r->lint.event = position;
    r->lint.time = time;
}

#define EVENT OTF2_LocationRef ref, OTF2_TimeStamp time, uint64_t position, void *user, OTF2_AttributeList *attributes

static OTF2_CallbackCode on_enter(EVENT, OTF2_RegionRef region)
{
    (void)ref, (void)attributes;
    at_event(user, time, position);
    return scan_enter(user, otf2_require(user, DEF_REGION, region), time);
}

static OTF2_CallbackCode on_leave(EVENT, OTF2_RegionRef region)
{
    (void)ref;
    at_event(user, time, position);
    return scan_leave(user, otf2_require(user, DEF_REGION, region), time, attributes);
}

static OTF2_CallbackCode on_context_enter(EVENT, OTF2_CallingContextRef context, uint32_t unwind_distance)
{
    (void)ref, (void)attributes, (void)unwind_distance;
    at_event(user, time, position);
    return scan_enter(user, otf2_require(user, DEF_CALLING_CONTEXT, context), time);
}

static OTF2_CallbackCode on_context_leave(EVENT, OTF2_CallingContextRef context)
{
    (void)ref;
    at_event(user, time, position);
    return scan_leave(user, otf2_require(user, DEF_CALLING_CONTEXT, context), time, attributes);
}

static void set_scan_callbacks(OTF2_EvtReaderCallbacks *callbacks)
{
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_leave);
    OTF2_EvtReaderCallbacks_SetCallingContextEnterCallback(callbacks, on_context_enter);
    OTF2_EvtReaderCallbacks_SetCallingContextLeaveCallback(callbacks, on_context_leave);
}

static int by_slice(const void *a, const void *b)
{
    uint64_t x = ((const late_arg *)a)->slice, y = ((const late_arg *)b)->slice;
    if (x != y) return x < y ? -1 : 1;
    uint64_t i = ((const late_arg *)a)->order, k = ((const late_arg *)b)->order;
    return (i > k) - (i < k);
}

/* Everything still open ends here. */
static void close_rest(otf2_reader *r)
{
    otf2_location *location = &r->location;
    while (location->stack.count) {
        open_region *open = &location->stack.at[--location->stack.count];
        open->what->open = 0;
        if (open->closed) continue;
        hd_string name = hd_builder_string(r->builder, open->what->name);
        otf2_lint_event(&r->lint, LINT_ENTER_WITHOUT_LEAVE, "\"%.*s\" is open when its location ends",
                        (int)(name.size < 60 ? name.size : 60), name.data);
    }
    for (size_t i = 0; i < location->ends.count; i++) {
        if (location->ends.at[i] == NEVER) location->ends.at[i] = location->end_time;
    }
    location->leave_count = 0;
    if (location->late.count) hd_sort(location->late.at, location->late.count, sizeof *location->late.at, by_slice);
}

/* ---- second pass ---- */

static void check_time(otf2_reader *r, uint64_t time)
{
    otf2_location *location = &r->location;
    if (time < location->last_time)
        otf2_lint_event(&r->lint, LINT_TIME_DECREASES, "%" PRIu64 " ticks before the event ahead of it",
                        location->last_time - time);
    location->last_time = time;
    if (time < r->offset)
        otf2_lint_event(&r->lint, LINT_OUTSIDE_CLOCK, "%" PRIu64 " ticks before the clock begins", r->offset - time);
    else if (time - r->offset > r->length)
        otf2_lint_event(&r->lint, LINT_OUTSIDE_CLOCK, "%" PRIu64 " ticks after the clock ends",
                        time - r->offset - r->length);
}

/* Both ends may have the time of their thread: the second becomes the elapsed thread time, as in JSON's X. */
static void join_thread_times(otf2_reader *r, size_t begin_args)
{
    size_t begin = SIZE_MAX;
    for (size_t i = 0; r->is_own && i < r->args.count; i++) {
        hd_arg_key *key = &r->args.keys[i];
        hd_string name = hd_builder_string(r->builder, key->key);
        if (key->scope != HD_SCOPE_EVENT || key->type != HD_ARG_INT || name.size != 3 ||
            memcmp(name.data, "tts", 3) != 0)
            continue;
        if (i < begin_args) begin = i;
        int64_t run;
        if (i < begin_args || begin == SIZE_MAX ||
            __builtin_sub_overflow(r->args.values[i], r->args.values[begin], &run))
            continue;
        key->key = hd_builder_intern_text(r->builder, "tdur");
        r->args.values[i] = run;
    }
}

static hd_status add_pending(otf2_reader *r)
{
    otf2_location *location = &r->location;
    if (!location->pending) return HD_OK;
    location->pending = false;
    uint64_t slice = location->slice_count - 1;
    if (location->row.kind == HD_KIND_ASYNC) {
        hd_row begin = location->row;
        HD_TRY(otf2_add_row(r, &location->row));
        return otf2_own_add_end(r, &begin, slice);
    }
    size_t begin_args = r->args.count;
    for (; location->late_at < location->late.count && location->late.at[location->late_at].slice <= slice;
         location->late_at++) {
        const late_arg *late = &location->late.at[location->late_at];
        if (late->slice == slice && !late->key.reserved) otf2_arg_late(r, late);
    }
    if (r->args.count > begin_args && begin_args) join_thread_times(r, begin_args);
    return otf2_add_row(r, &location->row);
}

/* Appends rows to the trace from time to time; it may put them into a file. */
static hd_status hand_over(otf2_reader *r)
{
    hd_chunk *chunk;
    HD_TRY(hd_batch_take(&chunk, r->batch, r->err));
    HD_TRY(hd_builder_append(r->builder, chunk, r->err));
    if (r->options->progress) r->options->progress(r->options->progress_user, r->done_events, r->total_events);
    return HD_OK;
}

OTF2_CallbackCode otf2_begin_event(otf2_reader *r, OTF2_TimeStamp time, uint64_t position)
{
    enum { ROWS_AT_ONCE = 4 * HD_BLOCK_ROWS };
    otf2_location *location = &r->location;
    if (location->pending) {
        hd_status status = add_pending(r);
        if (status != HD_OK) return otf2_stop(r, status);
    }
    at_event(r, time, position);
    location->event_count++;
    r->done_events++;
    if (time < location->last_time || time - r->offset > r->length) check_time(r, time);
    location->last_time = time;
    otf2_args_clear(r);
    if (hd_batch_row_count(r->batch) >= ROWS_AT_ONCE) {
        hd_status status = hand_over(r);
        if (status != HD_OK) return otf2_stop(r, status);
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- files ---- */

/* The library loops for ever in a file that was cut after its first chunk: it reads the rest of the previous chunk
 * again. So the chunks are checked here first, and only as many events are read as whole chunks have. Each begins with
 * 3, the byte order, and the numbers of its first and last event; the file ends with 2 and 1. */
enum { CHUNK_HEAD = 18 };

typedef struct chunk_head {
    bool good;
    uint64_t first, last;
} chunk_head;

static chunk_head read_head(FILE *file, uint64_t at)
{
    uint8_t head[CHUNK_HEAD];
    chunk_head out = {0};
    if (fseeko(file, (off_t)at, SEEK_SET) != 0 || fread(head, 1, sizeof head, file) != sizeof head) return out;
    bool big = head[1] == '#';
    hd_byte_reader reader = hd_byte_reader_of(head + 2, sizeof head - 2);
    out.first = hd_byte_reader_le(&reader, 8);
    out.last = hd_byte_reader_le(&reader, 8);
    if (big) out.first = __builtin_bswap64(out.first);
    if (big) out.last = __builtin_bswap64(out.last);
    out.good = head[0] == 3 && (big || head[1] == 'B');
    return out;
}

static bool ends_well(FILE *file, uint64_t size)
{
    uint8_t tail[2] = {0};
    return fseeko(file, (off_t)size - 2, SEEK_SET) == 0 && fread(tail, 1, 2, file) == 2 && tail[0] == 2 && tail[1] == 1;
}

/* The number of events that can be read; false if that is not all of them. */
static bool count_events(uint64_t *out, otf2_reader *r, FILE *file, uint64_t size)
{
    uint64_t chunk = r->anchor.event_chunk_bytes, last = 0;
    for (uint64_t at = 0; at < size; at += chunk) {
        chunk_head head = read_head(file, at);
        bool goes_on = head.good && head.first == last + 1 && head.last + 1 >= head.first && head.last < size;
        bool whole = size - at >= chunk || ends_well(file, size);
        if (at && (!goes_on || !whole)) {
            *out = last;
            return false;
        }
        last = head.last;
        if (goes_on && whole) continue;
        *out = size; /* the first chunk alone is safe, whatever its contents */
        return false;
    }
    *out = last;
    return true;
}

/* Whether there is a file of events, and how many of them there can be. */
static bool open_events(uint64_t *out_count, otf2_reader *r, const otf2_def *def)
{
    uint64_t ref = def->ref, wanted = def->values[LOCATION_EVENTS], checksum;
    char path[4096];
    struct stat info;
    int size =
        snprintf(path, sizeof path, "%.*s/%" PRIu64 ".evt", (int)(strlen(r->path) - strlen(".otf2")), r->path, ref);
    FILE *file = size > 0 && (size_t)size < sizeof path ? fopen(path, "rb") : NULL;
    if (!file || fstat(fileno(file), &info) != 0) {
        if (file) fclose(file);
        if (wanted)
            otf2_lint_place(&r->lint, LINT_EVENTS_MISSING, ref, "location %" PRIu64 ": no file for %" PRIu64 " events",
                            ref, wanted);
        return false;
    }
    bool good = read_head(file, 0).good, whole = good && count_events(out_count, r, file, (uint64_t)info.st_size);
    rewind(file);
    if (def->has_checksum && (!otf2_file_checksum(&checksum, file) || checksum != def->checksum))
        otf2_lint_place(&r->lint, LINT_EVENTS_CHECKSUM, ref, "location %" PRIu64 ": its file is not the one written",
                        ref);
    fclose(file);
    if (!good)
        otf2_lint_place(&r->lint, LINT_EVENTS_DAMAGED, ref, "location %" PRIu64 ": not a file of events", ref);
    else if (!whole)
        otf2_lint_place(&r->lint, LINT_EVENTS_DAMAGED, ref, "location %" PRIu64 ": its file is cut or damaged", ref);
    return good;
}

/* One pass over all events; *out_code is the library's final code. */
static hd_status run_pass(OTF2_ErrorCode *out_code, otf2_reader *r, uint64_t most,
                          void (*set)(OTF2_EvtReaderCallbacks *))
{
    OTF2_EvtReader *reader = OTF2_Reader_GetEvtReader(r->lib, r->location.def->ref);
    *out_code = OTF2_ERROR_FILE_INTERACTION;
    if (!reader) return HD_OK;
    OTF2_EvtReader_ApplyMappingTables(reader, true);
    OTF2_EvtReader_ApplyClockOffsets(reader, true);
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    if (!callbacks) return HD_NOMEM(r->err);
    set(callbacks);
    OTF2_EvtReader_SetCallbacks(reader, callbacks, r);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    uint64_t count = 0;
    *out_code = most ? OTF2_EvtReader_ReadEvents(reader, most, &count) : OTF2_SUCCESS;
    OTF2_Reader_CloseEvtReader(r->lib, reader);
    return r->status;
}

static void set_all_callbacks(OTF2_EvtReaderCallbacks *callbacks)
{
    otf2_set_event_callbacks(callbacks);
    otf2_set_other_callbacks(callbacks);
}

static void check_location(otf2_reader *r, OTF2_ErrorCode code)
{
    const otf2_location *location = &r->location;
    uint64_t wanted = location->def->values[LOCATION_EVENTS], ref = location->def->ref;
    if (code != OTF2_SUCCESS)
        otf2_lint_place(&r->lint, LINT_EVENTS_DAMAGED, ref, "location %" PRIu64 ": %s, after %" PRIu64 " events", ref,
                        OTF2_Error_GetDescription(code), location->event_count);
    if (!location->def->missing && location->event_count != wanted)
        otf2_lint_place(&r->lint, LINT_EVENT_COUNT, ref,
                        "location %" PRIu64 " has %" PRIu64 " events; its definition says %" PRIu64, ref,
                        location->event_count, wanted);
}

static void reset(otf2_location *location, otf2_def *def)
{
    otf2_location fresh = {.def = def, .track = def->track};
    fresh.stack.at = location->stack.at;
    fresh.stack.capacity = location->stack.capacity;
    fresh.ends.at = location->ends.at;
    fresh.ends.capacity = location->ends.capacity;
    fresh.strays.at = location->strays.at;
    fresh.strays.capacity = location->strays.capacity;
    fresh.late.at = location->late.at;
    fresh.late.capacity = location->late.capacity;
    *location = fresh;
}

hd_status otf2_read_location(otf2_reader *r, otf2_def *def)
{
    OTF2_ErrorCode code;
    uint64_t most;
    reset(&r->location, def);
    r->lint.location = def->ref;
    if (def->track == HD_NONE) otf2_track_of_location(r, def);
    r->location.track = def->track;
    if (!open_events(&most, r, def)) return HD_OK;
    HD_TRY(run_pass(&code, r, most, set_scan_callbacks));
    close_rest(r);
    HD_TRY(run_pass(&code, r, most, set_all_callbacks));
    HD_TRY(add_pending(r));
    if (r->location.collectives[0] + r->location.collectives[1])
        otf2_lint_event(&r->lint, LINT_COLLECTIVE, "a collective is open when its location ends");
    check_location(r, code);
    return r->status;
}

void otf2_location_deinit(otf2_location *location)
{
    free(location->stack.at);
    hd_large_free(location->ends.at);
    free(location->strays.at);
    free(location->late.at);
}
