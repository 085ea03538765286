/* table.c - a table with times as derived tracks: slices if it has starts and durations, else a counter
 *
 * Rows      one track for each combination of the columns that give a place: process, rank, device,
 *           stream, row
 * Slices    columns `start` and `duration`; named by `name`, else by the first text that is none of the above
 * Counter   columns `time` and that of the values: a value is valid until the next one
 * Left out  rows without a time, a length or a value
 */
#include "view/derive/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "trace/spill.h"
#include "view/derive/derive.h"

enum { PLACES = 5, TRACKS = 256, TRACKS_IN_ALL = 4096, TITLE_BYTES = 200 };
static const char *const place_columns[PLACES] = {"process", "rank", "device", "stream", "row"};
enum { PLACE_RANK = 1, PLACE_DEVICE, PLACE_STREAM, PLACE_ROW };

typedef struct table_row {
    int64_t start_ns, end_ns;
    double value;
    uint32_t group, row;
} table_row;

typedef struct table_maker {
    view_scene *scene;
    const view_table_about *about;
    const hd_table *table;
    view_devices devices;
    bool is_counter;
    size_t start, duration, value, name; /* columns, SIZE_MAX: none */
    size_t places[PLACES];
    table_row *rows;
    size_t row_count, row_capacity;
    uint32_t groups[TRACKS]; /* the first row of each */
    uint32_t group_count;
    uint64_t left_out;
} table_maker;

/* ---- columns ---- */

static bool is_number(hd_value_type type)
{
    return type != HD_VALUE_STRING && type != HD_VALUE_BOOL;
}

/* Signed ns, also for a table that does not distinguish times from numbers. */
static bool is_ns(const hd_table *table, size_t column)
{
    if (column == SIZE_MAX) return false;
    hd_value_type type = hd_table_get_column(table, column)->type;
    return type == HD_VALUE_TIME || type == HD_VALUE_DURATION || type == HD_VALUE_INT;
}

static bool is_place(const table_maker *m, size_t column)
{
    for (int i = 0; i < PLACES; i++) {
        if (m->places[i] == column) return true;
    }
    return false;
}

/* A step is also a place: it names slices only if nothing else does. */
static size_t find_name(const table_maker *m)
{
    size_t found = hd_table_find_column(m->table, "name"), step = hd_table_find_column(m->table, "step");
    for (size_t c = 0; c < hd_table_column_count(m->table) && found == SIZE_MAX; c++) {
        if (hd_table_get_column(m->table, c)->type == HD_VALUE_STRING && c != step && !is_place(m, c)) found = c;
    }
    return found == SIZE_MAX ? step : found;
}

static hd_status find_columns(table_maker *m, hd_error *err)
{
    const hd_table *table = m->table;
    for (int i = 0; i < PLACES; i++) m->places[i] = hd_table_find_column(table, place_columns[i]);
    m->start = hd_table_find_column(table, "start");
    m->duration = hd_table_find_column(table, "duration");
    m->name = find_name(m);
    if (is_ns(table, m->start) && is_ns(table, m->duration)) return HD_OK;
    m->is_counter = true;
    m->start = hd_table_find_column(table, "time");
    m->value = m->about->value ? hd_table_find_column(table, m->about->value) : SIZE_MAX;
    if (is_ns(table, m->start) && m->value != SIZE_MAX && is_number(hd_table_get_column(table, m->value)->type))
        return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "table %s has neither `start` and `duration` nor `time` and a value: it cannot be a track",
                        hd_table_name(table));
}

/* ---- rows ---- */

static double number_of(const hd_table *table, size_t row, size_t column)
{
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_DECIMAL: return hd_table_get_decimal(table, row, column);
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: return (double)hd_table_get_count(table, row, column);
    case HD_VALUE_BOOL: return hd_table_get_bool(table, row, column);
    default: return (double)hd_table_get_int(table, row, column);
    }
}

