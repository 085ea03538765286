/* test_scene.c - scenes of random traces: every event on exactly one track, rows without overlaps, readers beside the
 * worker */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/builder.h"
#include "random_trace.h"
#include "rounds.h"
#include "view/route/tiles.h"
#include "view/rows/impl.h"
#include "view/tile/tile.h"

/* ---- random traces ---- */

static hd_row random_row(hd_builder *builder, uint64_t *seed)
{
    static const struct {
        hd_kind kind;
        char phase;
    } kinds[] = {{HD_KIND_SLICE, 'X'},   {HD_KIND_SLICE, 'X'}, {HD_KIND_SLICE, 'B'},  {HD_KIND_END, 'E'},
                 {HD_KIND_INSTANT, 'i'}, {HD_KIND_ASYNC, 'b'}, {HD_KIND_ASYNC, 'e'},  {HD_KIND_ASYNC, 'n'},
                 {HD_KIND_ASYNC, 'S'},   {HD_KIND_ASYNC, 'F'}, {HD_KIND_SAMPLE, 'P'}, {HD_KIND_COUNTER, 'C'}};
    static const char *const names[] = {"a", "b", "c", "", "kernel"};
    uint32_t which = random_next(seed) % 24;
    hd_row row = hd_row_of(kinds[which < 12 ? which : 0].kind, kinds[which < 12 ? which : 0].phase);
    if (random_next(seed) % 40) row.track = hd_builder_thread(builder, random_next(seed) % 3, random_next(seed) % 4);
    row.name = hd_builder_intern_text(builder, names[random_next(seed) % 5]);
    if (random_next(seed) % 30) row.start_ns = random_next(seed) % 3000;
    uint32_t length = random_next(seed) % 8;
    if (row.kind == HD_KIND_SLICE && row.phase == 'X')
        row.duration_ns = length == 0   ? HD_NO_TIME
                          : length == 1 ? -3
                          : length < 4  ? 0
                                        : (int64_t)(random_next(seed) % (length * 60));
    if (row.kind == HD_KIND_ASYNC) {
        row.id_type = HD_ID_INT;
        row.id = random_next(seed) % 5;
    }
    if (row.kind == HD_KIND_COUNTER) {
        hd_arg_key keys[2] = {{.key = hd_builder_intern_text(builder, "value"), .type = HD_ARG_INT},
                              {.key = hd_builder_intern_text(builder, "text"), .type = HD_ARG_STRING}};
        row.shape = hd_builder_shape(builder, keys, 2, true);
    }
    return row;
}

