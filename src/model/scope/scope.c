/* scope.c - the selected activities, and where they run: tracks, devices, classes, and those begun before the
 * recording */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "heddle/pass.h"
#include "model/class/class.h"
#include "model/host/slices.h"
#include "model/progress.h"
#include "model/scope/scope.h"
#include "model/steps/steps.h"
#include "trace/event.h"
#include "trace/ranks.h"
#include "trace/spill.h"

hd_status gpu_broken(const char *what, int64_t is, int64_t should, hd_error *err)
{
    return hd_error_set(err, HD_ERR_INTERNAL, NULL, HD_OFFSET_NONE,
                        "%s: %lld, but should be %lld: please report this, with the trace if you can", what,
                        (long long)is, (long long)should);
}

/* ---- options ---- */

static const struct by_word {
    const char *word;
    unsigned bit;
} by_words[] = {
    {"step", GPU_BY_STEP},     {"name", GPU_BY_NAME},   {"short", GPU_BY_SHORT}, {"op", GPU_BY_OP},
    {"module", GPU_BY_MODULE}, {"shape", GPU_BY_SHAPE}, {"grid", GPU_BY_GRID},   {"stream", GPU_BY_STREAM},
    {"class", GPU_BY_CLASS},   {"stack", GPU_BY_STACK}, {"line", GPU_BY_LINE},   {"group", GPU_BY_GROUP},
};

static hd_status read_by(unsigned *out, const char *text, unsigned known, hd_error *err)
{
    enum { WORDS = sizeof by_words / sizeof *by_words };
    *out = 0;
    for (const char *at = text; at && *at; at += *at == ',') {
        size_t size = strcspn(at, ","), i = 0;
        while (i < WORDS && (strlen(by_words[i].word) != size || memcmp(by_words[i].word, at, size) != 0)) i++;
        if (i == WORDS || !(by_words[i].bit & known)) {
            char words[128] = "";
            for (i = 0; i < WORDS; i++) {
                if (!(by_words[i].bit & known)) continue;
                if (*words) strcat(words, ", ");
                strcat(words, by_words[i].word);
            }
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "by: '%.*s' is none of %s",
                                size < 60 ? (int)size : 60, at, words);
        }
        *out |= by_words[i].bit;
        at += size;
    }
    return HD_OK;
}

/* The window of --steps is known later: until then no time is left out. */
static hd_status read_window(gpu_scope *s, hd_error *err)
{
    const gpu_options *o = s->options;
    bool any;
    if (o->steps && (o->from.unit != HD_CONVERT_UNSET || o->until.unit != HD_CONVERT_UNSET))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "steps is a window; it takes no from, until");
    HD_TRY(hd_crop_window_find(&s->from, &s->until, &any, s->trace, o->from, o->until, NULL, err));
    s->has_from = any && o->from.unit != HD_CONVERT_UNSET;
    s->has_until = any && o->until.unit != HD_CONVERT_UNSET;
    s->from = s->has_from ? gpu_time(s->from) : INT64_MIN;
    s->until = s->has_until ? gpu_time(s->until) : INT64_MAX;
    if (o->steps) s->has_from = s->has_until = true;
    return HD_OK;
}

static hd_status choose_steps(gpu_scope *s, hd_error *err)
{
    HD_TRY(gpu_steps_find(s, err));
    HD_TRY(gpu_steps_window(&s->from, &s->until, s, s->options->steps, err));
    for (size_t i = 0; i < s->launches->work_count; i++) s->works[i].is_listed &= gpu_is_listed(s, s->works[i].start);
    return HD_OK;
}

/* ---- which rows count ---- */

static hd_status rank_is_wanted(bool *out, const char *list, int64_t rank, hd_error *err)
{
    *out = list == NULL;
    for (const char *at = list; at && *at; at += *at == ',') {
        int64_t wanted;
        size_t size = strcspn(at, ",");
        if (!hd_fixed_parse_whole(&wanted, at, size))
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "rank: '%.60s' is not a list of whole numbers, such as 0,3", list);
        *out |= wanted == rank;
        at += size;
    }
    return HD_OK;
}

/* As convert does: a track passes by its name, that of its process, or PROCESS/THREAD. */
static bool track_passes(filter_list *tracks, const hd_trace *trace, uint32_t track)
{
    const hd_track *t = hd_trace_track_at(trace, track);
    hd_string name = hd_trace_string(trace, t->name), process = {"", 0};
    if (t->parent < hd_trace_track_count(trace))
        process = hd_trace_string(trace, hd_trace_track_at(trace, t->parent)->name);
    size_t size = process.size + 1 + name.size;
    char *both = malloc(size);
    if (!both) return false;
    memcpy(both, process.data, process.size);
    both[process.size] = '/';
    memcpy(both + process.size + 1, name.data, name.size);
    const filter_text texts[] = {{name.data, name.size}, {process.data, process.size}, {both, size}};
    bool passes = filter_list_passes(tracks, texts, 3);
    free(both);
    return passes;
}

