/* patch.c - copies the text of a Chrome JSON trace and changes some events
 *
 * Long ranges without a change are copied inside the kernel if the input allows it; the rest goes through a window. In
 * an event that changes, only the values of ts, dur and tid are replaced.
 */
#include "format/chrome/patch.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/io/write_behind.h"
#include "base/memory/vector.h"
#include "format/chrome/chrome.h"

enum { WINDOW_BYTES = 1 << 20, STRETCH_BYTES = 1 << 20 };

typedef struct patcher {
    hd_output *output;
    hd_write_behind behind;
    hd_input *input;
    const hd_trace *trace;
    hd_error *err;
    bool random, ended;
    char *window; /* input bytes [window_offset, window_offset + window_size) */
    size_t window_size, window_capacity;
    uint64_t window_offset;
    char *event; /* padded text of one event */
    size_t event_capacity;
    uint64_t position; /* input bytes before it are done */
    hd_json_out out;
} patcher;

static hd_status flush(patcher *p)
{
    return p->out.size < WINDOW_BYTES && !p->out.failed ? HD_OK : hd_write_behind_give(&p->behind, &p->out, p->err);
}

/* ---- the window ---- */

static hd_status read_random(patcher *p, uint64_t offset, size_t size)
{
    p->window_offset = offset;
    hd_status status = hd_input_pread(p->input, p->window, size, offset, &p->window_size, p->err);
    return status == HD_END ? HD_OK : status;
}

static hd_status changed_meanwhile(patcher *p, uint64_t offset)
{
    return hd_error_set(p->err, HD_ERR_IO, hd_input_path(p->input), offset, "the input was changed while it was read");
}

/* The text between the window and `offset` is replaced, and not read. */
static hd_status skip_to(patcher *p, uint64_t offset)
{
    while (p->window_offset + p->window_size < offset) {
        uint64_t left = offset - p->window_offset - p->window_size;
        p->window_offset += p->window_size;
        p->window_size = 0;
        hd_status status =
            hd_input_next(p->input, p->window, left < p->window_capacity ? (size_t)left : p->window_capacity,
                          &p->window_size, p->err);
        if (status == HD_END) return changed_meanwhile(p, p->window_offset);
        HD_TRY(status);
    }
    return HD_OK;
}

static hd_status read_in_order(patcher *p, uint64_t offset, size_t size)
{
    HD_TRY(skip_to(p, offset));
    size_t kept = offset - p->window_offset < p->window_size ? p->window_size - (size_t)(offset - p->window_offset) : 0;
    memmove(p->window, p->window + p->window_size - kept, kept);
    p->window_offset = offset;
    p->window_size = kept;
    while (p->window_size < size && !p->ended) {
        size_t got = 0;
        hd_status status = hd_input_next(p->input, p->window + p->window_size, size - p->window_size, &got, p->err);
        p->window_size += got;
        if (status == HD_END)
            p->ended = true;
        else if (status != HD_OK)
            return status;
    }
    return HD_OK;
}

/* Up to `size` bytes at `offset`, fewer only at the end of the input. Offsets never decrease. */
static hd_status look(patcher *p, const char **out, size_t *out_size, uint64_t offset, size_t size)
{
    bool held = offset >= p->window_offset && offset + size <= p->window_offset + p->window_size;
    if (!held) {
        size_t want = size > WINDOW_BYTES ? size : WINDOW_BYTES;
        if (!hd_reserve(&p->window, &p->window_capacity, want)) return HD_NOMEM(p->err);
        HD_TRY(p->random ? read_random(p, offset, want) : read_in_order(p, offset, want));
    }
    size_t available = p->window_size - (size_t)(offset - p->window_offset);
    *out = p->window + (offset - p->window_offset);
    *out_size = available < size ? available : size;
    return HD_OK;
}