static bool same_cell(const hd_table *table, uint32_t a, uint32_t b, size_t column)
{
    size_t size, other;
    if (column == SIZE_MAX) return true;
    bool is_null = hd_table_is_null(table, a, column);
    if (is_null || hd_table_is_null(table, b, column)) return is_null && hd_table_is_null(table, b, column);
    if (hd_table_get_column(table, column)->type != HD_VALUE_STRING)
        return number_of(table, a, column) == number_of(table, b, column);
    const char *x = hd_table_get_string(&size, table, a, column), *y = hd_table_get_string(&other, table, b, column);
    return size == other && memcmp(x, y, size) == 0;
}

static bool same_group(const table_maker *m, uint32_t a, uint32_t b)
{
    for (int i = 0; i < PLACES; i++) {
        if (!same_cell(m->table, a, b, m->places[i])) return false;
    }
    return true;
}

/* The group of the previous row is tried first: rows of a place are usually adjacent. */
static hd_status find_group(uint32_t *out, table_maker *m, uint32_t row, hd_error *err)
{
    uint32_t last = m->row_count ? m->rows[m->row_count - 1].group : 0;
    for (uint32_t i = 0; i < m->group_count; i++) {
        *out = (last + i) % m->group_count;
        if (same_group(m, m->groups[*out], row)) return HD_OK;
    }
    if (m->group_count == TRACKS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "table %s would be more than %d tracks",
                            hd_table_name(m->table), TRACKS);
    *out = m->group_count++;
    m->groups[*out] = row;
    return HD_OK;
}

static hd_status add_row(table_maker *m, uint32_t row, hd_error *err)
{
    const hd_table *table = m->table;
    size_t other = m->is_counter ? m->value : m->duration;
    int64_t length = 0;
    table_row made = {.row = row};
    bool has_all = !hd_table_is_null(table, row, m->start) && !hd_table_is_null(table, row, other);
    if (has_all && !m->is_counter) length = hd_table_get_int(table, row, other);
    if (!has_all || length < 0) {
        m->left_out++;
        return HD_OK;
    }
    HD_TRY(find_group(&made.group, m, row, err));
    made.start_ns = hd_table_get_int(table, row, m->start);
    if (__builtin_add_overflow(made.start_ns, length, &made.end_ns)) made.end_ns = INT64_MAX;
    if (m->is_counter) made.value = number_of(table, row, other);
    if (!hd_large_grow((void **)&m->rows, &m->row_capacity, m->row_count, sizeof *m->rows, m->devices.large))
        return HD_NOMEM(err);
    m->rows[m->row_count++] = made;
    return HD_OK;
}