/* By track, whether its rank and its name are wanted. */
static hd_status choose_tracks(bool *wanted, gpu_scope *s, hd_error *err)
{
    filter_list tracks = {0};
    const hd_trace_facts *facts = hd_trace_facts_of(s->trace);
    hd_status status = filter_list_init(&tracks, s->options->tracks, "tracks", err);
    for (uint32_t t = 0; t < hd_trace_track_count(s->trace) && status == HD_OK; t++) {
        int64_t rank = hd_trace_rank_of(s->trace, t);
        s->ranks[t] = rank == HD_NO_NUMBER ? facts->rank : rank;
        status = rank_is_wanted(&s->has_rank[t], s->options->ranks, s->ranks[t], err);
        wanted[t] = s->has_rank[t] && (!tracks.count || track_passes(&tracks, s->trace, t));
    }
    filter_list_deinit(&tracks);
    return status;
}

/* ---- work ---- */

typedef struct work_maker {
    gpu_scope *s;
    bool *wanted;          /* by track */
    uint8_t *names;        /* by string: 1: passes --names, 2: does not, 0: not computed yet */
    uint32_t *row_of;      /* by lane */
    int64_t *first_linked; /* by lane: start of the first linked work, INT64_MAX: none */
    filter_list filter;
    gpu_classes classes;
} work_maker;

static bool name_passes(work_maker *m, uint32_t name)
{
    if (!m->filter.count) return true;
    if (!m->names[name]) {
        hd_string text = hd_trace_string(m->s->trace, name);
        const filter_text texts[] = {{text.data, text.size}};
        m->names[name] = filter_list_passes(&m->filter, texts, 1) ? 1 : 2;
    }
    return m->names[name] == 1;
}

static uint32_t row_of(work_maker *m, uint32_t track)
{
    uint32_t lane = gpu_lane_of(m->s->trace, track);
    if (lane == HD_NONE) return HD_NONE;
    if (m->row_of[lane] == HD_NONE) {
        m->row_of[lane] = m->s->row_count;
        m->s->rows[m->s->row_count++] = (gpu_row){.lane = lane, .device = HD_NONE, .stream = HD_NO_NUMBER};
    }
    return m->row_of[lane];
}

static uint32_t origin_of(const hd_work *work)
{
    return work->launch != HD_NONE && work->graph_launch != HD_NONE ? work->graph_launch : work->launch;
}

static void add_work(work_maker *m, gpu_work *out, const hd_work *work)
{
    gpu_scope *s = m->s;
    uint32_t row = row_of(m, work->track);
    bool is_there = row != HD_NONE && (work->launch != HD_NONE || !s->options->linked);
    bool counts = is_there && m->wanted[work->track] && name_passes(m, work->name);
    *out = (gpu_work){
        .start = gpu_time(work->start_ns),
        .end = gpu_time(hd_end_or_last(work->start_ns, work->duration_ns)),
        .launch = work->launch,
        .origin = origin_of(work),
        .row = row,
        .device = counts ? 0 : HD_NONE,
        .step = HD_NONE,
        .class = (uint8_t)(is_there ? gpu_class_of(&m->classes, work) : GPU_COMPUTE),
        .role = (uint8_t)work->role,
        .is_listed = counts && gpu_is_listed(s, gpu_time(work->start_ns)),
        .is_there = is_there,
    };
    if (work->launch == HD_NONE || row == HD_NONE) return;
    s->has_launches = true;
    int64_t *first = &m->first_linked[s->rows[row].lane];
    if (work->start_ns < *first) *first = work->start_ns;
}

/* ---- what began before the recording ---- */

/* By rank the start of its first call that launches by its name. */
typedef struct first_calls {
    gpu_groups ranks;
    int64_t *starts; /* by group */
    size_t capacity;
} first_calls;

