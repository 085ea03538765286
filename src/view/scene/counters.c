/* counters.c - counter tracks: samples of one process, name and id; each numeric argument is a series
 *
 * A sample without a numeric argument is on the track as well, but in no series. Beyond TRACK_LIMIT tracks the
 * remaining samples of each process share one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/flows/bind.h"
#include "trace/event.h"
#include "trace/text.h"
#include "view/scene/impl.h"

enum { TRACK_LIMIT = 16384 };

typedef struct counter_point {
    int64_t id, start_ns;
    uint32_t process, name, id_type, row;
    uint32_t name_place, id_place; /* rows of the first samples with that name, and with that text as id: ids of texts
                                      differ from run to run */
} counter_point;

typedef struct counter_maker {
    view_scene *scene;
    counter_point *points;
    size_t point_count;
    view_track *tracks;
    size_t track_count, track_capacity;
    uint32_t *event_tracks;
    size_t *capacities; /* of the series of the track that is made */
    size_t capacity_capacity;
} counter_maker;

/* ---- samples ---- */

static void add_point(counter_maker *m, const hd_event *event)
{
    const view_scene *scene = m->scene;
    if (event->start_ns == HD_NO_TIME) return;
    hd_point_id id = hd_point_id_of(scene->trace, event->id_type, event->id);
    uint32_t process = event->track;
    if (process < scene->source_count) {
        const hd_track *track = hd_trace_track_at(scene->trace, process);
        if (track->kind != HD_TRACK_PROCESS) process = track->parent;
    }
    m->points[m->point_count++] = (counter_point){
        .id = id.type ? id.value : 0,
        .start_ns = event->start_ns,
        .process = process < scene->source_count ? scene_leader(scene->trace, process) : HD_NONE,
        .name = event->name,
        .id_type = id.type,
        .row = (uint32_t)event->row,
    };
}

static void read_points(counter_maker *m)
{
    const hd_trace *trace = m->scene->trace;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_COUNTER); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_COUNTER, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            add_point(m, &event);
        }
    }
}

/* Points are in the order of their rows. */
static bool place_points(counter_maker *m)
{
    uint32_t count = hd_trace_string_count(m->scene->trace);
    uint32_t *names = calloc(2 * ((size_t)count + 1), sizeof *names), *ids = names + count + 1;
    if (!names) return false;
    for (size_t i = 0; i < m->point_count; i++) {
        counter_point *p = &m->points[i];
        uint32_t *name = &names[p->name < count ? p->name : count];
        if (!*name) *name = p->row + 1;
        p->name_place = *name;
        if ((p->id_type & 3) != 2 || (uint64_t)p->id >= count) continue;
        if (!ids[p->id]) ids[p->id] = p->row + 1;
        p->id_place = ids[p->id];
    }
    free(names);
    return true;
}

