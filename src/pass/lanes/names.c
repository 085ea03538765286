/* names.c - ids, names and order of the lanes that the repair adds
 *
 * tid     tid * 1000 + lane, if the tid is a whole number, the result is exact in every JSON reader (2^53), and no
 *         other track or lane of the process has it; else the string "<tid> lane <n>", or with " #2", " #3" … if it
 *         exists
 * name    "<thread name> lane <n>", or "tid <tid> lane <n>"
 * order   the track's own sort index: viewers order equal ones by id or name, which puts it below
 */
#include "pass/lanes/names.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"

#define EXACT_LIMIT ((int64_t)1 << 53)

typedef struct hd_taken_tid {
    hd_ident pid;
    hd_string tid;
} taken_tid;

/* ---- what is taken ---- */

static bool same_process(hd_ident x, hd_ident y)
{
    return x.text == y.text && (x.type == HD_IDENT_NONE) == (y.type == HD_IDENT_NONE);
}

static uint64_t hash_of(hd_ident pid, hd_string tid)
{
    return hd_hash_pair(hd_hash(tid.data, tid.size), pid.text);
}

static bool has(const hd_lane_names *names, hd_ident pid, hd_string tid)
{
    uint32_t at;
    uint64_t hash = hash_of(pid, tid);
    HD_SLOTS_FIND(at, &names->slots, hash,
                  names->taken[at].tid.size == tid.size && memcmp(names->taken[at].tid.data, tid.data, tid.size) == 0 &&
                      same_process(names->taken[at].pid, pid));
    return at != HD_SLOTS_NONE;
}

static bool take(hd_lane_names *names, hd_ident pid, hd_string tid)
{
    if (has(names, pid, tid)) return true;
    if (!hd_grow((void **)&names->taken, &names->capacity, names->count, sizeof *names->taken) ||
        !hd_slots_add(&names->slots, hash_of(pid, tid), (uint32_t)names->count))
        return false;
    names->taken[names->count++] = (taken_tid){pid, tid};
    return true;
}

static bool is_taken(const hd_lane_names *names, uint32_t track, const char *tid, size_t size)
{
    return has(names, hd_trace_track_at(names->trace, track)->pid, (hd_string){tid, size});
}

hd_status hd_lane_names_init(hd_lane_names *names, hd_lane_plan *plan, const hd_trace *trace, hd_error *err)
{
    uint32_t tracks = hd_trace_track_count(trace);
    *names = (hd_lane_names){.plan = plan, .trace = trace};
    names->twins = malloc(((size_t)tracks * 2 + 1) * sizeof *names->twins);
    bool fine = names->twins != NULL;
    for (uint32_t i = 0; i < tracks && fine; i++) {
        const hd_track *track = hd_trace_track_at(trace, i), *root = hd_trace_track_at(trace, track->same_as);
        uint32_t *name = &names->twins[2 * (size_t)root->id], *order = name + 1;
        if (i == root->id || (track->name && !hd_trace_track_at(trace, *name)->name)) *name = i;
        if (i == root->id ||
            (track->sort_index != HD_NO_NUMBER && hd_trace_track_at(trace, *order)->sort_index == HD_NO_NUMBER))
            *order = i;
        if (track->tid.type != HD_IDENT_NONE) fine = take(names, track->pid, hd_trace_string(trace, track->tid.text));
    }
    return fine ? HD_OK : HD_NOMEM(err);
}

void hd_lane_names_deinit(hd_lane_names *names)
{
    hd_slots_deinit(&names->slots);
    free(names->taken);
    free(names->twins);
    *names = (hd_lane_names){0};
}

/* ---- the lanes ---- */

/* The tid as a whole number, if it is one. */
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

static bool choose_tid(hd_new_lane *lane, const hd_lane_names *names)
{
    const hd_trace *trace = names->trace;
    hd_lane_plan *plan = names->plan;
    hd_ident tid = hd_trace_track_at(trace, lane->track)->tid;
    int64_t number, id;
    char text[48];
    if (number_of(&number, trace, tid) && !__builtin_mul_overflow(number, 1000, &id) &&
        !__builtin_add_overflow(id, lane->number, &id) && id < EXACT_LIMIT && id > -EXACT_LIMIT &&
        lane->number < 1000) {
        int size = snprintf(text, sizeof text, "%lld", (long long)id);
        if (!is_taken(names, lane->track, text, (size_t)size)) {
            lane->tid_is_number = true;
            lane->tid = copy_text(plan, text, (hd_string){"", 0}, "", &lane->tid_size);
            return lane->tid != NULL;
        }
    }
    hd_string base = tid.type == HD_IDENT_NONE ? (hd_string){"", 0} : hd_trace_string(trace, tid.text);
    for (unsigned try = 1;; try++) {
        if (try == 1)
            snprintf(text, sizeof text, " lane %u", lane->number);
        else
            snprintf(text, sizeof text, " lane %u #%u", lane->number, try);
        lane->tid = copy_text(plan, "", base, text, &lane->tid_size);
        if (!lane->tid) return false;
        if (!is_taken(names, lane->track, lane->tid, lane->tid_size)) return true;
    }
}

static bool choose_name(hd_new_lane *lane, const hd_lane_names *names)
{
    const hd_trace *trace = names->trace;
    hd_lane_plan *plan = names->plan;
    const hd_track *track = hd_trace_track_at(trace, lane->track);
    char behind[32];
    snprintf(behind, sizeof behind, " lane %u", lane->number);
    hd_string name = hd_trace_string(trace, hd_trace_track_at(trace, names->twins[2 * (size_t)lane->track])->name);
    if (name.size)
        lane->name = copy_text(plan, "", name, behind, &lane->name_size);
    else
        lane->name = copy_text(plan, "tid ", hd_trace_string(trace, track->tid.text), behind, &lane->name_size);
    return lane->name != NULL;
}

hd_status hd_lane_names_add(hd_lane_names *names, uint32_t track, uint32_t count, hd_error *err)
{
    hd_lane_plan *plan = names->plan;
    const hd_track *known = hd_trace_track_at(names->trace, track);
    for (uint32_t number = 1; number <= count; number++) {
        hd_new_lane lane = {
            .track = track,
            .number = number,
            .sort_index = hd_trace_track_at(names->trace, names->twins[2 * (size_t)track + 1])->sort_index,
        };
        if (!choose_tid(&lane, names) || !choose_name(&lane, names) ||
            !take(names, known->pid, (hd_string){lane.tid, lane.tid_size}) ||
            !hd_grow((void **)&plan->lanes, &plan->lane_capacity, plan->lane_count, sizeof lane))
            return HD_NOMEM(err);
        plan->lanes[plan->lane_count++] = lane;
    }
    return HD_OK;
}