static bool list_first_calls(first_calls *out, const gpu_scope *s)
{
    uint32_t rank = HD_NONE, track = HD_NONE; /* of the launch before */
    for (size_t i = 0; i < s->launches->launch_count; i++) {
        const hd_launch *launch = &s->launches->launches[i];
        if (launch->sort == HD_LAUNCH_UNKNOWN || launch->track >= hd_trace_track_count(s->trace)) continue;
        uint32_t count = out->ranks.count;
        if (launch->track != track) rank = gpu_group(&out->ranks, &s->ranks[launch->track]);
        track = launch->track;
        if (rank == HD_NONE || !hd_grow((void **)&out->starts, &out->capacity, rank, sizeof *out->starts)) return false;
        if (rank == count || launch->start_ns < out->starts[rank]) out->starts[rank] = launch->start_ns;
    }
    return true;
}

static bool find_before(work_maker *m)
{
    gpu_scope *s = m->s;
    first_calls calls = {.ranks = {.key_size = sizeof(int64_t)}};
    bool fine = list_first_calls(&calls, s);
    uint32_t known = calls.ranks.count;
    for (size_t i = 0; fine && s->has_launches && i < s->launches->work_count; i++) {
        gpu_work *work = &s->works[i];
        if (work->row == HD_NONE || work->launch != HD_NONE) continue;
        uint32_t lane = s->rows[work->row].lane;
        int64_t limit = m->first_linked[lane];
        if (limit == INT64_MAX) {
            uint32_t rank = gpu_group(&calls.ranks, &s->ranks[lane]);
            fine = rank != HD_NONE;
            limit = rank < known ? calls.starts[rank] : INT64_MIN;
        }
        work->before = work->start < limit;
    }
    gpu_groups_deinit(&calls.ranks);
    free(calls.starts);
    return fine;
}

/* ---- rows and devices ---- */

/* Finds the device of a track: from the track, or a twin of it. */
static void tell_rows(work_maker *m)
{
    const hd_trace *trace = m->s->trace;
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        uint32_t lane = gpu_lane_of(trace, t), row = lane == HD_NONE ? HD_NONE : m->row_of[lane];
        if (row == HD_NONE || m->s->rows[row].stream != HD_NO_NUMBER) continue;
        if (track->device == HD_NO_NUMBER && track->stream == HD_NO_NUMBER) continue;
        m->s->rows[row].stream = track->stream;
        /* The track that says it; find_devices puts the device's number in its place. */
        m->s->rows[row].device = track->device == HD_NO_NUMBER ? HD_NONE : (uint32_t)t;
    }
}

