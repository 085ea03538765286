/* join.c - joins activities and their calls by correlation id
 *
 * If no activity has one, by the id of their operator, `External id`, where only one launching call has it.
 *
 * Both are sorted by id with a radix sort, then walked together. The few calls of one id are sorted by comparing: first
 * by track, to find nested calls; then the rest by time, so that an activity finds the last call before it.
 */
#include <stdlib.h>

#include "base/sorted.h"
#include "model/args/args.h"
#include "model/launches/impl.h"
#include "trace/event.h"
#include "trace/lazy.h"

typedef struct keyed {
    uint64_t id;
    uint32_t index; /* of a call or work */
} keyed;

typedef struct joiner {
    launch_finder *f;
    keyed *calls, *works;
    size_t call_count, work_count;
    keyed *scratch;
    launch_ties ties; /* where a rank has several processes that call */
    bool by_operator; /* ids are those of operators */
} joiner;

/* ---- sorting ---- */

/* By id, stably. */
static void sort_by_id(keyed *list, size_t count, keyed *scratch)
{
    uint64_t differing = 0;
    size_t sorted = 1;
    while (sorted < count && list[sorted - 1].id <= list[sorted].id) sorted++;
    if (sorted >= count) return;
    for (size_t i = 1; i < count; i++) differing |= list[i].id ^ list[0].id;
    keyed *from = list, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t starts[256] = {0}, sum = 0;
        if ((differing >> shift & 0xff) == 0) continue;
        for (size_t i = 0; i < count; i++) starts[from[i].id >> shift & 0xff]++;
        for (size_t b = 0; b < 256; b++) {
            size_t here = starts[b];
            starts[b] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++) to[starts[from[i].id >> shift & 0xff]++] = from[i];
        keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != list) memcpy(list, from, count * sizeof *list);
}

/* hd_sort passes no context, so calls are compared by copied values. */
typedef struct candidate {
    int64_t rank, start_ns, end_ns;
    uint32_t track, index;
    uint32_t process; /* 0 where a rank has one */
} candidate;

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_track(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int order = compare(x->track, y->track);
    if (!order) order = compare(x->start_ns, y->start_ns);
    if (!order) order = compare(y->end_ns, x->end_ns);
    return order ? order : compare(x->index, y->index);
}

static int by_time(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int order = compare(x->rank, y->rank);
    if (!order) order = compare(x->process, y->process);
    if (!order) order = compare(x->start_ns, y->start_ns);
    if (!order) order = compare(y->end_ns, x->end_ns);
    return order ? order : compare(x->index, y->index);
}

/* ---- the calls of one id ---- */

/* Drops calls nested in another call of the same id on the same track: they are the same launch. Returns how many are
 * left. */
static size_t drop_inner(launch_finder *f, candidate *list, size_t count)
{
    size_t left = 0;
    hd_sort(list, count, sizeof *list, by_track);
    for (size_t i = 0; i < count; i++) {
        candidate *outer = left ? &list[left - 1] : NULL;
        bool inside = outer && outer->track == list[i].track &&
                      (list[i].start_ns < outer->end_ns || list[i].start_ns == outer->start_ns);
        if (inside)
            f->calls[list[i].index].outer = outer->index;
        else
            list[left++] = list[i];
    }
    return left;
}

/* The calls that represent an id, by rank, process and time, into `out`. */
static size_t candidates_of(candidate *out, launch_finder *f, const keyed *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const launch_call *call = &f->calls[calls[i].index];
        int64_t end = hd_end_or_last(call->start_ns, call->duration_ns);
        out[i] = (candidate){launch_rank(f, call->track),
                             call->start_ns,
                             end,
                             call->track,
                             calls[i].index,
                             f->has_several ? f->processes[launch_slot(f, call->track)] : 0};
    }
    if (count < 2) return count;
    count = drop_inner(f, out, count);
    hd_sort(out, count, sizeof *out, by_time);
    return count;
}

/* Candidates from `list` on, of a rank, or of one of its processes. */
typedef struct run {
    const candidate *list;
    size_t count;
} run;

static run run_of_rank(const candidate *list, size_t count, int64_t rank)
{
    size_t low = 0, high = count, end = count;
    HD_PARTITION_POINT(low, high, at, list[at].rank < rank);
    size_t first = low;
    HD_PARTITION_POINT(low, end, at, list[at].rank <= rank);
    return (run){list + first, low - first};
}

