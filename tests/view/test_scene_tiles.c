/* test_scene_tiles.c - tiles of random scenes, of which every event is known: slices that nothing ends, many at one
 * time, without length, and at both ends of time; by rows, and as one row */
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
#include "view/rows/impl.h"
#include "view/tile/tile.h"
#include "view/tile_read.h"

__extension__ typedef __int128 wide_int;

/* ---- random traces ---- */

typedef struct shape {
    uint32_t events, threads;
    int64_t start, until;  /* of starts: [start, start + …) and, for one in four, [until - …, until] */
    uint32_t near, length; /* ns from there; usual length */
    uint32_t grid;         /* starts are multiples of it, so that many are equal */
    uint32_t open;         /* one in so many is a begin that nothing ends */
    bool nest;             /* lengths are multiples of the grid as well: fewer cross */
} shape;

static hd_row random_slice(hd_builder *builder, uint64_t *seed, const shape *how)
{
    bool is_open = random_next(seed) % how->open == 0, at_end = random_next(seed) % 4 == 0;
    hd_row row = hd_row_of(HD_KIND_SLICE, is_open ? 'B' : 'X');
    char name[16] = {(char)('a' + random_next(seed) % 9)};
    int64_t off = random_next(seed) % how->near / how->grid * how->grid;
    row.track = hd_builder_thread(builder, 1, random_next(seed) % how->threads);
    row.name = hd_builder_intern_text(builder, name);
    row.start_ns = at_end ? how->until - off : how->start + off;
    row.duration_ns = HD_NO_TIME;
    if (is_open) return row;
    uint32_t sort = random_next(seed) % 12;
    row.duration_ns = random_next(seed) % how->length;
    if (how->nest) row.duration_ns = row.duration_ns / how->grid * how->grid;
    if (sort == 0) row.duration_ns *= 40;
    if (sort == 1) row.duration_ns = 0;
    if (sort == 2) row.duration_ns = -5;
    if (sort == 3 && how->start < 0) row.duration_ns = INT64_MAX; /* ends where time does */
    if (sort == 4 && how->open < 100) row.duration_ns = HD_NO_TIME;
    return row;
}

static view_scene *random_scene(uint64_t *seed, const shape *how)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    view_scene *scene;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    for (uint32_t i = 0; i < how->events; i++) {
        hd_row row = random_slice(builder, seed, how);
        assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    assert_int_equal(view_scene_new(&scene, trace, NULL), HD_OK);
    assert_int_equal(view_scene_work(scene, NULL, NULL, NULL, NULL), HD_OK);
    return scene;
}

/* ---- what is true of them ---- */

/* A slice as the protocol has it: absolute, and relative to the scene's start, no further than VIEW_FARTHEST. */
typedef struct fact {
    int64_t start, end;
    int64_t from, until;
    uint32_t name, row, flags;
} fact;

static int64_t drawn_at(const view_scene *scene, int64_t time)
{
    wide_int ns = (wide_int)time - view_scene_start(scene);
    return ns > VIEW_FARTHEST ? VIEW_FARTHEST : ns < -VIEW_FARTHEST ? -VIEW_FARTHEST : (int64_t)ns;
}

static int by_start(const void *a, const void *b)
{
    const fact *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->end == y->end ? 0 : x->end > y->end ? -1 : 1;
}