static int by_rank_and_device(const void *a, const void *b)
{
    const gpu_device *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    bool known = x->process == HD_NONE, other_known = y->process == HD_NONE;
    if (known != other_known) return known ? -1 : 1;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

static gpu_device device_of_row(const gpu_scope *s, const gpu_row *row)
{
    const hd_track *lane = hd_trace_track_at(s->trace, row->lane);
    gpu_device device = {s->ranks[row->lane], HD_NO_NUMBER, HD_NONE, INT64_MAX, INT64_MIN, 0, 0};
    if (row->device != HD_NONE)
        device.device = hd_trace_track_at(s->trace, row->device)->device;
    else
        device.process =
            gpu_lane_of(s->trace, lane->parent < hd_trace_track_count(s->trace) ? lane->parent : row->lane);
    return device;
}

/* The devices of tracks with counted activities, without duplicates; tracks get their number. */
static bool find_devices(gpu_scope *s)
{
    gpu_device *all = calloc((size_t)s->row_count + 1, sizeof *all);
    bool *counts = calloc((size_t)s->row_count + 1, sizeof *counts);
    s->devices = all;
    if (!all || !counts) {
        free(counts);
        return false;
    }
    for (size_t i = 0; i < s->launches->work_count; i++) {
        if (s->works[i].device != HD_NONE) counts[s->works[i].row] = true;
    }
    for (uint32_t r = 0; r < s->row_count; r++) {
        if (counts[r]) all[s->device_count++] = device_of_row(s, &s->rows[r]);
    }
    if (s->device_count) hd_sort(all, s->device_count, sizeof *all, by_rank_and_device);
    uint32_t kept = 0;
    for (uint32_t d = 0; d < s->device_count; d++) {
        if (!kept || by_rank_and_device(&all[kept - 1], &all[d]) != 0) all[kept++] = all[d];
    }
    s->device_count = kept;
    for (uint32_t r = 0; r < s->row_count; r++) {
        const gpu_device wanted = device_of_row(s, &s->rows[r]);
        const gpu_device *found = bsearch(&wanted, all, kept, sizeof *all, by_rank_and_device);
        s->rows[r].stands_on = found ? (uint32_t)(found - all) : HD_NONE;
        s->rows[r].device = counts[r] ? s->rows[r].stands_on : HD_NONE;
    }
    free(counts);
    return true;
}

/* ---- order ---- */

typedef struct timed {
    int64_t start;
    uint32_t work;
} timed;

/* Sorts indices, which are grouped by first and count, by time. Activities are in file order. */
static bool sort_group(uint32_t *order, uint32_t count, const gpu_work *works, timed *list, timed *spare)
{
    for (uint32_t i = 0; i < count; i++) list[i] = (timed){works[order[i]].start, order[i]};
    HD_SORT_RUNS(list, spare, count, x, y, x->start != y->start ? x->start < y->start : x->work < y->work);
    for (uint32_t i = 0; i < count; i++) order[i] = list[i].work;
    return true;
}

static bool order_works(gpu_scope *s)
{
    size_t count = s->launches->work_count;
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        gpu_work *work = &s->works[i];
        if (work->device == HD_NONE) continue;
        gpu_row *row = &s->rows[work->row];
        gpu_device *device = &s->devices[work->device = row->device];
        if (work->start < device->start) device->start = work->start;
        if (work->end > device->end) device->end = work->end;
        row->count++;
        device->count++;
        s->counted++;
    }
    for (uint32_t d = 0; d < s->device_count; sum += s->devices[d++].count) s->devices[d].first = sum;
    sum = 0;
    for (uint32_t r = 0; r < s->row_count; sum += s->rows[r++].count) s->rows[r].first = sum;
    s->order = hd_large_new(s->counted + 1, sizeof *s->order, s->large);
    s->by_row = hd_large_new(s->counted + 1, sizeof *s->by_row, s->large);
    timed *list = hd_large_new(s->counted + 1, sizeof *list, s->large);
    timed *spare = hd_large_new(s->counted + 1, sizeof *spare, s->large);
    uint32_t *next = calloc((size_t)s->device_count + s->row_count + 1, sizeof *next);
    bool fine = s->order && s->by_row && list && spare && next;
    for (size_t i = 0; fine && i < count; i++) {
        const gpu_work *work = &s->works[i];
        if (work->device == HD_NONE) continue;
        s->order[s->devices[work->device].first + next[work->device]++] = (uint32_t)i;
        s->by_row[s->rows[work->row].first + next[s->device_count + work->row]++] = (uint32_t)i;
    }
    for (uint32_t d = 0; fine && d < s->device_count; d++)
        sort_group(s->order + s->devices[d].first, s->devices[d].count, s->works, list, spare);
    for (uint32_t r = 0; fine && r < s->row_count; r++)
        sort_group(s->by_row + s->rows[r].first, s->rows[r].count, s->works, list, spare);
    hd_large_free(list);
    hd_large_free(spare);
    free(next);
    return fine;
}

/* ---- works without a time ---- */

/* They are listed if no time is requested, and if other activities give their device. */
static bool add_untimed(work_maker *m)
{
    gpu_scope *s = m->s;
    size_t count = (size_t)s->launches->works_without_time;
    s->untimed = hd_large_new(count + 1, sizeof *s->untimed, s->large);
    for (size_t i = 0; s->untimed && i < count; i++) {
        const hd_work *work = &s->launches->untimed[i];
        uint32_t lane = gpu_lane_of(s->trace, work->track), row = lane == HD_NONE ? HD_NONE : m->row_of[lane];
        bool counts = row != HD_NONE && (work->launch != HD_NONE || !s->options->linked) && m->wanted[work->track] &&
                      name_passes(m, work->name) && !s->has_from && !s->has_until;
        s->untimed[i] = (gpu_work){.launch = work->launch,
                                   .origin = origin_of(work),
                                   .row = row,
                                   .device = counts ? s->rows[row].stands_on : HD_NONE,
                                   .step = HD_NONE,
                                   .class = (uint8_t)gpu_class_of(&m->classes, work),
                                   .role = (uint8_t)work->role};
    }
    return s->untimed != NULL;
}

/* ---- the whole ---- */

static bool make_works(work_maker *m)
{
    gpu_scope *s = m->s;
    size_t tracks = hd_trace_track_count(s->trace), strings = (size_t)hd_trace_string_count(s->trace) + 1;
    m->names = calloc(strings, 1);
    m->row_of = malloc((tracks + 1) * sizeof *m->row_of);
    m->first_linked = malloc((tracks + 1) * sizeof *m->first_linked);
    s->rows = calloc(tracks + 1, sizeof *s->rows);
    s->works = hd_large_new(s->launches->work_count + 1, sizeof *s->works, s->large);
    if (!m->names || !m->row_of || !m->first_linked || !s->rows || !s->works ||
        !gpu_classes_init(&m->classes, s->trace, s->launches))
        return false;
    for (size_t t = 0; t < tracks; t++) {
        m->row_of[t] = HD_NONE;
        m->first_linked[t] = INT64_MAX;
    }
    for (size_t i = 0; i < s->launches->work_count; i++) add_work(m, &s->works[i], &s->launches->works[i]);
    tell_rows(m);
    if (!find_before(m) || !find_devices(s) || !order_works(s) || !gpu_recorded_find(s)) return false;
    return add_untimed(m);
}

