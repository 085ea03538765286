/* test_route_places.c - steps, snaps, places and flows in random traces, against a look at every slice */
#include "query_maker.h"

#include "rounds.h"
#include "view/queries/flows.h"

/* ---- every slice of a scene ---- */

typedef struct known {
    view_slice slice;
    uint32_t track, depth;
} known;

typedef struct all_known {
    known *list;
    size_t count;
} all_known;

/* Events of all tracks of slices, track by track in order; each is where view_place_of says. */
static all_known know_all(const view_scene *scene)
{
    all_known all = {malloc(65536 * sizeof *all.list), 0};
    for (uint32_t t = 0; t < view_scene_track_count(scene); t++) {
        const view_track *track = view_scene_track(scene, t);
        if (track->kind != VIEW_SLICES) continue;
        assert_false(track->derived);
        size_t count;
        view_slice *slices = slices_of(scene, t, &count);
        for (size_t i = 0; i < count; i++) {
            view_place place;
            view_slice there;
            assert_true(view_place_of(&place, scene, track->events, slices[i].row));
            assert_int_equal(place.track, t);
            assert_true(place.depth < track->rows.count);
            const view_row *row = &track->rows.rows[place.depth];
            assert_int_equal(view_row_read(&there, row, view_scene_trace(scene), place.at, 1), 1);
            assert_int_equal(there.row, slices[i].row);
            assert_int_equal(view_slice_compare(&there, &slices[i]), 0);
            assert_true(all.count < 65536);
            all.list[all.count++] = (known){slices[i], t, place.depth};
        }
        free(slices);
    }
    assert_true(all.count > 50);
    return all;
}

static void open_random(maker *m, all_known *all, uint64_t *seed, random_shape shape)
{
    char *text = random_text(seed, shape);
    maker_open(m, text);
    *all = know_all(m->scene);
    free(text);
}

static const random_shape shapes[] = {
    {.events = 150, .threads = 3, .names = 4, .span = 300, .longest = 50},
    {.events = 300, .threads = 2, .names = 4, .span = 100000, .longest = 300},
    {.events = 200, .threads = 1, .names = 2, .span = 60, .longest = 4},
    {.events = 400, .threads = 2, .names = 9, .span = 500, .longest = 400},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Around the events, often at an edge of one. */
static int64_t random_time(const maker *m, const all_known *all, uint64_t *seed)
{
    const view_slice *s = &all->list[random_next(seed) % all->count].slice;
    int64_t near = random_next(seed) % 3 ? 0 : (int64_t)(random_next(seed) % 4001) - 2000;
    return (random_next(seed) % 2 ? s->start_ns : s->end_ns) + near - view_scene_start(m->scene);
}

/* ---- places ---- */

static void test_place__the_innermost_slice_at_a_time_is_the_last_that_began(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(31);
    for (size_t s = 0; s < SHAPES; s++) {
        maker m;
        all_known all;
        open_random(&m, &all, &seed, shapes[s]);
        for (int n = 0; n < 300; n++) {
            int64_t time = random_time(&m, &all, &seed) + view_scene_start(m.scene);
            uint32_t track = all.list[random_next(&seed) % all.count].track;
            const known *best = NULL;
            view_place place;
            for (size_t i = 0; i < all.count; i++) {
                const known *k = &all.list[i];
                if (k->track != track || k->slice.start_ns > time || k->slice.end_ns <= time) continue;
                if (!best || view_slice_compare(&k->slice, &best->slice) > 0) best = k;
            }
            assert_int_equal(view_place_at(&place, m.scene, track, time), best != NULL);
            if (best) assert_int_equal(place.slice.row, best->slice.row);
        }
        free(all.list);
        maker_close(&m);
    }
}

static void test_place__the_parent_is_the_next_row_up_that_is_around(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(32);
    for (size_t s = 0; s < SHAPES; s++) {
        maker m;
        all_known all;
        open_random(&m, &all, &seed, shapes[s]);
        for (size_t i = 0; i < all.count; i++) {
            const known *inner = &all.list[i], *best = NULL;
            view_place place, parent;
            if (inner->slice.end_ns == inner->slice.start_ns) continue;
            for (size_t j = 0; j < all.count; j++) {
                const known *k = &all.list[j];
                if (k->track != inner->track || k->depth >= inner->depth || k->slice.start_ns > inner->slice.start_ns ||
                    k->slice.end_ns < inner->slice.end_ns || view_slice_compare(&k->slice, &inner->slice) >= 0)
                    continue;
                if (!best || k->depth > best->depth) best = k;
            }
            assert_true(view_place_on(&place, m.scene, inner->track, inner->slice.row, inner->slice.start_ns));
            assert_int_equal(view_place_parent(&parent, m.scene, &place), best != NULL);
            if (best) assert_int_equal(parent.slice.row, best->slice.row);
        }
        free(all.list);
        maker_close(&m);
    }
}

/* ---- step ---- */

static const known *step_of(const all_known *all, uint32_t track, int64_t depth, int64_t time, int go)
{
    const known *best = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const known *k = &all->list[i];
        if (k->track != track || (depth >= 0 && k->depth != depth)) continue;
        if ((go == 0 && k->slice.start_ns <= time) || (go == 1 && k->slice.start_ns >= time)) continue;
        int order = best ? view_slice_compare(&k->slice, &best->slice) : 0;
        if (!best || (go % 2 == 0 ? order < 0 : order > 0)) best = k;
    }
    return best;
}