static int by_counter(const counter_point *x, const counter_point *y)
{
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->name_place != y->name_place) return x->name_place < y->name_place ? -1 : 1;
    if (x->id_type != y->id_type) return x->id_type < y->id_type ? -1 : 1;
    if (x->id_place != y->id_place) return x->id_place < y->id_place ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_counter_and_time(const void *a, const void *b)
{
    const counter_point *x = a, *y = b;
    int order = by_counter(x, y);
    if (order) return order;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void limit_tracks(counter_maker *m)
{
    size_t tracks = 0;
    counter_point before = {0};
    for (size_t i = 0; i < m->point_count; i++) {
        counter_point *p = &m->points[i];
        if (i == 0 || by_counter(&before, p) != 0) tracks++;
        before = *p;
        if (tracks <= TRACK_LIMIT) continue;
        p->name = p->name_place = HD_NONE;
        p->id_place = 0;
        p->id = p->id_type = 0;
    }
    if (tracks > TRACK_LIMIT) hd_sort(m->points, m->point_count, sizeof *m->points, by_counter_and_time);
}

/* ---- series ---- */

static view_series *series_of(counter_maker *m, view_track *track, uint32_t name, hd_error *err)
{
    for (uint32_t s = 0; s < track->series_count; s++) {
        if (track->series[s].name == name) return &track->series[s];
    }
    size_t capacity = track->series_count; /* few: grown one by one */
    view_series *list = realloc(track->series, (capacity + 1) * sizeof *list);
    if (list) track->series = list;
    if (!list || !hd_grow((void **)&m->capacities, &m->capacity_capacity, capacity, sizeof *m->capacities)) {
        HD_NOMEM(err);
        return NULL;
    }
    m->capacities[capacity] = 0;
    list[capacity] = (view_series){.name = name, .unit = ""};
    return &list[track->series_count++];
}

static bool add_sample(counter_maker *m, view_track *track, view_series *series, const counter_point *p, double value)
{
    size_t *capacity = &m->capacities[series - track->series];
    if (series->count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 8;
        int64_t *times = realloc(series->times_ns, more * sizeof *times);
        if (times) series->times_ns = times;
        double *values = realloc(series->values, more * sizeof *values);
        if (values) series->values = values;
        uint32_t *rows = realloc(series->rows, more * sizeof *rows);
        if (rows) series->rows = rows;
        if (!times || !values || !rows) return false;
        *capacity = more;
    }
    if (series->count == 0 || value < series->min) series->min = value;
    if (series->count == 0 || value > series->max) series->max = value;
    series->times_ns[series->count] = p->start_ns;
    series->values[series->count] = value;
    series->rows[series->count++] = p->row;
    return true;
}

/* A series "used" of a counter "Memory" is in bytes; "memory_busy_percent", or "clock" of "Memory", is not. */
static const char *unit_of(hd_string series, hd_string counter)
{
    static const char *const bytes[] = {"bytes", "Bytes", NULL};
    static const char *const sizes[] = {"Memory", "memory", "Allocated", "allocated", NULL};
    static const char *const others[] = {"percent", "Percent", "%",     "util", "Util",        "clock",
                                         "Clock",   "freq",    "Freq",  "Temp", "temperature", "ratio",
                                         "Ratio",   "count",   "Count", "busy", "Busy",        NULL};
    hd_string names[] = {series, counter};
    for (size_t i = 0; i < 2; i++) {
        if (hd_string_holds_any(names[i], bytes)) return "bytes";
        if (hd_string_holds_any(names[i], others)) return "";
        if (hd_string_holds_any(names[i], sizes)) return "bytes";
    }
    return "";
}

static hd_status add_samples(counter_maker *m, view_track *track, const counter_point *p, hd_error *err)
{
    const hd_trace *trace = m->scene->trace;
    hd_event event = hd_event_at(trace, HD_KIND_COUNTER, p->row);
    const hd_shape *shape = hd_trace_shape_at(trace, event.shape);
    for (uint32_t k = 0; event.args && k < shape->key_count; k++) {
        double value;
        hd_value bits = {(hd_arg_type)shape->keys[k].type, hd_column_at(&event.args->columns[k], event.args_row)};
        if (shape->keys[k].scope != HD_SCOPE_ARGS || !hd_value_double(&value, trace, bits)) continue;
        view_series *series = series_of(m, track, shape->keys[k].key, err);
        if (!series) return HD_ERR_MEMORY;
        if (!add_sample(m, track, series, p, value)) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* ---- tracks ---- */

static bool name_track(view_track *track, const hd_trace *trace, const counter_point *p)
{
    hd_string text = p->name == HD_NONE ? (hd_string){"further counters", 16} : hd_trace_string(trace, p->name);
    char id[32] = "";
    hd_string id_text = {id, 0};
    if ((p->id_type & 3) == 1)
        id_text.size = (size_t)snprintf(id, sizeof id, "%lld", (long long)p->id);
    else if ((p->id_type & 3) == 2)
        id_text = hd_trace_string(trace, (uint32_t)p->id);
    track->name = malloc(text.size + id_text.size + 4);
    if (!track->name) return false;
    memcpy(track->name, text.data, text.size);
    track->name_size = text.size;
    if (id_text.size) {
        memcpy(track->name + text.size, " [", 2);
        memcpy(track->name + text.size + 2, id_text.data, id_text.size);
        track->name[text.size + 2 + id_text.size] = ']';
        track->name_size += id_text.size + 3;
    }
    track->name[track->name_size] = '\0';
    return true;
}

static hd_status add_track(counter_maker *m, const counter_point *points, size_t count, hd_error *err)
{
    const hd_trace *trace = m->scene->trace;
    uint32_t number = view_scene_track_count(m->scene) + (uint32_t)m->track_count;
    if (!hd_grow((void **)&m->tracks, &m->track_capacity, m->track_count, sizeof *m->tracks)) return HD_NOMEM(err);
    view_track *track = &m->tracks[m->track_count++];
    *track = (view_track){.parent = scene_section_of(m->scene, points->process),
                          .kind = VIEW_COUNTER,
                          .role = "counter",
                          .source = HD_NONE,
                          .events = HD_KIND_COUNTER,
                          .event_count = count,
                          .start_ns = points[0].start_ns,
                          .end_ns = points[count - 1].start_ns,
                          .busy_ns = HD_NO_TIME};
    track->rank = track->device = track->stream = HD_NO_NUMBER;
    track->order = VIEW_ORDER_COUNTERS + (int64_t)m->track_count;
    if (!name_track(track, trace, points)) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        m->event_tracks[points[i].row] = number;
        HD_TRY(add_samples(m, track, &points[i], err));
    }
    hd_string name = {track->name, track->name_size};
    for (uint32_t s = 0; s < track->series_count; s++) {
        view_series *series = &track->series[s];
        series->unit = unit_of(hd_trace_string(trace, series->name), name);
    }
    return HD_OK;
}

static hd_status make_counters(counter_maker *m, size_t rows, hd_error *err)
{
    m->points = malloc(rows * sizeof *m->points);
    m->event_tracks = malloc(rows * sizeof *m->event_tracks);
    if (!m->points || !m->event_tracks) return HD_NOMEM(err);
    for (size_t i = 0; i < rows; i++) m->event_tracks[i] = HD_NONE;
    read_points(m);
    if (!place_points(m)) return HD_NOMEM(err);
    hd_sort(m->points, m->point_count, sizeof *m->points, by_counter_and_time);
    limit_tracks(m);
    for (size_t i = 0, next; i < m->point_count; i = next) {
        for (next = i + 1; next < m->point_count && by_counter(&m->points[i], &m->points[next]) == 0;) next++;
        HD_TRY(add_track(m, &m->points[i], next - i, err));
    }
    size_t count = m->track_count;
    m->track_count = 0;
    HD_TRY(view_scene_add(m->scene, m->tracks, count, err));
    atomic_store(&m->scene->event_tracks[HD_KIND_COUNTER], m->event_tracks);
    m->event_tracks = NULL;
    return HD_OK;
}

hd_status scene_add_counters(view_scene *scene, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(scene->trace, HD_KIND_COUNTER);
    counter_maker m = {.scene = scene};
    if (rows == 0) return HD_OK;
    if (rows >= UINT32_MAX) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "2^32 samples of counters");
    hd_status status = make_counters(&m, (size_t)rows, err);
    for (size_t i = 0; i < m.track_count; i++) view_track_deinit(&m.tracks[i]);
    free(m.tracks);
    free(m.points);
    free(m.event_tracks);
    free(m.capacities);
    return status;
}