static void set_steps_of(gpu_scope *s, gpu_work *works, size_t count)
{
    gpu_step_hint hint = {0};
    for (size_t i = 0; i < count; i++) {
        gpu_work *work = &works[i];
        if (work->device == HD_NONE || work->launch == HD_NONE) continue;
        const hd_launch *launch = &s->launches->launches[work->launch];
        work->step = gpu_step_near(s, &hint, launch->track, launch->start_ns);
    }
}

static hd_status borrow(gpu_scope *s, const gpu_scope *lender, const gpu_options *options, unsigned by, hd_error *err)
{
    *s = *lender;
    s->lender = lender;
    s->options = options;
    s->own_launches = NULL;
    s->annotations = (gpu_slices){0};
    s->steps = NULL;
    s->step_count = 0;
    s->changes = NULL;
    s->change_count = 0;
    s->changes_of = NULL;
    s->step_source = NULL;
    s->steps_are_lent = false;
    HD_TRY(read_by(&s->by, options->by, by, err));
    return s->by & GPU_BY_STEP ? gpu_steps_find(s, err) : HD_OK;
}

hd_status gpu_scope_init(gpu_scope *s, const hd_report_input *input, const gpu_options *options, unsigned by,
                         hd_error *err)
{
    if (input->scope) return borrow(s, input->scope, options, by, err);
    work_maker m = {.s = s};
    const hd_trace *trace = input->trace;
    *s = (gpu_scope){
        .trace = trace, .options = options, .large = hd_trace_large_bytes(trace), .launches = input->launches};
    size_t tracks = (size_t)hd_trace_track_count(trace) + 1;
    s->ranks = calloc(tracks, sizeof *s->ranks);
    s->has_rank = calloc(tracks, sizeof *s->has_rank);
    m.wanted = calloc(tracks, sizeof *m.wanted);
    hd_status status = s->ranks && s->has_rank && m.wanted ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = read_by(&s->by, options->by, by, err);
    if (status == HD_OK) status = read_window(s, err);
    if (status == HD_OK) status = choose_tracks(m.wanted, s, err);
    if (status == HD_OK) status = filter_list_init(&m.filter, options->names, "names", err);
    if (status == HD_OK && !s->launches) {
        status = hd_launches_new(&s->own_launches, trace, err);
        s->launches = s->own_launches;
    }
    hd_say_percent(input->progress, input->progress_user, GPU_LAUNCHES_DONE);
    if (status == HD_OK && !make_works(&m)) status = HD_NOMEM(err);
    hd_say_percent(input->progress, input->progress_user, GPU_SCOPE_DONE);
    if (status == HD_OK && options->steps) status = choose_steps(s, err);
    if (status == HD_OK && s->by & GPU_BY_STEP) status = gpu_steps_find(s, err);
    if (status == HD_OK && s->by & GPU_BY_STEP) {
        set_steps_of(s, s->works, s->launches->work_count);
        set_steps_of(s, s->untimed, (size_t)s->launches->works_without_time);
    }
    filter_list_deinit(&m.filter);
    gpu_classes_deinit(&m.classes);
    free(m.wanted);
    free(m.names);
    free(m.row_of);
    free(m.first_linked);
    return status;
}

uint32_t gpu_work_at(const gpu_scope *s, uint32_t row)
{
    size_t low = 0, high = s->launches->work_count;
    HD_PARTITION_POINT(low, high, at, s->launches->works[at].row < row);
    return (uint32_t)low;
}

void gpu_scope_deinit(gpu_scope *s)
{
    gpu_slices_deinit(&s->annotations);
    if (!s->steps_are_lent) {
        hd_large_free(s->steps);
        hd_large_free(s->changes);
        free(s->changes_of);
    }
    if (!s->lender) {
        hd_launches_free(s->own_launches);
        free(s->ranks);
        free(s->has_rank);
        free(s->rows);
        gpu_recorded_deinit(s);
        free(s->devices);
        hd_large_free(s->works);
        hd_large_free(s->untimed);
        hd_large_free(s->order);
        hd_large_free(s->by_row);
    }
    *s = (gpu_scope){0};
}