/* Slices of a track of the scene, or (HD_NONE) of all, by start; facts[row] is given in `by_row`. */
static fact *facts_of(const view_scene *scene, uint32_t track, fact *by_row, size_t *out_count)
{
    const hd_trace *trace = view_scene_trace(scene);
    uint64_t rows = hd_trace_row_count(trace, HD_KIND_SLICE);
    fact *facts = malloc((rows + 1) * sizeof *facts);
    *out_count = 0;
    for (uint64_t r = 0; r < rows; r++) {
        hd_event event;
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, r);
        hd_block_event(&event, block, at);
        fact f = {.start = event.start_ns, .end = event.start_ns, .name = event.name, .row = (uint32_t)r};
        if (event.duration_ns == HD_NO_TIME && event.phase == 'B') {
            f.end = hd_trace_facts_of(trace)->end_ns;
            f.flags = VIEW_SLICE_NO_END;
        } else if (event.duration_ns > 0) {
            wide_int end = (wide_int)event.start_ns + event.duration_ns;
            f.end = end > INT64_MAX ? INT64_MAX : (int64_t)end;
        } else {
            f.flags = VIEW_SLICE_NO_LENGTH;
        }
        f.from = drawn_at(scene, f.start);
        f.until = drawn_at(scene, f.end);
        by_row[r] = f;
        if (track == HD_NONE || view_scene_track_of_event(scene, HD_KIND_SLICE, r) == track) facts[(*out_count)++] = f;
    }
    qsort(facts, *out_count, sizeof *facts, by_start);
    return facts;
}

/* The union: pieces that overlap are one. `longest` of each is the length of the longest of its slices. */
typedef struct piece {
    int64_t start, end, longest;
    bool has_open;
} piece;

