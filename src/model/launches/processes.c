/* processes.c - the process of the activities on a GPU track, if several processes make calls
 *
 * Named    by the name of the track's process
 * Else     by correlation ids that only one process has: nine of ten of the track's must be of one process, else of its
 *          GPU's. Tracks of a process that itself makes calls are its own
 * Guessed  if every id is shared: the process whose calls came before most of the activities; of equal ones the one
 *          with the most constant delay between call and activity, then one that has no GPU yet, then the first
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/identity/process.h"
#include "model/launches/impl.h"

/* Evidence that a process owns a track, or all tracks of a GPU. */
struct launch_tie {
    uint32_t of, process; /* of: lane, or the track of the GPU after the last lane */
    uint64_t certain, possible, seen;
    double mean, squares; /* of the delay between call and activity, in ns */
};

static uint32_t lane_of(const hd_trace *trace, uint32_t track)
{
    uint32_t count = hd_trace_track_count(trace);
    if (track >= count) return count;
    uint32_t lane = hd_trace_track_at(trace, track)->same_as;
    return lane < count ? lane : track;
}

static uint32_t gpu_of(const launch_finder *f, uint32_t lane)
{
    uint32_t tracks = hd_trace_track_count(f->trace);
    return tracks + 1 + (lane < tracks && f->processes[lane] != HD_NONE ? f->processes[lane] : tracks);
}

/* ---- processes that make calls ---- */

bool launches_find_processes(launch_finder *f)
{
    uint32_t count = hd_trace_track_count(f->trace);
    hd_map ranks = {0};
    bool fine = true, *calls = calloc((size_t)count + 1, sizeof *calls);
    f->processes = malloc(((size_t)count + 1) * sizeof *f->processes);
    if (!calls || !f->processes) {
        free(calls);
        return false;
    }
    for (uint32_t t = 0; t <= count; t++) f->processes[t] = hd_process_of(f->trace, t);
    for (size_t i = 0; i < f->call_count; i++) {
        if (f->calls[i].id) calls[launch_slot(f, f->calls[i].track)] = true;
    }
    for (uint32_t t = 0; t <= count && fine; t++) {
        uint32_t process;
        if (!calls[t]) continue;
        if (hd_map_get(&process, &ranks, (uint64_t)launch_rank(f, t), 0))
            f->has_several |= process != f->processes[t];
        else
            fine = hd_map_set(&ranks, (uint64_t)launch_rank(f, t), 0, f->processes[t]);
    }
    hd_map_deinit(&ranks);
    free(calls);
    return fine;
}

/* ---- what speaks for a process ---- */

static launch_tie *tie_at(launch_ties *ties, uint32_t of, uint32_t process)
{
    hd_map_entry *entry = hd_map_at(&ties->places, of, process);
    if (!entry) return NULL;
    if (entry->value) return &ties->list[entry->value - 1];
    if (!hd_grow((void **)&ties->list, &ties->capacity, ties->count, sizeof *ties->list)) return NULL;
    ties->list[ties->count++] = (launch_tie){.of = of, .process = process};
    entry->value = (uint32_t)ties->count;
    return &ties->list[ties->count - 1];
}

bool launches_add_tie(launch_ties *ties, const launch_finder *f, const hd_work *work, uint32_t process, int64_t call_ns,
                      bool is_certain)
{
    uint32_t lane = lane_of(f->trace, work->track);
    launch_tie *tie = is_certain ? tie_at(ties, lane, process) : NULL;
    if (is_certain && !tie) return false;
    if (tie) tie->certain++;
    tie = tie_at(ties, gpu_of(f, lane), process);
    if (!tie) return false;
    if (is_certain) {
        tie->certain++;
        return true;
    }
    if (work->start_ns == HD_NO_TIME) return true;
    double delay = (double)work->start_ns - (double)call_ns, off = delay - tie->mean;
    tie->possible += delay >= 0;
    tie->mean += off / (double)++tie->seen;
    tie->squares += off * (delay - tie->mean);
    return true;
}

