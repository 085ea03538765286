/* steps.c - steps, the step of a time, and the windows of a device: see "Windows and steps" in definitions.md */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "heddle/names.h"
#include "model/host/slices.h"
#include "model/identity/process.h"
#include "model/roles/trace_roles.h"
#include "model/steps/steps.h"
#include "model/sweep/sweep.h"

/* ---- steps ---- */

bool gpu_steps_are_guessed(const gpu_options *options)
{
    return options->step && !strcmp(options->step, "auto");
}

static hd_status add_marks(gpu_scope *s, const gpu_slices *slices, const uint8_t *marks, hd_error *err)
{
    size_t capacity = 0;
    for (size_t i = 0; i < slices->count; i++) {
        const gpu_slice *a = &slices->list[i];
        if (!marks[a->name]) continue;
        if (!hd_large_grow((void **)&s->steps, &capacity, s->step_count, sizeof *s->steps, s->large))
            return HD_NOMEM(err);
        s->steps[s->step_count++] = (gpu_step){.start = a->start,
                                               .end = a->end,
                                               .rank = s->ranks[a->lane],
                                               .process = hd_process_of(s->trace, a->lane),
                                               .row = a->row,
                                               .name = a->name,
                                               .lane = a->lane};
    }
    return HD_OK;
}

/* Annotations that --step names, else slices that mark a step. */
static hd_status list_steps(gpu_scope *s, hd_error *err)
{
    filter_list pattern;
    gpu_slices marked = {0};
    uint32_t count = hd_trace_string_count(s->trace);
    HD_TRY(filter_list_init(&pattern, s->options->step, "step", err));
    uint8_t *marks = calloc((size_t)count + 1, 1);
    hd_status status = marks ? HD_OK : HD_NOMEM(err);
    for (uint32_t i = 0; marks && i < count; i++) {
        hd_string name = hd_trace_string(s->trace, i);
        const filter_text texts[] = {{name.data, name.size}};
        marks[i] = pattern.count ? filter_list_passes(&pattern, texts, 1) : hd_is_profiler_step(name);
    }
    if (status == HD_OK && pattern.count) status = gpu_annotations(s, err);
    if (status == HD_OK && !pattern.count) status = gpu_slices_named(&marked, s, HD_STEP_ROLES, marks, err);
    if (status == HD_OK) status = add_marks(s, pattern.count ? &s->annotations : &marked, marks, err);
    gpu_slices_deinit(&marked);
    filter_list_deinit(&pattern);
    free(marks);
    return status;
}