static hd_trace *random_scene_trace(uint64_t seed, uint32_t events)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    for (uint32_t i = 0; i < events; i++) {
        hd_row row = random_row(builder, &seed);
        int64_t values[2] = {i, hd_builder_intern_text(builder, "no number")};
        assert_int_equal(hd_batch_add(batch, &row, values, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    return trace;
}

static view_scene *scene_of(uint64_t seed, uint32_t events)
{
    view_scene *scene;
    assert_int_equal(view_scene_new(&scene, random_scene_trace(seed, events), NULL), HD_OK);
    return scene;
}

/* ---- every event has its place ---- */

/* Where the rows of a kind are drawn: seen[row] counts. */
static void count_drawn(const view_scene *scene, hd_kind kind, uint8_t *seen)
{
    for (uint32_t t = 0; t < view_scene_track_count(scene); t++) {
        const view_track *track = view_scene_track(scene, t);
        if (track->kind != VIEW_SLICES || track->events != kind || track->derived) continue;
        assert_int_equal(track->ready, 1);
        for (uint32_t r = 0; r < track->rows.count; r++) {
            const view_row *row = &track->rows.rows[r];
            view_slice slice, before = {.end_ns = INT64_MIN};
            for (uint64_t i = 0; i < row->count; i++, before = slice) {
                assert_int_equal(view_row_read(&slice, row, view_scene_trace(scene), i, 1), 1);
                assert_true(slice.start_ns >= before.end_ns && slice.end_ns >= slice.start_ns);
                assert_int_equal(view_scene_track_of_event(scene, kind, slice.row), t);
                seen[slice.row]++;
            }
        }
    }
}

static uint64_t check_kind(const view_scene *scene, hd_kind kind)
{
    const hd_trace *trace = view_scene_trace(scene);
    uint64_t rows = hd_trace_row_count(trace, kind), drawn = 0;
    uint8_t *seen = calloc(rows + 1, 1);
    count_drawn(scene, kind, seen);
    for (uint64_t r = 0; r < rows; r++) {
        uint32_t within;
        const hd_block *block = hd_trace_block_of(&within, trace, kind, r);
        bool timed = hd_column_at(&block->columns[HD_COL_START], within) != HD_NO_TIME;
        assert_int_equal(view_scene_track_of_event(scene, kind, r) != HD_NONE, timed);
        if (kind != HD_KIND_ASYNC) assert_int_equal(seen[r], timed); /* an async end is the end of a slice */
        assert_true(seen[r] <= timed);
        drawn += seen[r];
    }
    free(seen);
    return drawn;
}

static void check_counters(const view_scene *scene)
{
    uint64_t samples = 0, series = 0, timed = 0;
    for (uint32_t t = 0; t < view_scene_track_count(scene); t++) {
        const view_track *track = view_scene_track(scene, t);
        if (track->kind != VIEW_COUNTER) continue;
        samples += track->event_count;
        for (uint32_t s = 0; s < track->series_count; s++) series += track->series[s].count;
    }
    for (uint64_t r = 0; r < hd_trace_row_count(view_scene_trace(scene), HD_KIND_COUNTER); r++)
        timed += view_scene_track_of_event(scene, HD_KIND_COUNTER, r) != HD_NONE;
    assert_int_equal(samples, timed);
    assert_int_equal(series, timed); /* "text" is not a series */
}

static void test_scene__every_event_stands_on_one_track_and_rows_do_not_overlap(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(1);
    for (uint32_t round = 0; round < 30; round++) {
        view_scene *scene = scene_of(first + round, round < 24 ? 40 * (round + 1) : 20000);
        assert_int_equal(view_scene_work(scene, NULL, NULL, NULL, NULL), HD_OK);
        check_kind(scene, HD_KIND_SLICE);
        check_kind(scene, HD_KIND_INSTANT);
        check_kind(scene, HD_KIND_SAMPLE);
        assert_true(check_kind(scene, HD_KIND_ASYNC) > 0);
        check_counters(scene);
        uint32_t count = view_scene_track_count(scene);
        const view_order *order;
        uint8_t *shown = calloc(count, 1);
        assert_int_equal(view_scene_order(&order, scene, NULL), HD_OK);
        assert_int_equal(order->count, count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t parent = view_scene_track(scene, order->ids[i])->parent;
            assert_true(parent == HD_NONE || shown[parent]);
            assert_int_equal(shown[order->ids[i]]++, 0);
        }
        view_scene_order_done(order, scene);
        free(shown);
        view_scene_free(scene);
    }
}

static void test_scene__summaries_cover_what_the_rows_cover(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(40);
    for (uint64_t seed = first; seed < first + 10; seed++) {
        view_scene *scene = scene_of(seed, 3000);
        assert_int_equal(view_scene_work(scene, NULL, NULL, NULL, NULL), HD_OK);
        for (uint32_t t = 0; t < view_scene_track_count(scene); t++) {
            const view_track *track = view_scene_track(scene, t);
            const view_row *summary;
            assert_int_equal(view_scene_summary(&summary, scene, t, NULL), HD_OK);
            if (track->kind != VIEW_SLICES) continue;
            assert_non_null(summary);
            assert_int_equal(view_row_busy(summary, view_scene_trace(scene), INT64_MIN + 1, INT64_MAX),
                             track->busy_ns == HD_NO_TIME ? 0 : track->busy_ns);
        }
        view_scene_free(scene);
    }
}

/* ---- deep and wide ---- */

static void test_scene__hundred_thousand_equal_slices_nest_and_crossing_ones_find_room(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    view_slice *slices = malloc(COUNT * sizeof *slices);
    view_rows rows;
    uint64_t moved;
    for (uint32_t i = 0; i < COUNT; i++) slices[i] = (view_slice){.start_ns = 5, .end_ns = 15, .row = i};
    assert_int_equal(view_rows_lay_out(&rows, &moved, slices, COUNT, NULL), HD_OK);
    assert_int_equal(rows.count, COUNT);
    assert_int_equal(moved, 0);
    view_rows_deinit(&rows);
    for (uint32_t i = 0; i < COUNT; i++) slices[i] = (view_slice){.start_ns = i, .end_ns = i + COUNT, .row = i};
    assert_int_equal(view_rows_lay_out(&rows, &moved, slices, COUNT, NULL), HD_OK);
    assert_int_equal(rows.count, COUNT);
    assert_int_equal(moved, COUNT - 1);
    view_rows_deinit(&rows);
    for (uint32_t i = 0; i < COUNT; i++) slices[i] = (view_slice){.start_ns = 5, .end_ns = 5, .row = i};
    assert_int_equal(view_rows_lay_out(&rows, &moved, slices, COUNT, NULL), HD_OK);
    assert_int_equal(rows.count, 1);
    view_rows_deinit(&rows);
    free(slices);
}

/* ---- requests ---- */

static hd_status ask(view_reply *reply, view_scene *scene, const char *z, const char *i, const char *tracks)
{
    view_param params[] = {{"z", z}, {"i", i}, {"tracks", tracks}};
    view_request request = {.path = "tiles", .params = params, .param_count = tracks ? 3 : 2};
    *reply = (view_reply){0};
    return view_tiles_of(reply, &request, scene, NULL);
}

static void test_scene__hostile_requests_for_tiles_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"55", "0", "0"},           {"-1", "0", "0"}, {"", "0", "0"},           {"1", "9223372036854775808", "0"},
        {"1", "0", "0-"},           {"1", "0", "-1"}, {"1", "0", "4294967296"}, {"1", "0", "0,,1"},
        {"1", "0", "1-0"},          {"1", "0", ""},   {"1", "0", NULL},         {"1x", "0", "0"},
        {"1", "0", "0-4294967295"},
    };
    view_scene *scene = scene_of(3, 500);
    view_reply reply;
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        assert_int_equal(ask(&reply, scene, bad[n][0], bad[n][1], bad[n][2]), HD_ERR_ARGUMENT);
        view_reply_deinit(&reply);
    }
    assert_int_equal(ask(&reply, scene, "20", "0", "0-2,1"), HD_OK);
    assert_memory_equal(reply.bytes.data, "HDT1\4\0\0\0", 8);
    assert_false(reply.immutable); /* not laid out */
    view_reply_deinit(&reply);
    assert_int_equal(view_scene_work(scene, NULL, NULL, NULL, NULL), HD_OK);
    assert_int_equal(ask(&reply, scene, "20", "-9223372036854775808", "0-2,1"), HD_OK);
    assert_true(reply.immutable);
    view_reply_deinit(&reply);
    view_scene_free(scene);
}