static void test_step__from_any_time_to_the_next_and_the_one_before(void **state)
{
    (void)state;
    static const char *const goes[] = {"next", "previous", "first", "last"};
    uint64_t seed = hd_test_seed(33);
    char query[160];
    for (size_t s = 0; s < SHAPES; s++) {
        maker m;
        all_known all;
        open_random(&m, &all, &seed, shapes[s]);
        int64_t zero = view_scene_start(m.scene);
        for (int n = 0; n < 400; n++) {
            const known *any = &all.list[random_next(&seed) % all.count];
            int64_t time = random_time(&m, &all, &seed), depth = random_next(&seed) % 2 ? (int64_t)any->depth : -1;
            int go = (int)(random_next(&seed) % 4);
            int size = snprintf(query, sizeof query, "track=%u&time=%lld&go=%s", any->track, (long long)time, goes[go]);
            if (depth >= 0) snprintf(query + size, sizeof query - (size_t)size, "&depth=%u", any->depth);
            const known *must = step_of(&all, any->track, depth, time + zero, go);
            const char *answer = maker_ask(&m, view_route_step, query);
            if (!must) {
                assert_string_equal(answer, "{}");
                continue;
            }
            assert_int_equal(number_of(answer, "row"), must->slice.row);
            assert_int_equal(number_of(answer, "depth"), must->depth);
            assert_int_equal(number_of(answer, "start"), must->slice.start_ns - zero);
            assert_int_equal(number_of(answer, "duration"), must->slice.end_ns - must->slice.start_ns);
        }
        free(all.list);
        maker_close(&m);
    }
}

/* ---- snap ---- */