/* By rank, process, start and row. */
static int by_process_and_start(const void *a, const void *b)
{
    const gpu_step *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* `first`: of the process, in changes. */
static void add_change(gpu_scope *s, size_t first, int64_t start, uint32_t step)
{
    gpu_step_change *last = s->change_count > first ? &s->changes[s->change_count - 1] : NULL;
    if (last && last->step == step) return;
    if (last && last->start == start)
        last->step = step;
    else
        s->changes[s->change_count++] = (gpu_step_change){start, step};
}

/* Ends open steps that end by then. A step that ended below another ends with that. Returns how many stay open. */
static size_t close_until(gpu_scope *s, size_t first, const uint32_t *open, size_t count, int64_t until)
{
    while (count && s->steps[open[count - 1]].end <= until) {
        int64_t end = s->steps[open[--count]].end;
        while (count && s->steps[open[count - 1]].end <= end) count--;
        add_change(s, first, end, count ? open[count - 1] : HD_NONE);
    }
    return count;
}

/* Of the steps [at, until) of a process that are open, the one that began last has the time. */
static void find_changes(gpu_scope *s, uint32_t at, uint32_t until, uint32_t *open)
{
    size_t count = 0, first = s->change_count;
    for (uint32_t i = at; i < until; i++) {
        const gpu_step *step = &s->steps[i];
        count = close_until(s, first, open, count, step->start);
        if (step->end <= step->start) continue;
        open[count++] = i;
        add_change(s, first, step->start, i);
    }
    close_until(s, first, open, count, INT64_MAX);
}

/* The changes of each process, under its track; those of the only process of a rank under its first step, in `only`, by
 * step. */
static void find_all_changes(gpu_scope *s, struct gpu_step_changes *of_process, struct gpu_step_changes *only,
                             uint32_t *open)
{
    for (uint32_t at = 0, rank_at = 0, until; at < s->step_count; at = until) {
        const gpu_step *step = &s->steps[at];
        if (step->rank != s->steps[rank_at].rank) rank_at = at;
        for (until = at; until < s->step_count && s->steps[until].rank == step->rank; until++)
            if (s->steps[until].process != step->process) break;
        struct gpu_step_changes changes = {s->change_count, 0};
        find_changes(s, at, until, open);
        changes.until = s->change_count;
        if (step->process != HD_NONE) of_process[step->process] = changes;
        if (rank_at == at && (until == s->step_count || s->steps[until].rank != step->rank)) only[at] = changes;
    }
}

/* The first step of a rank, or of a later one. */
static uint32_t first_of_rank(const gpu_scope *s, int64_t rank)
{
    uint32_t low = 0, high = s->step_count;
    HD_PARTITION_POINT(low, high, at, s->steps[at].rank < rank);
    return low;
}

/* Tracks get the changes of their process, or else those of the only process of their rank that has steps. */
static bool give_changes(gpu_scope *s)
{
    uint32_t tracks = hd_trace_track_count(s->trace);
    struct gpu_step_changes *of_process = calloc((size_t)tracks + 1, sizeof *of_process);
    struct gpu_step_changes *only = calloc((size_t)s->step_count + 1, sizeof *only);
    uint32_t *open = hd_large_new((size_t)s->step_count + 1, sizeof *open, s->large);
    bool fine = of_process && only && open;
    if (fine) find_all_changes(s, of_process, only, open);
    for (uint32_t t = 0; fine && t < tracks; t++) {
        s->changes_of[t] = of_process[hd_process_of(s->trace, t)];
        if (s->changes_of[t].first < s->changes_of[t].until) continue;
        uint32_t step = first_of_rank(s, s->ranks[t]);
        if (step < s->step_count && s->steps[step].rank == s->ranks[t]) s->changes_of[t] = only[step];
    }
    free(of_process);
    free(only);
    hd_large_free(open);
    return fine;
}

hd_status gpu_annotations(gpu_scope *s, hd_error *err)
{
    return s->annotations.first ? HD_OK : gpu_slices_init(&s->annotations, s, 1u << HD_ROLE_ANNOTATION, err);
}

hd_status gpu_steps_find(gpu_scope *s, hd_error *err)
{
    if (s->step_source) return HD_OK;
    if (s->lender && s->lender->step_source) {
        s->steps_are_lent = true;
        s->step_source = s->lender->step_source;
        s->steps = s->lender->steps;
        s->step_count = s->lender->step_count;
        s->changes = s->lender->changes;
        s->change_count = s->lender->change_count;
        s->changes_of = s->lender->changes_of;
        return HD_OK;
    }
    bool are_guessed = gpu_steps_are_guessed(s->options);
    s->step_source = are_guessed        ? "steps are guessed: what repeats, from the launch of the kernel that each is "
                                          "named after"
                     : s->options->step ? "steps are the annotations that --step names"
                                        : "steps are the slices ProfilerStep#N";
    HD_TRY(are_guessed ? gpu_steps_by_repetition(s, err) : list_steps(s, err));
    if (s->step_count && !hd_large_sort(s->steps, s->step_count, sizeof *s->steps, by_process_and_start, s->large))
        return HD_NOMEM(err);
    s->changes = hd_large_new(2 * (size_t)s->step_count + 1, sizeof *s->changes, s->large);
    s->changes_of = calloc((size_t)hd_trace_track_count(s->trace) + 1, sizeof *s->changes_of);
    return s->changes && s->changes_of && give_changes(s) ? HD_OK : HD_NOMEM(err);
}

hd_status gpu_steps_window(int64_t *out_from, int64_t *out_until, const gpu_scope *s, const char *chosen, hd_error *err)
{
    *out_from = INT64_MAX;
    *out_until = INT64_MIN;
    for (uint32_t i = 0; i < s->step_count; i++) {
        const gpu_step *step = &s->steps[i];
        if (!hd_step_is_chosen(hd_trace_string(s->trace, step->name), chosen)) continue;
        if (step->start < *out_from) *out_from = step->start;
        if (step->end > *out_until) *out_until = step->end;
    }
    if (*out_from <= *out_until) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no step '%.60s'; heddle report steps lists them",
                        chosen);
}