/* ---- readers beside the worker ---- */

typedef struct reader_state {
    view_scene *scene;
    atomic_bool done;
} reader_state;

static void *read_on(void *argument)
{
    reader_state *r = argument;
    for (unsigned n = 0; !atomic_load(&r->done) || n < 20; n++) {
        uint32_t count = view_scene_track_count(r->scene);
        const view_order *order;
        if (view_scene_order(&order, r->scene, NULL) != HD_OK || order->count < count) abort();
        for (uint32_t t = 0; t < count; t++) {
            hd_bytes bytes = {0};
            bool exact;
            if (view_tile_track(&bytes, &exact, r->scene, t, n % 55, 0, n & 1, NULL, NULL) != HD_OK) abort();
            if (view_scene_track(r->scene, t)->busy_ns < HD_NO_TIME) abort();
            hd_bytes_deinit(&bytes);
        }
        view_scene_order_done(order, r->scene);
    }
    return NULL;
}

static void test_scene__is_read_by_others_while_it_is_made(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(70);
    for (uint64_t seed = first; seed < first + 4; seed++) {
        reader_state reader = {.scene = scene_of(seed, 20000)};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, read_on, &reader), 0);
        assert_int_equal(view_scene_work(reader.scene, NULL, NULL, NULL, NULL), HD_OK);
        atomic_store(&reader.done, true);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        view_scene_free(reader.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene__every_event_stands_on_one_track_and_rows_do_not_overlap),
        cmocka_unit_test(test_scene__summaries_cover_what_the_rows_cover),
        cmocka_unit_test(test_scene__hundred_thousand_equal_slices_nest_and_crossing_ones_find_room),
        cmocka_unit_test(test_scene__hostile_requests_for_tiles_are_refused),
        cmocka_unit_test(test_scene__is_read_by_others_while_it_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