static int by_group_and_time(const void *a, const void *b)
{
    const table_row *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static hd_status read_rows(table_maker *m, hd_error *err)
{
    size_t count = hd_table_row_count(m->table);
    if (count >= HD_NONE)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "table %s has too many rows for a track",
                            hd_table_name(m->table));
    for (size_t row = 0; row < count; row++) HD_TRY(add_row(m, (uint32_t)row, err));
    bool fine = hd_large_sort(m->rows, m->row_count, sizeof *m->rows, by_group_and_time, m->devices.large);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the order and names of tracks ---- */

static int64_t place_of(const table_maker *m, uint32_t row, int place)
{
    size_t column = m->places[place];
    if (column == SIZE_MAX || !is_ns(m->table, column) || hd_table_is_null(m->table, row, column)) return HD_NO_NUMBER;
    return hd_table_get_int(m->table, row, column);
}

/* The section of its device, else of the process of its rank; HD_NONE: above all of them. */
static hd_status find_section(uint32_t *out, const table_maker *m, uint32_t row, hd_error *err)
{
    int64_t rank = place_of(m, row, PLACE_RANK), number = place_of(m, row, PLACE_DEVICE);
    *out = HD_NONE;
    for (size_t i = 0; number != HD_NO_NUMBER && i < m->devices.count; i++) {
        const view_device *device = &m->devices.list[i];
        bool same_rank = rank == device->rank || rank == HD_NO_NUMBER || device->rank == HD_NO_NUMBER;
        if (device->device == number && same_rank) return view_device_section(out, m->scene, device, err);
    }
    for (uint32_t i = 0; rank != HD_NO_NUMBER && i < view_scene_track_count(m->scene); i++) {
        const view_track *track = view_scene_track(m->scene, i);
        if (track->kind != VIEW_SECTION || track->rank != rank || track->parent != HD_NONE) continue;
        *out = i;
        return HD_OK;
    }
    return HD_OK;
}

/* "queue length, stream 7": with the part that is unique in its section. */
static void title_of(char *out, const table_maker *m, uint32_t row, bool in_section)
{
    int size = snprintf(out, TITLE_BYTES, "%s", m->about->title);
    for (int i = 0; i < PLACES && size < TITLE_BYTES; i++) {
        size_t column = m->places[i], length;
        if (column == SIZE_MAX || hd_table_is_null(m->table, row, column)) continue;
        if (in_section && (i == PLACE_RANK || i == PLACE_DEVICE)) continue;
        if (i == PLACE_ROW && place_of(m, row, PLACE_STREAM) != HD_NO_NUMBER) continue;
        size_t room = (size_t)(TITLE_BYTES - size);
        if (hd_table_get_column(m->table, column)->type == HD_VALUE_STRING) {
            const char *text = hd_table_get_string(&length, m->table, row, column);
            size += snprintf(out + size, room, ", %s %.*s", place_columns[i], (int)(length < 80 ? length : 80), text);
        } else {
            size += snprintf(out + size, room, ", %s %lld", place_columns[i],
                             (long long)hd_table_get_int(m->table, row, column));
        }
    }
}

static hd_status begin_track(view_track *out, const table_maker *m, uint32_t row, hd_error *err)
{
    char title[TITLE_BYTES];
    uint32_t section;
    HD_TRY(find_section(&section, m, row, err));
    title_of(title, m, row, section != HD_NONE);
    if (!view_derived_track(out, m->is_counter ? VIEW_COUNTER : VIEW_SLICES, VIEW_TABLE_ROLE, title, m->about->detail,
                            VIEW_PLACE_TABLE))
        return HD_NOMEM(err);
    out->parent = section;
    out->rank = place_of(m, row, PLACE_RANK);
    out->device = place_of(m, row, PLACE_DEVICE);
    out->stream = place_of(m, row, PLACE_STREAM);
    return HD_OK;
}

/* ---- tracks ---- */

static uint32_t name_of(const table_maker *m, uint32_t row)
{
    size_t size;
    if (m->name == SIZE_MAX || hd_table_get_column(m->table, m->name)->type != HD_VALUE_STRING)
        return view_scene_name(m->scene, m->about->title, strlen(m->about->title));
    if (hd_table_is_null(m->table, row, m->name)) return view_scene_name(m->scene, "not known", 9);
    const char *text = hd_table_get_string(&size, m->table, row, m->name);
    return view_scene_name(m->scene, text, size);
}

static hd_status add_slices(view_track *track, const table_maker *m, const table_row *rows, size_t count, hd_error *err)
{
    view_slices slices = {.large = m->devices.large};
    for (size_t i = 0; i < count; i++) {
        view_slice slice = {.start_ns = rows[i].start_ns, .end_ns = rows[i].end_ns, .name = name_of(m, rows[i].row)};
        slice.row = rows[i].row;
        if (slice.name != HD_NONE && view_slices_add(&slices, slice)) continue;
        hd_large_free(slices.list);
        return HD_NOMEM(err);
    }
    return view_derived_rows(track, &slices, err);
}

static hd_status add_series(view_track *track, const table_maker *m, const table_row *rows, size_t count, hd_error *err)
{
    const hd_table_column *column = hd_table_get_column(m->table, m->value);
    view_series *series = track->series = calloc(1, sizeof *series);
    if (!series) return HD_NOMEM(err);
    track->series_count = 1;
    series->name = view_scene_name(m->scene, column->name, strlen(column->name));
    series->unit = column->type == HD_VALUE_BYTES ? "bytes" : column->type == HD_VALUE_DURATION ? "ns" : "";
    series->count = count;
    series->times_ns = malloc(count * sizeof *series->times_ns);
    series->values = malloc(count * sizeof *series->values);
    if (series->name == HD_NONE || !series->times_ns || !series->values) return HD_NOMEM(err);
    series->min = series->max = rows[0].value;
    for (size_t i = 0; i < count; i++) {
        series->times_ns[i] = rows[i].start_ns;
        series->values[i] = rows[i].value;
        if (rows[i].value < series->min) series->min = rows[i].value;
        if (rows[i].value > series->max) series->max = rows[i].value;
    }
    track->event_count = count;
    track->start_ns = rows[0].start_ns;
    track->end_ns = rows[count - 1].start_ns;
    return HD_OK;
}

/* At least one. */
static hd_status make_tracks(view_track *tracks, size_t *out_count, const table_maker *m, hd_error *err)
{
    for (size_t i = 0, next; i < m->row_count; i = next) {
        for (next = i + 1; next < m->row_count && m->rows[next].group == m->rows[i].group;) next++;
        view_track *track = &tracks[*out_count];
        HD_TRY(begin_track(track, m, m->groups[m->rows[i].group], err));
        ++*out_count;
        HD_TRY((m->is_counter ? add_series : add_slices)(track, m, &m->rows[i], next - i, err));
    }
    if (*out_count) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "table %s has no row with a time",
                        hd_table_name(m->table));
}