uint32_t gpu_step_near(const gpu_scope *s, gpu_step_hint *hint, uint32_t track, int64_t time)
{
    if (track == hint->track && time >= hint->from && time < hint->until) return hint->step;
    if (track >= hd_trace_track_count(s->trace)) return HD_NONE;
    size_t first = s->changes_of[track].first, until = s->changes_of[track].until, low = first, high = until;
    HD_PARTITION_POINT(low, high, at, s->changes[at].start <= time);
    *hint = (gpu_step_hint){.from = low > first ? s->changes[low - 1].start : INT64_MIN,
                            .until = low < until ? s->changes[low].start : INT64_MAX,
                            .track = track,
                            .step = low > first ? s->changes[low - 1].step : HD_NONE};
    return hint->step;
}

uint32_t gpu_step_at(const gpu_scope *s, uint32_t track, int64_t time)
{
    return gpu_step_near(s, &(gpu_step_hint){0}, track, time);
}

/* ---- windows ---- */

/* A step's part of the activities of a device; then its window. */
typedef struct step_window {
    int64_t start, end; /* first start and last end of the work */
    uint32_t step;
} step_window;

static bool ends_before(const gpu_scope *s, const step_window *x, const step_window *y)
{
    if (x->end != y->end) return x->end < y->end;
    return s->steps[x->step].start != s->steps[y->step].start ? s->steps[x->step].start < s->steps[y->step].start
                                                              : s->steps[x->step].row < s->steps[y->step].row;
}

typedef struct step_windows {
    step_window *list;
    size_t count, capacity;
} step_windows;

static bool add_step(step_windows *out, int64_t start, int64_t end, uint32_t step)
{
    if (!hd_grow((void **)&out->list, &out->capacity, out->count, sizeof *out->list)) return false;
    out->list[out->count++] = (step_window){start, end, step};
    return true;
}

/* Each step's part, in any order. Takes time per activity, whatever the number of steps. */
static bool sum_steps(step_windows *out, gpu_groups *numbers, const gpu_scope *s, const gpu_device *device)
{
    uint32_t last = HD_NONE, at = 0;
    for (uint32_t i = 0; i < device->count; i++) {
        const gpu_work *work = &s->works[s->order[device->first + i]];
        if (work->step == HD_NONE) continue;
        if (work->step != last) at = gpu_group(numbers, &work->step);
        last = work->step;
        if (at == HD_NONE || (at == out->count && !add_step(out, work->start, work->end, work->step))) return false;
        if (work->start < out->list[at].start) out->list[at].start = work->start;
        if (work->end > out->list[at].end) out->list[at].end = work->end;
    }
    return true;
}

/* Steps ordered by their activities on the device, consecutively. */
static bool windows_by_work(step_windows *out, const gpu_scope *s, const gpu_device *device)
{
    gpu_groups numbers = {.key_size = sizeof(uint32_t)};
    bool fine = sum_steps(out, &numbers, s, device);
    gpu_groups_deinit(&numbers);
    step_window *spare = fine ? malloc((out->count + 1) * sizeof *spare) : NULL;
    if (!spare) return false;
    HD_SORT_RUNS(out->list, spare, out->count, x, y, ends_before(s, x, y));
    for (size_t i = 1; i < out->count; i++) out->list[i].start = out->list[i - 1].end;
    free(spare);
    return true;
}