static int64_t length_of(int64_t start, int64_t end)
{
    wide_int ns = (wide_int)end - start;
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static piece *union_of(const fact *facts, size_t count, size_t *out_count)
{
    piece *pieces = malloc((count + 1) * sizeof *pieces);
    *out_count = 0;
    for (size_t i = 0; i < count; i++) {
        const fact *f = &facts[i];
        piece *last = *out_count ? &pieces[*out_count - 1] : NULL;
        int64_t length = length_of(f->start, f->end);
        if (!last || (f->start >= last->end && !(f->start == f->end && f->start == last->start))) {
            pieces[(*out_count)++] = (piece){f->start, f->end, length, (f->flags & VIEW_SLICE_NO_END) != 0};
            continue;
        }
        if (f->end > last->end) last->end = f->end;
        if (length > last->longest) last->longest = length;
        last->has_open |= (f->flags & VIEW_SLICE_NO_END) != 0;
    }
    return pieces;
}

static wide_int overlap(wide_int from, wide_int until, wide_int first, wide_int end)
{
    if (from < first) from = first;
    if (until > end) until = end;
    return until > from ? until - from : 0;
}

/* ---- tiles ---- */

/* What a tile of a row says: what starts in it, and what is busy. */
typedef struct told {
    uint64_t starting;
    wide_int busy;
    bool rough; /* times beyond 2^53, which are doubles */
} told;

typedef struct asked {
    view_scene *scene;
    const fact *by_row;
    const piece *pieces; /* of a summary, else NULL */
    size_t piece_count;
    unsigned z;
    wide_int begin; /* of the tile */
} asked;

/* The true extent of an event of a tile, relative; what is told of it is what is so. */
static void check_event(wide_int *from, wide_int *until, const asked *q, const read_event *e)
{
    const fact *f = &q->by_row[e->row];
    int64_t start = f->start, end = f->end;
    uint32_t flags = f->flags;
    if (q->pieces) {
        size_t p = 0;
        while (p + 1 < q->piece_count && q->pieces[p].end <= start && q->pieces[p + 1].start <= start) p++;
        while (p && q->pieces[p - 1].start == start && q->pieces[p - 1].end == start && f->end == start) p--;
        start = q->pieces[p].start;
        end = q->pieces[p].end;
        assert_true(f->start >= start && f->end <= end);
        assert_true(length_of(f->start, f->end) == q->pieces[p].longest);
        flags = (end == start ? VIEW_SLICE_NO_LENGTH : 0) |
                (length_of(start, end) > q->pieces[p].longest ? VIEW_SLICE_SEVERAL : 0);
        assert_true(!(e->flags & VIEW_SLICE_NO_END) || q->pieces[p].has_open);
        assert_true((e->flags & VIEW_SLICE_NO_END) || !(f->flags & VIEW_SLICE_NO_END));
        assert_int_equal(e->flags & ~(uint32_t)VIEW_SLICE_NO_END, flags & ~(uint32_t)VIEW_SLICE_NO_END);
    } else {
        assert_int_equal(e->flags, flags);
    }
    *from = drawn_at(q->scene, start);
    *until = drawn_at(q->scene, end);
    assert_int_equal(e->name, f->name);
    assert_true(e->start == (double)(*from - q->begin));
    assert_true(e->duration == (double)(*until - *from));
}

static size_t read_told(told *out, const asked *q, const uint8_t *data)
{
    static read_row row;
    bool listed[VIEW_TILE_COLUMNS] = {false};
    uint64_t counted = 0;
    wide_int width = (wide_int)1 << q->z;
    size_t size = read_tile_row(&row, data);
    for (uint32_t c = 0; c < row.column_count; c++) {
        const read_column *column = &row.columns[c];
        assert_true(column->column < VIEW_TILE_COLUMNS && !listed[column->column]);
        listed[column->column] = true;
        out->busy += (wide_int)column->busy;
        out->rough |= column->busy >= 0x1p53;
        counted += column->count;
    }
    for (uint32_t e = 0; e < row.event_count; e++) {
        wide_int from, until;
        check_event(&from, &until, q, &row.events[e]);
        wide_int column = (from - q->begin) >> q->z;
        if (from >= q->begin && column < VIEW_TILE_COLUMNS && !listed[column]) counted++;
        for (int c = column < 0 ? 0 : column > 511 ? 511 : (int)column; c < VIEW_TILE_COLUMNS; c++) {
            wide_int first = q->begin + c * width;
            if (first >= until) break;
            if (!listed[c]) out->busy += overlap(from, until, first, first + width);
        }
    }
    assert_int_equal(counted, row.starting);
    out->starting += row.starting;
    return size;
}

/* All rows of a tile, against every slice (or piece of the union) that there is. */
static told check_tile(asked *q, uint32_t track, const fact *facts, size_t count, int64_t i)
{
    told out = {0};
    bool exact;
    hd_bytes bytes = {0};
    uint64_t starting = 0;
    wide_int busy = 0, width = (wide_int)VIEW_TILE_COLUMNS << q->z;
    q->begin = i * width;
    assert_int_equal(view_tile_track(&bytes, &exact, q->scene, track, q->z, i, q->pieces != NULL, NULL, NULL), HD_OK);
    assert_true(exact);
    for (size_t at = 16; at < bytes.size;) at += read_told(&out, q, bytes.data + at);
    for (size_t f = 0; f < (q->pieces ? q->piece_count : count); f++) {
        int64_t from = q->pieces ? drawn_at(q->scene, q->pieces[f].start) : facts[f].from;
        int64_t until = q->pieces ? drawn_at(q->scene, q->pieces[f].end) : facts[f].until;
        starting += from >= q->begin && from < q->begin + width;
        busy += overlap(from, until, q->begin, q->begin + width);
    }
    assert_int_equal(out.starting, starting);
    if (out.rough)
        assert_true((double)out.busy <= (double)busy * (1 + 1e-12) && (double)out.busy >= (double)busy * (1 - 1e-12));
    else
        assert_true(out.busy == busy);
    hd_bytes_deinit(&bytes);
    return out;
}

/* All tiles of a track at every zoom; where they are many, those in which something begins or ends. */
static void check_zooms(asked *q, uint32_t track, const fact *facts, size_t count, uint64_t *seed)
{
    wide_int all = 0;
    int64_t last = facts[0].until;
    for (size_t f = 0; f < count; f++) last = facts[f].until > last ? facts[f].until : last;
    for (size_t f = 0; f < (q->pieces ? q->piece_count : count); f++)
        all += q->pieces ? (wide_int)drawn_at(q->scene, q->pieces[f].end) - drawn_at(q->scene, q->pieces[f].start)
                         : (wide_int)facts[f].until - facts[f].from;
    for (q->z = 0; q->z <= VIEW_ZOOM_MAX; q->z++) {
        int64_t first_tile = facts[0].from >> q->z >> 9, last_tile = last >> q->z >> 9;
        if ((uint64_t)last_tile - (uint64_t)first_tile > 12) {
            for (int n = 0; n < 4; n++) {
                const fact *f = &facts[random_next(seed) % count];
                check_tile(q, track, facts, count, f->from >> q->z >> 9);
                check_tile(q, track, facts, count, f->until >> q->z >> 9);
            }
            continue;
        }
        told sum = {0};
        for (int64_t i = first_tile - 1; i <= last_tile + 1; i++) {
            told tile = check_tile(q, track, facts, count, i);
            sum.starting += tile.starting;
            sum.busy += tile.busy;
            sum.rough |= tile.rough;
        }
        assert_int_equal(sum.starting, q->pieces ? q->piece_count : count);
        assert_true(sum.rough || sum.busy == all);
    }
}

static void check_track(view_scene *scene, uint32_t track, uint64_t *seed)
{
    size_t count, piece_count;
    const view_track *of = view_scene_track(scene, track);
    fact *by_row = malloc((hd_trace_row_count(view_scene_trace(scene), HD_KIND_SLICE) + 1) * sizeof *by_row);
    fact *facts = facts_of(scene, of->kind == VIEW_SECTION ? HD_NONE : track, by_row, &count);
    piece *pieces = union_of(facts, count, &piece_count);
    asked q = {.scene = scene, .by_row = by_row};
    assert_true(count > 0);
    if (of->kind == VIEW_SLICES) {
        check_zooms(&q, track, facts, count, seed);
        assert_int_equal(of->event_count, count);
    }
    q.pieces = pieces;
    q.piece_count = piece_count;
    /* Where nothing crosses, the first row is the union, and of slices at one time without length all are its. */
    if (of->kind == VIEW_SECTION || of->on_lanes) check_zooms(&q, track, facts, count, seed);
    free(pieces);
    free(facts);
    free(by_row);
}

static void check_shape(const shape *how, uint64_t *seed)
{
    view_scene *scene = random_scene(seed, how);
    uint32_t tracks = view_scene_track_count(scene), checked = 0;
    for (uint32_t t = 0; t < tracks; t++) {
        if (view_scene_track(scene, t)->derived || view_scene_track(scene, t)->kind == VIEW_COUNTER) continue;
        check_track(scene, t, seed);
        checked++;
    }
    assert_true(checked >= 2);
    view_scene_free(scene);
}

/* ---- tests ---- */

static void test_scene_tiles__hold_every_slice_also_without_end_and_at_equal_times(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {.events = 60, .threads = 2, .near = 3000, .length = 200, .grid = 1, .open = 1000},
        {.events = 150, .threads = 2, .near = 900, .length = 100, .grid = 50, .open = 1000, .nest = true},
        {.events = 150, .threads = 3, .near = 60, .length = 9, .grid = 5, .open = 30},
        {.events = 120, .threads = 1, .near = 200000, .length = 30000, .grid = 1, .open = 25},
        {.events = 200, .threads = 2, .near = 4, .length = 3, .grid = 4, .open = 50},
        {.events = 100, .threads = 2, .near = 2000000000, .length = 900000000, .grid = 1000, .open = 40},
    };
    uint64_t seed = hd_test_seed(11);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int n = 0; n < 2; n++) {
            shape how = shapes[s];
            how.until = how.start + how.near;
            check_shape(&how, &seed);
        }
    }
}

static void test_scene_tiles__hold_every_slice_at_both_ends_of_time(void **state)
{
    (void)state;
    const int64_t first = INT64_MIN + 1, last = INT64_MAX, far = (int64_t)1 << 62;
    const int64_t ends[][2] = {{first, first + 5000}, {last - 5000, last}, {first, last},
                               {-far, far},           {-far - 90, -1},     {0, last}};
    uint64_t seed = hd_test_seed(12);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        shape how = {.events = 90, .threads = 2, .near = 5000, .length = 300, .grid = 20, .open = 30};
        how.start = ends[e][0];
        how.until = ends[e][1];
        check_shape(&how, &seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene_tiles__hold_every_slice_also_without_end_and_at_equal_times),
        cmocka_unit_test(test_scene_tiles__hold_every_slice_at_both_ends_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