static int64_t apart(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Distance to the nearest edge on some tracks; -1: there is none. */
static int64_t nearest(const all_known *all, const bool *tracks, int64_t time)
{
    int64_t best = -1;
    for (size_t i = 0; i < all->count; i++) {
        const known *k = &all->list[i];
        if (!tracks[k->track]) continue;
        if (best < 0 || apart(k->slice.start_ns, time) < best) best = apart(k->slice.start_ns, time);
        if (apart(k->slice.end_ns, time) < best) best = apart(k->slice.end_ns, time);
    }
    return best;
}

/* The answer is an edge of the event that it names. */
static void check_edge(const maker *m, const all_known *all, const bool *tracks, const char *answer, int64_t time)
{
    int64_t edge = number_of(answer, "time"), track = number_of(answer, "track"), row = number_of(answer, "row");
    bool is_end = strstr(answer, "\"edge\":\"end\"") != NULL, found = false;
    int64_t zero = view_scene_start(m->scene);
    assert_true(tracks[track]);
    for (size_t i = 0; i < all->count && !found; i++) {
        const known *k = &all->list[i];
        found =
            k->track == track && k->slice.row == row && (is_end ? k->slice.end_ns : k->slice.start_ns) == edge + zero;
    }
    assert_true(found);
    assert_int_equal(apart(edge, time), nearest(all, tracks, time + zero));
}

static void test_snap__no_edge_is_nearer_than_the_one_that_is_told(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(34);
    char query[512];
    for (size_t s = 0; s < SHAPES; s++) {
        maker m;
        all_known all;
        open_random(&m, &all, &seed, shapes[s]);
        uint32_t count = view_scene_track_count(m.scene);
        bool *tracks = calloc(count + 1, 1);
        for (int n = 0; n < 400; n++) {
            int64_t time = random_time(&m, &all, &seed), within = random_next(&seed) % 3000;
            int size = snprintf(query, sizeof query, "time=%lld&within=%lld", (long long)time, (long long)within);
            bool some = random_next(&seed) % 2;
            for (uint32_t t = 0; t < count; t++) tracks[t] = !some;
            for (int t = 0; some && t < 2; t++) {
                uint32_t track = all.list[random_next(&seed) % all.count].track;
                tracks[track] = true;
                size += snprintf(query + size, sizeof query - (size_t)size, t ? ",%u" : "&tracks=%u", track);
            }
            const char *answer = maker_ask(&m, view_route_snap, query);
            int64_t distance = nearest(&all, tracks, time + view_scene_start(m.scene));
            if (distance < 0 || distance > within)
                assert_string_equal(answer, "{}");
            else
                check_edge(&m, &all, tracks, answer, time);
        }
        free(tracks);
        free(all.list);
        maker_close(&m);
    }
}

/* ---- flows ---- */

enum { FLOW_SLICES = 120, FLOWS = 90, LINES = 512 };

typedef struct line {
    int64_t from_ns, to_ns; /* relative */
    uint32_t from, to, category;
} line;

/* Slices side by side and, in each other one, a smaller one; on three threads. */
static void slice_at(uint32_t row, uint32_t *out_thread, int64_t *out_us, int64_t *out_length)
{
    uint32_t pair = row / 2;
    *out_thread = pair % 3;
    *out_us = pair / 3 * 100 + (row % 2 ? 20 : 0);
    *out_length = row % 2 ? 30 : 90;
}

/* From a point in one random slice to points in others, of which the second, if there is one, comes from the first. */
static size_t random_flows(hd_json_out *text, line *lines, uint64_t *seed)
{
    static const char *const categories[] = {"ac2g", "fwdbwd"};
    char event[256];
    size_t count = 0;
    hd_json_put_text(text, "[");
    for (uint32_t row = 0; row < FLOW_SLICES; row++) {
        uint32_t thread;
        int64_t us, length;
        slice_at(row, &thread, &us, &length);
        snprintf(event, sizeof event, "{\"ph\":\"X\",\"name\":\"s\",\"pid\":1,\"tid\":%u,\"ts\":%d,\"dur\":%d},",
                 thread, (int)us, (int)length);
        hd_json_put_text(text, event);
    }
    for (uint32_t flow = 0; flow < FLOWS; flow++) {
        uint32_t points = 2 + random_next(seed) % 2, category = random_next(seed) % 2;
        int64_t before_ns = -1;
        uint32_t before = 0;
        for (uint32_t p = 0; p < points; p++) {
            uint32_t thread, row = random_next(seed) % FLOW_SLICES;
            int64_t us, length;
            slice_at(row, &thread, &us, &length);
            int64_t ns = us * 1000 + 500 + (row % 2 ? random_next(seed) % 29 : random_next(seed) % 19) * 1000;
            if (p && ns < before_ns && points == 3) ns = -1; /* only flows of two points run backward here */
            if (ns < 0) break;
            if (p) lines[count++] = (line){before_ns, ns, before, row, category};
            snprintf(event, sizeof event,
                     "{\"ph\":\"%c\",\"bp\":\"e\",\"cat\":\"%s\",\"name\":\"n\",\"id\":%u,\"pid\":1,\"tid\":%u,\"ts\":%"
                     "d.%03d},",
                     p == 0           ? 's'
                     : p + 1 < points ? 't'
                                      : 'f',
                     categories[category], flow + 1, thread, (int)(ns / 1000), (int)(ns % 1000));
            hd_json_put_text(text, event);
            before_ns = ns;
            before = row;
        }
    }
    hd_json_put_text(text, "{\"ph\":\"i\",\"name\":\"end\",\"pid\":9,\"tid\":9,\"ts\":1}]");
    hd_json_put(text, "", 1);
    return count;
}

/* The line of an answer that begins at `at`, and whether it is one of `lines`, of which it is taken. */
static const char *take_line(const maker *m, line *lines, size_t count, bool *taken, const char *at)
{
    long long n[9];
    assert_int_equal(sscanf(at, "[%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld]", &n[0], &n[1], &n[2], &n[3], &n[4],
                            &n[5], &n[6], &n[7], &n[8]),
                     9);
    size_t i = 0;
    while (i < count && (taken[i] || lines[i].from != n[7] || lines[i].to != n[8] || lines[i].from_ns != n[2] ||
                         lines[i].to_ns != n[5]))
        i++;
    assert_true(i < count);
    taken[i] = true;
    assert_int_equal(n[6], lines[i].to_ns < lines[i].from_ns);
    for (int end = 0; end < 2; end++) {
        view_place place;
        assert_true(view_place_of(&place, m->scene, HD_KIND_SLICE, (uint64_t)n[7 + end]));
        assert_int_equal(place.track, n[3 * end]);
        assert_int_equal(place.depth, n[3 * end + 1]);
    }
    return strchr(at, ']') + 1;
}

/* What a request must tell of: lines it leaves out are taken beforehand. */
static void check_flows(maker *m, line *lines, size_t count, const char *query, bool *taken)
{
    size_t must = 0, told = 0;
    for (size_t i = 0; i < count; i++) must += !taken[i];
    const char *answer = maker_ask(m, view_route_flows, query);
    assert_non_null(answer);
    assert_int_equal(number_of(answer, "count"), must);
    const char *at = strstr(answer, "\"flows\":[");
    assert_non_null(at);
    for (at += 9; *at == '['; told++) {
        at = take_line(m, lines, count, taken, at);
        if (*at == ',') at++;
    }
    assert_int_equal(told, must);
}

static bool touches(const line *l, int64_t from, int64_t until)
{
    int64_t first = l->from_ns < l->to_ns ? l->from_ns : l->to_ns, last = l->from_ns + l->to_ns - first;
    return first < until && last >= from;
}

static void check_ranges(maker *m, line *lines, size_t count, uint64_t *seed)
{
    static const char *const whats[] = {"all=1", "category=ac2g", "category=fwdbwd"};
    char query[160];
    bool taken[LINES];
    for (int n = 0; n < 200; n++) {
        int64_t from = random_next(seed) % 2200000, until = from + random_next(seed) % 300000;
        int what = (int)(random_next(seed) % 3);
        bool of_track = random_next(seed) % 2;
        uint32_t thread = random_next(seed) % 3;
        uint32_t track = view_scene_track_of_event(m->scene, HD_KIND_SLICE, (uint64_t)thread * 2);
        for (size_t i = 0; i < count; i++) {
            bool ends_there = lines[i].from / 2 % 3 == thread || lines[i].to / 2 % 3 == thread;
            taken[i] = !touches(&lines[i], from, until) || (what && lines[i].category != (uint32_t)what - 1) ||
                       (of_track && !ends_there);
        }
        int size =
            snprintf(query, sizeof query, "%s&from=%lld&until=%lld", whats[what], (long long)from, (long long)until);
        if (of_track) snprintf(query + size, sizeof query - (size_t)size, "&tracks=%u", track);
        check_flows(m, lines, count, query, taken);
    }
}

static void test_flows__are_told_where_their_line_touches_the_range(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(35);
    for (int n = 0; n < 6; n++) {
        static line lines[LINES];
        hd_json_out text = {0};
        bool taken[LINES] = {false};
        char query[64];
        size_t count = random_flows(&text, lines, &seed);
        maker m;
        assert_true(count > FLOWS / 2);
        maker_open(&m, text.data);
        free(text.data);
        assert_int_equal(view_scene_start(m.scene), 0);
        check_flows(&m, lines, count, "all=1", taken);
        check_ranges(&m, lines, count, &seed);
        for (uint32_t row = 0; row < FLOW_SLICES; row++) {
            for (size_t i = 0; i < count; i++) taken[i] = lines[i].from != row && lines[i].to != row;
            snprintf(query, sizeof query, "row=%u", row);
            check_flows(&m, lines, count, query, taken);
        }
        maker_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place__the_innermost_slice_at_a_time_is_the_last_that_began),
        cmocka_unit_test(test_place__the_parent_is_the_next_row_up_that_is_around),
        cmocka_unit_test(test_step__from_any_time_to_the_next_and_the_one_before),
        cmocka_unit_test(test_snap__no_edge_is_nearer_than_the_one_that_is_told),
        cmocka_unit_test(test_flows__are_told_where_their_line_touches_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