/* Whether all steps of the rank are of one process. */
static bool has_one_process(const gpu_scope *s, int64_t rank)
{
    uint32_t first = first_of_rank(s, rank), last = rank == INT64_MAX ? s->step_count : first_of_rank(s, rank + 1);
    return first < last && s->steps[first].process == s->steps[last - 1].process;
}

/* If no step has an activity: the steps themselves, each until the next begins. With several processes it is then
 * unknown which one drives the device: no step gets its time. */
static bool windows_by_time(step_windows *out, const gpu_scope *s, const gpu_device *device)
{
    if (!has_one_process(s, device->rank)) return true;
    uint32_t low = 0,
             high = s->step_count; /* the first that begins within the span; the previous one may extend into it */
    HD_PARTITION_POINT(low, high, at,
                       s->steps[at].rank != device->rank ? s->steps[at].rank < device->rank
                                                         : s->steps[at].start < device->start);
    if (low && s->steps[low - 1].rank == device->rank) low--;
    for (uint32_t i = low; i < s->step_count; i++) {
        const gpu_step *step = &s->steps[i];
        if (step->rank != device->rank || step->start >= device->end) break;
        bool is_last = i + 1 == s->step_count || s->steps[i + 1].rank != device->rank;
        int64_t next = is_last ? device->end : s->steps[i + 1].start;
        int64_t start = step->start > device->start ? step->start : device->start;
        int64_t end = step->end < next ? step->end : next;
        if (end > device->end) end = device->end;
        if (start < end && !add_step(out, start, end, i)) return false;
    }
    return true;
}

static void add_piece(gpu_windows *w, int64_t start, int64_t end, uint32_t window)
{
    if (end <= start) return;
    w->pieces[w->piece_count++] = (gpu_piece){start, end, window};
    w->windows[window].length += end - start;
}

/* The parts of it that were recorded. */
static void add_recorded(gpu_windows *w, const gpu_spans *recorded, int64_t start, int64_t end, uint32_t window)
{
    size_t low = 0, high = recorded ? recorded->count : 0;
    if (!recorded) add_piece(w, start, end, window);
    HD_PARTITION_POINT(low, high, at, recorded->list[at].end <= start);
    for (; recorded && low < recorded->count && recorded->list[low].start < end; low++) {
        const gpu_span *span = &recorded->list[low];
        add_piece(w, span->start > start ? span->start : start, span->end < end ? span->end : end, window);
    }
}

/* Parts of [from, until): those of steps, and between them the rest, which is the last window. */
static void cut(gpu_windows *w, const gpu_spans *recorded, int64_t from, int64_t until)
{
    int64_t at = from;
    for (size_t i = 0; i < w->of_step_count; i++) {
        const gpu_piece *step = &w->of_steps[i];
        int64_t start = step->start > at ? step->start : at, end = step->end < until ? step->end : until;
        if (end <= start) continue;
        add_recorded(w, recorded, at, start, w->rest);
        add_recorded(w, recorded, start, end, step->window);
        at = end;
    }
    add_recorded(w, recorded, at, until, w->rest);
}

/* Removes windows without time and activities. */
static void drop_empty(gpu_windows *w, uint32_t *moved)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        moved[i] = kept;
        if (w->windows[i].length || w->windows[i].works) w->windows[kept++] = w->windows[i];
    }
    w->count = kept;
    w->rest = moved[w->rest];
    for (size_t i = 0; i < w->piece_count; i++) w->pieces[i].window = moved[w->pieces[i].window];
    for (size_t i = 0; i < w->of_step_count; i++) w->of_steps[i].window = moved[w->of_steps[i].window];
}

uint32_t gpu_window_of(const gpu_windows *w, int64_t time)
{
    size_t low = 0, high = w->of_step_count;
    HD_PARTITION_POINT(low, high, at, w->of_steps[at].end <= time);
    return low < w->of_step_count && w->of_steps[low].start <= time ? w->of_steps[low].window : w->rest;
}