hd_status view_made_tracks_find(view_table_tracks *out, const view_scene *scene, const char *role, const char *detail,
                                hd_error *err)
{
    size_t capacity = 0;
    *out = (view_table_tracks){0};
    for (uint32_t i = 0; i < view_scene_track_count(scene); i++) {
        const view_track *track = view_scene_track(scene, i);
        if (strcmp(track->role, role) != 0 || (detail && strcmp(track->detail, detail) != 0)) continue;
        if (!hd_grow((void **)&out->ids, &capacity, out->count, sizeof *out->ids)) {
            free(out->ids);
            *out = (view_table_tracks){0};
            return HD_NOMEM(err);
        }
        out->ids[out->count++] = i;
    }
    return HD_OK;
}

/* Tracks requested by a client stay as long as the scene. */
static hd_status look_for_room(const view_scene *scene, hd_error *err)
{
    view_table_tracks made;
    HD_TRY(view_made_tracks_find(&made, scene, VIEW_TABLE_ROLE, NULL, err));
    free(made.ids);
    if (made.count + TRACKS <= TRACKS_IN_ALL) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "%zu tracks were made of tables already: start heddle view again", made.count);
}

static hd_status add_tracks(view_table_tracks *out, table_maker *m, hd_error *err)
{
    view_track *tracks = calloc(TRACKS, sizeof *tracks);
    size_t count = 0;
    hd_status status = tracks ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = look_for_room(m->scene, err);
    if (status == HD_OK) status = find_columns(m, err);
    if (status == HD_OK) status = read_rows(m, err);
    if (status == HD_OK) status = make_tracks(tracks, &count, m, err);
    if (status == HD_OK)
        status = view_scene_add(m->scene, tracks, count, err);
    else
        while (count) view_track_deinit(&tracks[--count]);
    free(tracks);
    return status == HD_OK ? view_made_tracks_find(out, m->scene, VIEW_TABLE_ROLE, m->about->detail, err) : status;
}

hd_status view_derive_table(view_table_tracks *out, view_scene *scene, const hd_table *table,
                            const view_table_about *about, hd_error *err)
{
    table_maker m = {.scene = scene, .table = table, .about = about};
    *out = (view_table_tracks){0};
    HD_TRY(view_devices_find(&m.devices, scene, err));
    m.devices.large = hd_trace_large_bytes(view_scene_trace(scene));
    hd_status status = add_tracks(out, &m, err);
    out->left_out = m.left_out;
    hd_large_free(m.rows);
    view_devices_deinit(&m.devices);
    return status;
}