/* Copy unchanged up to `until`, or to the end of the input. */
static hd_status copy_until(patcher *p, uint64_t until)
{
    bool to_end = until == UINT64_MAX && !p->random;
    if (p->random && until == UINT64_MAX) until = hd_input_size_bytes(p->input);
    while (p->position < until) {
        if (p->random && until - p->position >= STRETCH_BYTES) {
            HD_TRY(hd_write_behind_give(&p->behind, &p->out, p->err));
            HD_TRY(hd_write_behind_drain(&p->behind, p->err));
            HD_TRY(hd_output_copy(p->output, p->input, p->position, until - p->position, p->err));
            p->position = until;
            break;
        }
        const char *text;
        size_t size, want = until - p->position < WINDOW_BYTES / 4 ? (size_t)(until - p->position) : WINDOW_BYTES / 4;
        HD_TRY(look(p, &text, &size, p->position, want));
        if (size == 0) return to_end ? HD_OK : changed_meanwhile(p, p->position);
        hd_json_put(&p->out, text, size);
        p->position += size;
        HD_TRY(flush(p));
    }
    return HD_OK;
}

/* ---- one event ---- */

enum { TS, DUR, TID, MEMBERS };

typedef struct spot { /* the value of a member */
    const char *from, *end;
} spot;