/* An activity of unknown rank may belong to calls of any one rank, calls of unknown rank to all activities. */
static run run_of(const candidate *list, size_t count, int64_t rank)
{
    run found = count == 1 && list->rank == rank ? (run){list, 1} : run_of_rank(list, count, rank);
    if (found.count) return found;
    if (rank != HD_NO_NUMBER) return run_of_rank(list, count, HD_NO_NUMBER);
    return (run){list, list[0].rank == list[count - 1].rank ? count : 0};
}

/* Of the process that the first of a run is of. */
static run run_of_first(run all)
{
    size_t low = 1, high = all.count;
    HD_PARTITION_POINT(low, high, at, all.list[at].process == all.list->process);
    return (run){all.list, low};
}

/* The last call that started by then, else the first. */
static const candidate *last_before(run r, int64_t start_ns)
{
    size_t low = 0, high = r.count;
    HD_PARTITION_POINT(low, high, at, r.list[at].start_ns <= start_ns);
    return &r.list[low ? low - 1 : 0];
}

/* Several processes have the id: takes that of the track's activities, else that of the last call before. */
static uint32_t choose_of_several(launch_finder *f, run all, const hd_work *work, const launch_owner *owner)
{
    const candidate *nearest = NULL, *first = all.list;
    for (run left = all, one; left.count; left = (run){left.list + one.count, left.count - one.count}) {
        one = run_of_first(left);
        const candidate *call = last_before(one, work->start_ns);
        if (owner->process == call->process) {
            f->guessed += owner->how == LAUNCH_GUESSED;
            return call->index;
        }
        if (call->start_ns < first->start_ns) first = call;
        if (call->start_ns <= work->start_ns && (!nearest || call->start_ns > nearest->start_ns)) nearest = call;
    }
    if (owner->how == LAUNCH_TOLD) return HD_NONE;
    f->guessed++;
    return (nearest ? nearest : first)->index;
}

static uint32_t choose(launch_finder *f, const candidate *list, size_t count, const hd_work *work)
{
    run all = run_of(list, count, launch_rank(f, work->track));
    if (!all.count) return HD_NONE;
    if (!f->owners) return last_before(all, work->start_ns)->index;
    uint32_t tracks = hd_trace_track_count(f->trace), track = work->track < tracks ? work->track : tracks;
    const launch_owner *owner = &f->owners[track < tracks ? hd_trace_track_at(f->trace, track)->same_as : tracks];
    if (all.list->process != all.list[all.count - 1].process) return choose_of_several(f, all, work, owner);
    bool is_other = owner->how == LAUNCH_TOLD && owner->process != all.list->process;
    return is_other ? HD_NONE : last_before(all, work->start_ns)->index;
}

/* ---- the whole ---- */

static size_t end_of_id(const keyed *list, size_t from, size_t count)
{
    size_t end = from + 1;
    while (end < count && list[end].id == list[from].id) end++;
    return end;
}

/* Called with an activity and the calls of its id. false: no memory. */
typedef bool visit(joiner *j, uint32_t work, const candidate *list, size_t count);

static bool walk(joiner *j, const keyed *works, size_t work_count, visit *visit_work)
{
    launch_finder *f = j->f;
    candidate *list = NULL;
    size_t capacity = 0;
    bool fine = true;
    for (size_t c = 0, w = 0, c_end; fine && c < j->call_count; c = c_end) {
        c_end = end_of_id(j->calls, c, j->call_count);
        if (c_end - c > capacity) {
            hd_large_free(list);
            capacity = 2 * (c_end - c);
            list = hd_large_new(capacity, sizeof *list, f->large);
            if (!list) return false;
        }
        while (w < work_count && works[w].id < j->calls[c].id) w++;
        size_t count = candidates_of(list, f, j->calls + c, c_end - c);
        for (; fine && w < work_count && works[w].id == j->calls[c].id; w++)
            fine = visit_work(j, works[w].index, list, count);
    }
    hd_large_free(list);
    return fine;
}

/* Ids that only one process has are evidence that it owns the activity's track; shared ids are possible evidence for
 * each. */
static bool count_ties(joiner *j, uint32_t work, const candidate *list, size_t count)
{
    const hd_work *of = &j->f->works[work];
    run left = run_of(list, count, launch_rank(j->f, of->track)), one;
    bool is_certain = left.count && left.list->process == left.list[left.count - 1].process, fine = true;
    for (; fine && left.count; left = (run){left.list + one.count, left.count - one.count}) {
        one = run_of_first(left);
        fine = launches_add_tie(&j->ties, j->f, of, one.list->process, last_before(one, of->start_ns)->start_ns,
                                is_certain);
    }
    return fine;
}