static int by_row_and_process(const void *a, const void *b)
{
    const launch_tie *x = a, *y = b;
    if (x->of != y->of) return x->of < y->of ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

/* The process that most of the certain ids are of; HD_NONE: not clear. *out_any: there are some. */
static uint32_t certain_of(bool *out_any, const launch_ties *ties, uint32_t of)
{
    uint64_t sum = 0, most = 0;
    uint32_t found = HD_NONE;
    size_t low = 0, high = ties->count;
    HD_PARTITION_POINT(low, high, at, ties->list[at].of < of);
    for (; low < ties->count && ties->list[low].of == of; low++) {
        const launch_tie *tie = &ties->list[low];
        sum += tie->certain;
        if (tie->certain > most) found = tie->process;
        if (tie->certain > most) most = tie->certain;
    }
    *out_any = sum > 0;
    return most * 10 >= sum * 9 ? found : HD_NONE;
}

/* taken: by process, `of` of the GPU that it has; 0: none. */
static bool is_taken(const launch_tie *tie, const uint32_t *taken)
{
    return taken[tie->process] && taken[tie->process] != tie->of;
}

static bool is_likelier(const launch_tie *x, const launch_tie *y, const uint32_t *taken)
{
    if (x->possible != y->possible) return x->possible > y->possible;
    double spread = x->squares / (double)x->seen, other = y->squares / (double)y->seen;
    if (spread < other / 2 - 1 || other < spread / 2 - 1) return spread < other; /* ns²: what is rounded is alike */
    return is_taken(y, taken) && !is_taken(x, taken);
}

static uint32_t guess_of(const launch_ties *ties, uint32_t of, const uint32_t *taken)
{
    const launch_tie *best = NULL;
    size_t low = 0, high = ties->count;
    HD_PARTITION_POINT(low, high, at, ties->list[at].of < of);
    for (; low < ties->count && ties->list[low].of == of; low++) {
        const launch_tie *tie = &ties->list[low];
        if (tie->seen && tie->process != HD_NONE && (!best || is_likelier(tie, best, taken))) best = tie;
    }
    return best ? best->process : HD_NONE;
}

/* ---- whose rows they are ---- */

/* A device's number as its pid is not a process. */
static bool makes_calls(const launch_finder *f, const bool *calls, uint32_t lane)
{
    uint32_t process = f->processes[lane];
    int64_t device = hd_trace_track_at(f->trace, lane)->device;
    hd_string pid = process == HD_NONE ? (hd_string){"", 0}
                                       : hd_trace_string(f->trace, hd_trace_track_at(f->trace, process)->pid.text);
    char number[24];
    int size = snprintf(number, sizeof number, "%lld", (long long)device);
    return process != HD_NONE && calls[process] &&
           !(pid.size == (size_t)size && memcmp(pid.data, number, pid.size) == 0);
}

/* HD_NONE and guessed: a guess is needed. */
static launch_owner owner_of(const launch_finder *f, const launch_ties *ties, const bool *calls, uint32_t lane)
{
    uint32_t tracks = hd_trace_track_count(f->trace);
    uint32_t process = lane < tracks ? hd_process_told(f->trace, lane) : HD_NONE;
    bool any;
    if (process != HD_NONE) return (launch_owner){process, LAUNCH_TOLD};
    process = certain_of(&any, ties, lane);
    if (any) return (launch_owner){process, LAUNCH_KNOWN};
    if (lane < tracks && makes_calls(f, calls, lane)) return (launch_owner){f->processes[lane], LAUNCH_KNOWN};
    process = certain_of(&any, ties, gpu_of(f, lane));
    return (launch_owner){process, any ? LAUNCH_KNOWN : LAUNCH_GUESSED};
}

bool launches_find_owners(launch_finder *f, launch_ties *ties)
{
    uint32_t tracks = hd_trace_track_count(f->trace);
    uint32_t *taken = calloc((size_t)tracks + 1, sizeof *taken);
    bool *calls = calloc((size_t)tracks + 1, sizeof *calls), *works = calloc((size_t)tracks + 1, sizeof *works);
    f->owners = malloc(((size_t)tracks + 1) * sizeof *f->owners);
    bool fine = taken && calls && works && f->owners;
    if (fine && ties->count) hd_sort(ties->list, ties->count, sizeof *ties->list, by_row_and_process);
    for (size_t i = 0; fine && i < f->call_count; i++) {
        uint32_t process = f->processes[launch_slot(f, f->calls[i].track)];
        if (f->calls[i].id && process != HD_NONE) calls[process] = true;
    }
    for (size_t i = 0; fine && i < f->work_count; i++) works[lane_of(f->trace, f->works[i].track)] = true;
    for (uint32_t lane = 0; fine && lane <= tracks; lane++) {
        f->owners[lane] = (launch_owner){HD_NONE, LAUNCH_KNOWN};
        if (works[lane]) f->owners[lane] = owner_of(f, ties, calls, lane);
        if (f->owners[lane].process != HD_NONE) taken[f->owners[lane].process] = gpu_of(f, lane);
    }
    for (uint32_t lane = 0; fine && lane <= tracks; lane++) {
        if (f->owners[lane].how != LAUNCH_GUESSED) continue;
        uint32_t gpu = gpu_of(f, lane), process = guess_of(ties, gpu, taken);
        f->owners[lane].process = process;
        if (process != HD_NONE) taken[process] = gpu;
    }
    free(taken);
    free(calls);
    free(works);
    return fine;
}

void launches_free_ties(launch_ties *ties)
{
    hd_map_deinit(&ties->places);
    free(ties->list);
}

/* ---- the result ---- */

/* The process whose calls launched nine of ten of the activities of each track. */
static bool name_rows(uint32_t *out, const hd_launches *l, const launch_finder *f)
{
    launch_ties ties = {0};
    uint32_t tracks = hd_trace_track_count(f->trace);
    launch_tie *last = NULL;
    bool fine = true, any;
    for (size_t i = 0; fine && i < l->work_count; i++) {
        const hd_work *work = &l->works[i];
        if (work->launch == HD_NONE) continue;
        uint32_t lane = lane_of(f->trace, work->track);
        uint32_t process = f->processes[launch_slot(f, l->launches[work->launch].track)];
        if (!last || last->of != lane || last->process != process) last = tie_at(&ties, lane, process);
        if (last) last->certain++;
        fine = last != NULL;
    }
    if (ties.count) hd_sort(ties.list, ties.count, sizeof *ties.list, by_row_and_process);
    for (size_t i = 0; fine && i < ties.count; i++) {
        if (ties.list[i].of < tracks) out[ties.list[i].of] = certain_of(&any, &ties, ties.list[i].of);
    }
    launches_free_ties(&ties);
    return fine;
}

bool launches_name_processes(hd_launches *out, const launch_finder *f)
{
    uint32_t tracks = hd_trace_track_count(f->trace), only = HD_NONE, count = 0;
    bool *launches = calloc((size_t)tracks + 1, sizeof *launches), fine = true;
    out->processes = malloc(((size_t)tracks + 1) * sizeof *out->processes);
    if (!launches || !out->processes) {
        free(launches);
        return false;
    }
    for (size_t i = 0; i < out->launch_count; i++) {
        uint32_t process = f->processes[launch_slot(f, out->launches[i].track)];
        if (!out->launches[i].work_count || process == HD_NONE || launches[process]) continue;
        launches[process] = true;
        only = process;
        count++;
    }
    for (uint32_t t = 0; t <= tracks; t++) {
        uint32_t process = f->processes[t];
        out->processes[t] = process != HD_NONE && launches[process] ? process : HD_NONE;
    }
    if (count > 1)
        fine = name_rows(out->processes, out, f);
    else
        for (size_t i = 0; count && i < out->work_count; i++) {
            uint32_t lane = lane_of(f->trace, out->works[i].track);
            if (out->works[i].launch != HD_NONE) out->processes[lane] = only;
        }
    for (uint32_t t = 0; fine && t < tracks; t++) {
        uint32_t lane = lane_of(f->trace, t);
        if (lane != t && out->processes[t] == HD_NONE) out->processes[t] = out->processes[lane];
    }
    out->process_count = count;
    out->guessed_works = f->guessed;
    free(launches);
    return fine;
}