static void fill(gpu_windows *w, const gpu_scope *s, const gpu_device *device, const step_window *list, size_t count,
                 uint32_t *moved)
{
    w->of_step_count = count;
    w->rest = (uint32_t)count;
    w->count = (uint32_t)count + 1;
    for (uint32_t i = 0; i < count; i++) {
        w->of_steps[i] = (gpu_piece){list[i].start, list[i].end, i};
        w->windows[i].step = list[i].step;
    }
    w->windows[count].step = HD_NONE;
    const gpu_spans *recorded = s->recorded ? &s->recorded[device - s->devices] : NULL;
    cut(w, recorded, s->has_from ? s->from : device->start, s->has_until ? s->until : device->end);
    for (uint32_t i = 0; i < device->count; i++) {
        const gpu_work *work = &s->works[s->order[device->first + i]];
        if (work->is_listed) w->windows[gpu_window_of(w, work->start)].works++;
    }
    if (s->by & GPU_BY_STEP) drop_empty(w, moved);
}

hd_status gpu_windows_init(gpu_windows *w, const gpu_scope *s, uint32_t device_index, hd_error *err)
{
    const gpu_device *device = &s->devices[device_index];
    step_windows steps = {0};
    *w = (gpu_windows){0};
    bool fine = !(s->by & GPU_BY_STEP) || windows_by_work(&steps, s, device);
    if (fine && s->by & GPU_BY_STEP && !steps.count) fine = windows_by_time(&steps, s, device);
    size_t count = steps.count;
    w->windows = calloc(count + 1, sizeof *w->windows);
    size_t spans = s->recorded ? s->recorded[device_index].count : 0;
    w->pieces = calloc(2 * count + spans + 1, sizeof *w->pieces);
    w->of_steps = calloc(count + 1, sizeof *w->of_steps);
    uint32_t *moved = malloc((count + 2) * sizeof *moved);
    fine = fine && w->windows && w->pieces && w->of_steps && moved;
    if (fine) fill(w, s, device, steps.list, count, moved);
    free(steps.list);
    free(moved);
    if (fine) return HD_OK;
    gpu_windows_deinit(w);
    return HD_NOMEM(err);
}

void gpu_windows_deinit(gpu_windows *w)
{
    free(w->windows);
    free(w->pieces);
    free(w->of_steps);
    *w = (gpu_windows){0};
}

/* Numbers of the tracks with a device, grouped by device. */
static uint32_t *rows_by_device(const gpu_scope *s, uint32_t *count)
{
    uint32_t *first = calloc((size_t)s->device_count + 2, sizeof *first);
    uint32_t *out = malloc(((size_t)s->row_count + 1) * sizeof *out);
    for (uint32_t r = 0; first && r < s->row_count; r++) {
        if (s->rows[r].device != HD_NONE) first[s->rows[r].device + 1]++;
    }
    for (uint32_t d = 0; first && d < s->device_count; d++) first[d + 1] += first[d];
    *count = first ? first[s->device_count] : 0;
    for (uint32_t r = 0; first && out && r < s->row_count; r++) {
        if (s->rows[r].device != HD_NONE) out[first[s->rows[r].device]++] = r;
    }
    if (!first) {
        free(out);
        out = NULL;
    }
    free(first);
    return out;
}

hd_status gpu_each_row(const gpu_scope *s, gpu_windows *windows, gpu_see_row see, void *user, hd_error *err)
{
    uint32_t count, at = HD_NONE, *rows = rows_by_device(s, &count);
    hd_status status = rows ? HD_OK : HD_NOMEM(err);
    for (uint32_t i = 0; status == HD_OK && i < count; i++) {
        const gpu_row *row = &s->rows[rows[i]];
        if (row->device != at) {
            at = row->device;
            gpu_windows_deinit(windows);
            status = gpu_windows_init(windows, s, at, err);
        }
        if (status == HD_OK) status = see(user, row, err);
    }
    free(rows);
    return status;
}