static bool assign_launch(joiner *j, uint32_t work, const candidate *list, size_t count)
{
    launch_finder *f = j->f;
    if (j->by_operator && run_of(list, count, launch_rank(f, f->works[work].track)).count != 1) return true;
    uint32_t call = choose(f, list, count, &f->works[work]);
    f->works[work].launch = call;
    if (call != HD_NONE) f->calls[call].is_needed = true;
    return true;
}

static bool assign_creator(joiner *j, uint32_t work, const candidate *list, size_t count)
{
    launch_finder *f = j->f;
    uint64_t guessed = f->guessed; /* launches alone are counted */
    uint32_t call = choose(f, list, count, &f->works[work]);
    f->guessed = guessed;
    f->works[work].graph_launch = call;
    if (call != HD_NONE) f->calls[call].is_needed = true;
    return true;
}

static int64_t operator_at(gpu_arg *arg, hd_block_room *room, const hd_trace *trace, uint64_t row)
{
    uint32_t at;
    int64_t id;
    const hd_block *block = hd_walk_row(&at, room, trace, HD_KIND_SLICE, row);
    return gpu_arg_whole(&id, arg, block, at) ? id : 0;
}

/* The ids of operators of activities and launching calls. */
static bool read_operators(joiner *j)
{
    launch_finder *f = j->f;
    gpu_arg arg;
    hd_block_room calls = {0}, works = {0};
    if (!gpu_arg_init(&arg, f->trace, "External id")) return false;
    j->by_operator = gpu_arg_is_used(&arg);
    j->call_count = 0;
    for (size_t i = 0; j->by_operator && i < f->call_count; i++) {
        int64_t id = f->calls[i].sort == HD_LAUNCH_UNKNOWN ? 0 : operator_at(&arg, &calls, f->trace, f->calls[i].row);
        if (id) j->calls[j->call_count++] = (keyed){(uint64_t)id, (uint32_t)i};
    }
    for (size_t i = 0; j->call_count && i < f->work_count; i++) {
        int64_t id = operator_at(&arg, &works, f->trace, f->works[i].row);
        if (id) j->works[j->work_count++] = (keyed){(uint64_t)id, (uint32_t)i};
    }
    hd_walk_end(&calls, f->trace);
    hd_walk_end(&works, f->trace);
    gpu_arg_deinit(&arg);
    return true;
}

static bool join(joiner *j)
{
    launch_finder *f = j->f;
    size_t most = f->call_count > f->work_count ? f->call_count : f->work_count;
    j->calls = hd_large_new(f->call_count + 1, sizeof *j->calls, f->large);
    j->works = hd_large_new(f->work_count + 1, sizeof *j->works, f->large);
    j->scratch = hd_large_new(most + 1, sizeof *j->scratch, f->large);
    if (!j->calls || !j->works || !j->scratch) return false;
    for (size_t i = 0; i < f->call_count; i++) {
        if (f->calls[i].id) j->calls[j->call_count++] = (keyed){(uint64_t)f->calls[i].id, (uint32_t)i};
    }
    for (size_t i = 0; i < f->work_count; i++) {
        if (f->works[i].id) j->works[j->work_count++] = (keyed){(uint64_t)f->works[i].id, (uint32_t)i};
    }
    if (!j->work_count && !read_operators(j)) return false;
    sort_by_id(j->calls, j->call_count, j->scratch);
    sort_by_id(j->works, j->work_count, j->scratch);
    if (f->has_several && (!walk(j, j->works, j->work_count, count_ties) || !launches_find_owners(f, &j->ties)))
        return false;
    if (!walk(j, j->works, j->work_count, assign_launch)) return false;
    if (f->creator_count == 0) return true;
    for (size_t i = 0; i < f->creator_count; i++)
        j->works[i] = (keyed){(uint64_t)f->creators[i].id, f->creators[i].work};
    sort_by_id(j->works, f->creator_count, j->scratch);
    return walk(j, j->works, f->creator_count, assign_creator);
}

bool launches_join(launch_finder *f)
{
    joiner j = {.f = f};
    bool fine = join(&j);
    hd_large_free(j.calls);
    hd_large_free(j.works);
    hd_large_free(j.scratch);
    launches_free_ties(&j.ties);
    return fine;
}