/* Where the values lie in the text of an event (valid JSON, padded). */
static void find_members(spot spots[MEMBERS], const char *p)
{
    static const char *const keys[MEMBERS] = {"ts", "dur", "tid"};
    for (p = hd_json_skip_space(p + 1); *p == '"';) {
        hd_json_text key;
        p = hd_json_string(&key, p + 1);
        if (!p) return;
        const char *value = hd_json_skip_space(hd_json_skip_space(p) + 1);
        p = hd_json_skip_value(value);
        if (!p) return;
        for (int m = 0; m < MEMBERS; m++) {
            if (key.size == strlen(keys[m]) && memcmp(key.data, keys[m], key.size) == 0) spots[m] = (spot){value, p};
        }
        p = hd_json_skip_space(p);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
}

static unsigned decimals_of(const spot *s)
{
    const char *point = memchr(s->from, '.', (size_t)(s->end - s->from));
    unsigned count = 0;
    while (point && hd_json_is_digit(point[1 + count]) && count < 6) count++;
    return count;
}

static void put_time(hd_json_out *out, const spot *s, int64_t ns, int64_t part)
{
    bool quoted = *s->from == '"';
    if (quoted) hd_json_put(out, "\"", 1);
    chrome_put_micros(out, ns, part, decimals_of(s));
    if (quoted) hd_json_put(out, "\"", 1);
}

static void put_tid(hd_json_out *out, const hd_patch_edit *edit)
{
    if (edit->tid_is_number)
        hd_json_put(out, edit->tid, edit->tid_size);
    else
        hd_json_put_string(out, edit->tid, edit->tid_size);
}

/* false: the event has no such members, so it is not the one that was read. */
static bool put_edited(hd_json_out *out, const char *text, size_t size, const hd_patch_edit *edit)
{
    spot spots[MEMBERS] = {0};
    const bool wanted[MEMBERS] = {edit->set_start, edit->set_duration, edit->tid != NULL};
    const char *at = text;
    if (*text != '{' || text[size - 1] != '}') return false;
    find_members(spots, text);
    if ((edit->set_start && !spots[TS].from) || (edit->set_duration && !spots[DUR].from)) return false;
    if (edit->tid && !spots[TID].from) {
        hd_json_put_text(out, "{\"tid\": ");
        put_tid(out, edit);
        hd_json_put_text(out, ", ");
        at = hd_json_skip_space(text + 1);
    }
    for (;;) {
        int next = -1;
        for (int m = 0; m < MEMBERS; m++) {
            if (wanted[m] && spots[m].from >= at && (next < 0 || spots[m].from < spots[next].from)) next = m;
        }
        if (next < 0) break;
        hd_json_put(out, at, (size_t)(spots[next].from - at));
        if (next == TS)
            put_time(out, &spots[TS], edit->start_ns, edit->start_part);
        else if (next == DUR)
            put_time(out, &spots[DUR], edit->duration_ns, edit->duration_part);
        else
            put_tid(out, edit);
        at = spots[next].end;
    }
    hd_json_put(out, at, (size_t)(text + size - at));
    return true;
}

/* The event at p->position, edited; `repaired` is its repaired text, if it was repaired. */
static hd_status put_event(patcher *p, const hd_patch_edit *edit, const hd_source_patch *repaired)
{
    const char *text;
    size_t size;
    if (repaired) {
        hd_string s = hd_trace_string(p->trace, repaired->text);
        text = s.data;
        size = s.size;
    } else {
        HD_TRY(look(p, &text, &size, edit->offset, edit->size));
        if (size < edit->size) return changed_meanwhile(p, edit->offset);
    }
    if (!hd_reserve(&p->event, &p->event_capacity, size + HD_JSON_PADDING)) return HD_NOMEM(p->err);
    memcpy(p->event, text, size);
    memset(p->event + size, 0, HD_JSON_PADDING);
    if (!put_edited(&p->out, p->event, size, edit)) return changed_meanwhile(p, edit->offset);
    p->position = edit->offset + edit->size;
    return HD_OK;
}

/* ---- all ---- */

static void put_patch(patcher *p, const hd_source_patch *patch)
{
    hd_string s = hd_trace_string(p->trace, patch->text);
    hd_json_put(&p->out, s.data, s.size);
    p->position = patch->offset + patch->size; /* may be the end of all */
}

/* The text `lanes` goes to the offset lanes_at. */
static hd_status copy_patched(patcher *p, const hd_patch_edit *edits, size_t edit_count, const hd_json_out *lanes,
                              uint64_t lanes_at)
{
    size_t patch_count = hd_trace_patch_count(p->trace);
    bool inserted = lanes->size == 0;
    for (size_t e = 0, i = 0;;) {
        const hd_source_patch *patch = i < patch_count ? hd_trace_patch_at(p->trace, i) : NULL;
        uint64_t edit_at = e < edit_count ? edits[e].offset : UINT64_MAX;
        uint64_t patch_at = patch ? patch->offset : UINT64_MAX;
        uint64_t insert_at = inserted ? UINT64_MAX : lanes_at;
        uint64_t next = edit_at < patch_at ? edit_at : patch_at;
        if (insert_at <= next) next = insert_at;
        HD_TRY(copy_until(p, next));
        if (next == UINT64_MAX) return HD_OK;
        if (insert_at == next) {
            hd_json_put(&p->out, lanes->data, lanes->size);
            inserted = true;
        } else if (patch_at == next && (patch->size == 0 || edit_at != next)) {
            put_patch(p, patch);
            i++;
        } else {
            HD_TRY(put_event(p, &edits[e++], patch_at == next ? patch : NULL));
            i += patch_at == next;
        }
        HD_TRY(flush(p));
    }
}

hd_status chrome_patch(hd_output *output, hd_input *input, const hd_trace *trace, const hd_patch *patch, hd_error *err)
{
    patcher p = {.output = output, .input = input, .trace = trace, .err = err, .random = hd_input_is_random(input)};
    hd_json_out lanes = {0};
    uint64_t lanes_at = chrome_put_lanes(&lanes, input, trace, patch);
    hd_write_behind_init(&p.behind, output);
    hd_status status = lanes.failed ? HD_NOMEM(err) : hd_input_rewind(input, err);
    if (status == HD_OK) status = copy_patched(&p, patch->edits, patch->edit_count, &lanes, lanes_at);
    if (status == HD_OK) status = hd_write_behind_give(&p.behind, &p.out, err);
    if (status == HD_OK) status = hd_write_behind_drain(&p.behind, err);
    hd_write_behind_deinit(&p.behind);
    free(p.window);
    free(p.event);
    free(p.out.data);
    free(lanes.data);
    return status;
}
