/* lanes_names.c - ids, names and order of the lanes that the repair opens
 *
 * tid     tid * 1000 + lane, where the tid is a whole number, that is exact in every JSON reader (2^53), and no other
 *         track or lane of the process has it; else the string "<tid> lane <n>", or with " #2", " #3" … if it exists
 * name    "<thread name> lane <n>", or "tid <tid> lane <n>"
 * order   the track's own sort index: viewers break the tie by id or name, which puts it below
 */
#include "pass/lanes_names.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/vector.h"

#define EXACT_LIMIT ((int64_t)1 << 53)

static bool same_text(hd_string a, const char *data, size_t size)
{
    return a.size == size && memcmp(a.data, data, size) == 0;
}

static bool same_process(const hd_trace *trace, uint32_t a, uint32_t b)
{
    hd_ident x = hd_trace_track_at(trace, a)->pid, y = hd_trace_track_at(trace, b)->pid;
    return x.text == y.text && (x.type == HD_IDENT_NONE) == (y.type == HD_IDENT_NONE);
}

static bool is_taken(const hd_lane_plan *plan, const hd_trace *trace, uint32_t track, const char *tid, size_t size)
{
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *other = hd_trace_track_at(trace, i);
        if (other->tid.type != HD_IDENT_NONE && same_process(trace, track, i) &&
            same_text(hd_trace_string(trace, other->tid.text), tid, size))
            return true;
    }
    for (size_t i = 0; i < plan->lane_count; i++) {
        const hd_new_lane *lane = &plan->lanes[i];
        if (same_process(trace, track, lane->track) && same_text((hd_string){lane->tid, lane->tid_size}, tid, size))
            return true;
    }
    return false;
}

/* The tid as a whole number, if it is written as one. */
static bool number_of(int64_t *out, const hd_trace *trace, hd_ident tid)
{
    hd_string s = hd_trace_string(trace, tid.text);
    char text[24], *end, again[24];
    if (tid.type != HD_IDENT_NUMBER || s.size == 0 || s.size >= sizeof text) return false;
    memcpy(text, s.data, s.size);
    text[s.size] = '\0';
    *out = strtoll(text, &end, 10);
    snprintf(again, sizeof again, "%lld", (long long)*out);
    return strcmp(text, again) == 0;
}

static char *copy_text(hd_lane_plan *plan, const char *before, hd_string middle, const char *behind, size_t *out_size)
{
    size_t a = strlen(before), c = strlen(behind);
    char *text = hd_arena_alloc(&plan->arena, a + middle.size + c + 1);
    if (!text) return NULL;
    memcpy(text, before, a);
    if (middle.size) memcpy(text + a, middle.data, middle.size);
    memcpy(text + a + middle.size, behind, c + 1);
    *out_size = a + middle.size + c;
    return text;
}

static bool choose_tid(hd_new_lane *lane, hd_lane_plan *plan, const hd_trace *trace)
{
    hd_ident tid = hd_trace_track_at(trace, lane->track)->tid;
    int64_t number, id;
    char text[48];
    if (number_of(&number, trace, tid) && !__builtin_mul_overflow(number, 1000, &id) &&
        !__builtin_add_overflow(id, lane->number, &id) && id < EXACT_LIMIT && id > -EXACT_LIMIT && lane->number < 1000) {
        int size = snprintf(text, sizeof text, "%lld", (long long)id);
        if (!is_taken(plan, trace, lane->track, text, (size_t)size)) {
            lane->tid_is_number = true;
            lane->tid = copy_text(plan, text, (hd_string){"", 0}, "", &lane->tid_size);
            return lane->tid != NULL;
        }
    }
    hd_string base = tid.type == HD_IDENT_NONE ? (hd_string){"", 0} : hd_trace_string(trace, tid.text);
    for (unsigned try = 1;; try++) {
        if (try == 1) snprintf(text, sizeof text, " lane %u", lane->number);
        else snprintf(text, sizeof text, " lane %u #%u", lane->number, try);
        lane->tid = copy_text(plan, "", base, text, &lane->tid_size);
        if (!lane->tid) return false;
        if (!is_taken(plan, trace, lane->track, lane->tid, lane->tid_size)) return true;
    }
}

static bool choose_name(hd_new_lane *lane, hd_lane_plan *plan, const hd_trace *trace)
{
    const hd_track *track = hd_trace_track_at(trace, lane->track);
    char behind[32];
    snprintf(behind, sizeof behind, " lane %u", lane->number);
    hd_string name = hd_trace_string(trace, track->name);
    if (name.size) lane->name = copy_text(plan, "", name, behind, &lane->name_size);
    else lane->name = copy_text(plan, "tid ", hd_trace_string(trace, track->tid.text), behind, &lane->name_size);
    return lane->name != NULL;
}

hd_status hd_lanes_name(hd_lane_plan *plan, const hd_trace *trace, uint32_t track, uint32_t count, hd_error *err)
{
    for (uint32_t number = 1; number <= count; number++) {
        hd_new_lane lane = {
            .track = track,
            .number = number,
            .sort_index = hd_trace_track_at(trace, track)->sort_index,
        };
        if (!choose_tid(&lane, plan, trace) || !choose_name(&lane, plan, trace) ||
            !hd_grow((void **)&plan->lanes, &plan->lane_capacity, plan->lane_count, sizeof lane))
            return HD_NOMEM(err);
        plan->lanes[plan->lane_count++] = lane;
    }
    return HD_OK;
}
