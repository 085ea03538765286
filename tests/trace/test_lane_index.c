/* test_lane_index.c - the lane index against a model that goes through every nanosecond; its bytes; info with it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/report.h"
#include "random_trace.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

/* ---- random traces ---- */

typedef struct layout {
    uint32_t slices, tracks, names;
    int64_t span_ns, longest_ns;
    bool picoseconds;
} layout;

static hd_ident ident_of(hd_builder *builder, uint32_t number, hd_ident_type type)
{
    char text[2] = {(char)('0' + number), '\0'};
    return (hd_ident){type, hd_builder_intern_text(builder, text)};
}

static int64_t length_of(uint64_t *seed, const layout *how)
{
    uint32_t kind = random_next(seed) % 12;
    if (kind == 0) return 0;
    if (kind == 1) return HD_NO_TIME;
    if (kind == 2) return -(int64_t)(random_next(seed) % 9);
    return (int64_t)random_next(seed) % (1 + (kind < 9 ? how->longest_ns / 16 : how->longest_ns));
}

static hd_row random_row(hd_builder *builder, uint64_t *seed, const layout *how, const uint32_t *names)
{
    static const struct {
        hd_kind kind;
        char phase;
    } kinds[] = {{HD_KIND_SLICE, 'B'}, {HD_KIND_END, 'E'}, {HD_KIND_INSTANT, 'i'}, {HD_KIND_SLICE, 'X'}};
    uint32_t which = random_next(seed) % 24;
    hd_row row = hd_row_of(kinds[which < 3 ? which : 3].kind, kinds[which < 3 ? which : 3].phase);
    hd_ident_type type = random_next(seed) % 4 ? HD_IDENT_NUMBER : HD_IDENT_STRING; /* strings make twins */
    hd_ident tid = ident_of(builder, random_next(seed) % how->tracks, type);
    row.track =
        random_next(seed) % 50 ? hd_builder_track(builder, ident_of(builder, 1, HD_IDENT_NUMBER), tid, false) : HD_NONE;
    row.name = names[random_next(seed) % how->names];
    row.category = random_next(seed) % 5 ? names[random_next(seed) % 3] : HD_STRING_NONE;
    row.start_ns = random_next(seed) % 40 ? 1000 + random_next(seed) % how->span_ns : HD_NO_TIME;
    if (row.kind == HD_KIND_SLICE && row.phase == 'X') row.duration_ns = length_of(seed, how);
    if (how->picoseconds && row.start_ns != HD_NO_TIME) {
        row.start_ps = random_next(seed) % 1000;
        row.end_ps = row.duration_ns == HD_NO_TIME ? 0 : random_next(seed) % 1000;
    }
    return row;
}

static hd_builder *random_builder(uint64_t seed, const layout *how)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    uint32_t names[64];
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    for (uint32_t i = 0; i < how->names; i++) {
        char text[3] = {(char)('a' + i % 26), (char)('a' + i / 26), '\0'};
        names[i] = i ? hd_builder_intern_text(builder, text) : HD_STRING_NONE;
    }
    for (uint32_t i = 0; i < how->slices; i++) {
        hd_row row = random_row(builder, &seed, how, names);
        assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
        if (i % 700 != 699 && i + 1 < how->slices) continue; /* several blocks */
        assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
        assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    }
    hd_batch_free(batch);
    return builder;
}

static hd_trace *random_trace(uint64_t seed, const layout *how)
{
    hd_trace *trace;
    assert_int_equal(hd_builder_finish(&trace, random_builder(seed, how), NULL), HD_OK);
    return trace;
}

static const layout layouts[] = {
    {.slices = 30, .tracks = 2, .names = 3, .span_ns = 40, .longest_ns = 20},
    {.slices = 2000, .tracks = 3, .names = 9, .span_ns = 900, .longest_ns = 300},
    {.slices = 2000, .tracks = 3, .names = 9, .span_ns = 900, .longest_ns = 300, .picoseconds = true},
    {.slices = 14000, .tracks = 2, .names = 60, .span_ns = 40000, .longest_ns = 90},
    {.slices = 0, .tracks = 1, .names = 1, .span_ns = 1, .longest_ns = 1},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, SEEDS = 6 };

/* ---- the model ---- */

typedef struct model_slice {
    int64_t start, end; /* ps */
    int64_t start_ns, end_ns;
    uint64_t row, self;
    uint32_t name;
} model_slice;

static int in_start_order(const void *a, const void *b)
{
    const model_slice *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static size_t model_lane(model_slice *out, const hd_trace *trace, uint32_t lane)
{
    size_t count = 0;
    for (uint64_t row = 0; row < hd_trace_row_count(trace, HD_KIND_SLICE); row++) {
        uint32_t at;
        hd_event e;
        const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, row);
        hd_block_event(&e, block, at);
        if (e.start_ns == HD_NO_TIME || e.track == HD_NONE) continue;
        if (hd_trace_track_at(trace, e.track)->same_as != lane) continue;
        model_slice *s = &out[count++];
        *s = (model_slice){.row = row, .name = e.name, .start_ns = e.start_ns, .end_ns = e.start_ns};
        s->start = s->end = e.start_ns * 1000 + e.start_ps;
        int64_t end = e.duration_ns < 0 ? s->start : (e.start_ns + e.duration_ns) * 1000 + e.end_ps;
        if (end > s->start) {
            s->end = end;
            s->end_ns = e.start_ns + e.duration_ns;
        }
    }
    qsort(out, count, sizeof *out, in_start_order);
    return count;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Between two neighbouring times at which something begins or ends nothing changes: who is open there? */
static void model_self(model_slice *slices, size_t count)
{
    int64_t *times = malloc((2 * count + 1) * sizeof *times);
    assert_non_null(times);
    for (size_t i = 0; i < count; i++) {
        times[2 * i] = slices[i].start;
        times[2 * i + 1] = slices[i].end;
        slices[i].self = 0;
    }
    qsort(times, 2 * count, sizeof *times, by_number);
    size_t begun = 0;
    for (size_t t = 0; t + 1 < 2 * count; t++) {
        while (begun < count && slices[begun].start <= times[t]) begun++;
        for (size_t i = begun; i-- > 0;) {
            if (slices[i].end <= times[t]) continue;
            slices[i].self += (uint64_t)(times[t + 1] - times[t]);
            break;
        }
    }
    free(times);
}

static uint32_t model_depth(const model_slice *slices, size_t count)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t open = 1;
        for (size_t j = 0; j < i; j++) open += slices[j].end > slices[i].start;
        if (open > depth) depth = open;
    }
    return depth;
}

/* Covered in [from, until), ps. */
static int64_t model_busy(const model_slice *slices, size_t count, int64_t from, int64_t until)
{
    int64_t busy = 0, reach = from;
    for (size_t i = 0; i < count; i++) {
        int64_t start = slices[i].start > reach ? slices[i].start : reach;
        int64_t end = slices[i].end < until ? slices[i].end : until;
        if (end <= start) continue;
        busy += end - start;
        reach = end;
    }
    return busy;
}

/* The time of names in the order of their time; the first of equal ones first. */
static void check_names(const hd_summary *summary, const model_slice *slices, size_t count)
{
    enum { NAMES = 64 };
    uint32_t names[NAMES], found = 0;
    uint64_t times[NAMES] = {0};
    for (size_t i = 0; i < count; i++) {
        uint32_t at = 0;
        if (slices[i].name == HD_STRING_NONE) continue;
        while (at < found && names[at] != slices[i].name) at++;
        if (at == found) names[found++] = slices[i].name;
        times[at] += slices[i].self;
    }
    for (uint32_t place = 0; place < HD_SUMMARY_NAMES; place++) {
        uint32_t best = HD_NONE;
        for (uint32_t i = 0; i < found; i++) {
            if (names[i] != HD_STRING_NONE && (best == HD_NONE || times[i] > times[best])) best = i;
        }
        assert_int_equal(summary->names[place], best == HD_NONE ? HD_STRING_NONE : names[best]);
        assert_int_equal(summary->name_ns[place], best == HD_NONE ? 0 : (int64_t)(times[best] / 1000));
        if (best != HD_NONE) names[best] = HD_STRING_NONE;
    }
}

static void check_summary(const hd_summary *summary, const model_slice *slices, size_t first, size_t count)
{
    int64_t last = INT64_MIN, longest = 0;
    for (size_t i = first; i < first + count; i++) {
        int64_t length = slices[i].end_ns - slices[i].start_ns;
        if (slices[i].end_ns > last) last = slices[i].end_ns;
        if (length > longest) longest = length;
    }
    assert_int_equal(summary->count, count);
    assert_int_equal(summary->first_ns, slices[first].start_ns);
    assert_int_equal(summary->last_ns, last);
    assert_int_equal(summary->longest_ns, longest);
    int64_t before = model_busy(slices, first, INT64_MIN, INT64_MAX);
    int64_t after = model_busy(slices, first + count, INT64_MIN, INT64_MAX);
    assert_int_equal(summary->busy_ns, after / 1000 - before / 1000);
    check_names(summary, slices + first, count);
}

static void check_queries(const hd_index *index, const hd_lane *lane, const hd_trace *trace, const model_slice *slices,
                          uint64_t seed)
{
    size_t count = lane->slice_count, found;
    uint64_t *rows = malloc((count + 1) * sizeof *rows), position;
    assert_non_null(rows);
    assert_int_equal(hd_lane_rows(rows, &found, index, lane, trace, 0, count + 1, NULL), HD_OK);
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(rows[i], slices[i].row);
    size_t middle = count / 3;
    assert_int_equal(hd_lane_rows(rows, &found, index, lane, trace, middle, 300, NULL), HD_OK);
    assert_int_equal(found, count - middle < 300 ? count - middle : 300);
    for (size_t i = 0; i < found; i++) assert_int_equal(rows[i], slices[middle + i].row);
    int64_t span = lane->end_ns - lane->start_ns + 20, busy;
    for (int i = 0; i < 30; i++) {
        int64_t a = lane->start_ns - 10 + random_next(&seed) % span,
                b = lane->start_ns - 10 + random_next(&seed) % span;
        size_t at = 0;
        while (at < count && slices[at].start_ns < a) at++;
        assert_int_equal(hd_lane_find(&position, index, lane, trace, a, NULL), HD_OK);
        assert_int_equal(position, at);
        assert_int_equal(hd_lane_busy(&busy, index, lane, trace, a, b, NULL), HD_OK);
        assert_int_equal(busy, a < b ? model_busy(slices, count, a * 1000, b * 1000) / 1000 : 0);
    }
    free(rows);
}

static void check_lane(const hd_index *index, const hd_lane *lane, const hd_trace *trace, uint64_t seed)
{
    model_slice *slices = calloc(hd_trace_row_count(trace, HD_KIND_SLICE) + 1, sizeof *slices);
    assert_non_null(slices);
    size_t count = model_lane(slices, trace, lane->track), size = HD_SUMMARY_SLICES;
    model_self(slices, count);
    assert_int_equal(lane->slice_count, count);
    assert_int_equal(lane->depth, model_depth(slices, count));
    assert_int_equal(lane->busy_ns, model_busy(slices, count, INT64_MIN, INT64_MAX) / 1000);
    assert_int_equal(lane->start_ns, slices[0].start_ns);
    for (uint32_t level = 0; level < lane->level_count; level++, size *= HD_SUMMARY_FAN) {
        assert_int_equal(lane->levels[level].count, (count + size - 1) / size);
        for (size_t i = 0; i < lane->levels[level].count; i++) {
            size_t first = i * size, left = count - first;
            check_summary(&lane->levels[level].summaries[i], slices, first, left < size ? left : size);
        }
    }
    assert_int_equal(lane->levels[lane->level_count - 1].count, 1);
    check_queries(index, lane, trace, slices, seed);
    free(slices);
}

/* Every lane that the trace has, and no other. */
static void check_index(const hd_index *index, const hd_trace *trace, uint64_t seed)
{
    uint32_t lanes = 0;
    for (uint32_t track = 0; track < hd_trace_track_count(trace); track++) {
        const hd_lane *lane = hd_index_lane_of(index, trace, track);
        bool first = hd_trace_track_at(trace, track)->same_as == track;
        model_slice *slices = calloc(hd_trace_row_count(trace, HD_KIND_SLICE) + 1, sizeof *slices);
        assert_non_null(slices);
        if (first) assert_int_equal(lane ? lane->slice_count : 0, model_lane(slices, trace, track));
        free(slices);
        if (!lane || !first) continue;
        assert_int_equal(lane->track, track);
        check_lane(index, lane, trace, seed);
        lanes++;
    }
    assert_int_equal(hd_index_lane_count(index), lanes);
}

/* ---- tests ---- */

static void test_index__agrees_with_a_model_on_random_traces(void **state)
{
    (void)state;
    for (size_t which = 0; which < LAYOUTS; which++) {
        for (uint64_t seed = 1; seed <= (layouts[which].slices > 5000 ? 1 : SEEDS); seed++) {
            hd_trace *trace = random_trace(seed, &layouts[which]);
            hd_index *index;
            assert_int_equal(hd_index_build(&index, trace, 1 + seed % 3, NULL), HD_OK);
            check_index(index, trace, seed);
            hd_index_free(index);
            hd_trace_free(trace);
        }
    }
}

static hd_bytes saved(const hd_index *index)
{
    hd_bytes bytes = {0};
    assert_int_equal(hd_index_save(&bytes, index, NULL, NULL), HD_OK);
    return bytes;
}

static void test_index__is_the_same_after_saving_and_loading(void **state)
{
    (void)state;
    for (size_t which = 0; which < LAYOUTS; which++) {
        hd_trace *trace = random_trace(which + 77, &layouts[which]);
        hd_index *index, *loaded;
        assert_int_equal(hd_index_build(&index, trace, 2, NULL), HD_OK);
        hd_bytes bytes = saved(index);
        assert_int_equal(hd_index_load(&loaded, trace, bytes.data, bytes.size, NULL), HD_OK);
        check_index(loaded, trace, which);
        hd_bytes again = saved(loaded);
        assert_int_equal(again.size, bytes.size);
        assert_memory_equal(again.data, bytes.data, bytes.size);
        hd_bytes_deinit(&bytes);
        hd_bytes_deinit(&again);
        hd_index_free(index);
        hd_index_free(loaded);
        hd_trace_free(trace);
    }
}

static void test_index__does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    hd_trace *trace = random_trace(5, &layouts[3]);
    hd_index *one, *five;
    assert_int_equal(hd_index_build(&one, trace, 1, NULL), HD_OK);
    assert_int_equal(hd_index_build(&five, trace, 5, NULL), HD_OK);
    hd_bytes a = saved(one), b = saved(five);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    hd_bytes_deinit(&a);
    hd_bytes_deinit(&b);
    hd_index_free(one);
    hd_index_free(five);
    hd_trace_free(trace);
}

static void test_index__strings_get_the_ids_of_the_file(void **state)
{
    (void)state;
    hd_trace *trace = random_trace(9, &layouts[1]);
    hd_index *index, *loaded;
    uint32_t count = hd_trace_string_count(trace), *map = calloc(count, sizeof *map);
    assert_non_null(map);
    for (uint32_t i = 1; i < count; i++) map[i] = count - i;
    hd_bytes bytes = {0};
    assert_int_equal(hd_index_build(&index, trace, 1, NULL), HD_OK);
    assert_int_equal(hd_index_save(&bytes, index, map, NULL), HD_OK);
    assert_int_equal(hd_index_load(&loaded, trace, bytes.data, bytes.size, NULL), HD_OK);
    assert_true(index->lanes[0].levels[0].summaries[0].names[0] != HD_STRING_NONE);
    for (uint32_t i = 0; i < HD_SUMMARY_NAMES; i++)
        assert_int_equal(loaded->lanes[0].levels[0].summaries[0].names[i],
                         map[index->lanes[0].levels[0].summaries[0].names[i]]);
    for (size_t i = 0; i < index->category_count; i++)
        assert_int_equal(loaded->categories[i].category, map[index->categories[i].category]);
    free(map);
    hd_bytes_deinit(&bytes);
    hd_index_free(index);
    hd_index_free(loaded);
    hd_trace_free(trace);
}

/* Loaded or refused, never out of bounds; what loads may be asked. */
static void try_load(const hd_trace *trace, const uint8_t *data, size_t size, bool must_fail)
{
    hd_index *index;
    uint8_t *copy = malloc(size + 1); /* so that reading past the end is seen */
    assert_non_null(copy);
    copy = realloc(copy, size ? size : 1);
    memcpy(copy, data, size);
    hd_status status = hd_index_load(&index, trace, copy, size, NULL);
    free(copy);
    if (must_fail) assert_int_equal(status, HD_ERR_DAMAGED);
    assert_true(status == HD_OK || status == HD_ERR_DAMAGED);
    if (status != HD_OK || !index) return;
    for (size_t i = 0; i < hd_index_lane_count(index); i++) {
        const hd_lane *lane = hd_index_lane_at(index, i);
        uint64_t rows[64], position;
        size_t count;
        int64_t busy;
        (void)hd_lane_rows(rows, &count, index, lane, trace, lane->slice_count / 2, 64, NULL);
        (void)hd_lane_find(&position, index, lane, trace, lane->start_ns / 2 + lane->end_ns / 2, NULL);
        (void)hd_lane_busy(&busy, index, lane, trace, INT64_MIN + 1, lane->end_ns, NULL);
    }
    hd_index_free(index);
}

static void test_index__cut_bytes_are_damaged(void **state)
{
    (void)state;
    hd_trace *trace = random_trace(3, &layouts[2]);
    hd_index *index;
    assert_int_equal(hd_index_build(&index, trace, 1, NULL), HD_OK);
    hd_bytes bytes = saved(index);
    for (size_t size = 0; size < bytes.size; size++) try_load(trace, bytes.data, size, true);
    hd_bytes_put_u8(&bytes, 0);
    try_load(trace, bytes.data, bytes.size, true);
    hd_bytes_deinit(&bytes);
    hd_index_free(index);
    hd_trace_free(trace);
}

static void test_index__flipped_bits_do_no_harm(void **state)
{
    (void)state;
    hd_trace *trace = random_trace(4, &layouts[2]);
    hd_index *index;
    assert_int_equal(hd_index_build(&index, trace, 1, NULL), HD_OK);
    hd_bytes bytes = saved(index);
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        try_load(trace, bytes.data, bytes.size, false);
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    hd_bytes_deinit(&bytes);
    hd_index_free(index);
    hd_trace_free(trace);
}

static void test_index__of_another_trace_is_damaged(void **state)
{
    (void)state;
    hd_trace *trace = random_trace(1, &layouts[1]), *other = random_trace(2, &layouts[1]);
    hd_index *index;
    assert_true(hd_trace_row_count(trace, HD_KIND_SLICE) != hd_trace_row_count(other, HD_KIND_SLICE));
    assert_int_equal(hd_index_build(&index, trace, 1, NULL), HD_OK);
    hd_bytes bytes = saved(index);
    try_load(other, bytes.data, bytes.size, true);
    hd_bytes_deinit(&bytes);
    hd_index_free(index);
    hd_trace_free(trace);
    hd_trace_free(other);
}

typedef struct text {
    char data[1 << 16];
    size_t size;
} text;

static hd_status keep(void *user, const char *data, size_t size)
{
    text *t = user;
    assert_true(t->size + size <= sizeof t->data);
    memcpy(t->data + t->size, data, size);
    t->size += size;
    return HD_OK;
}

static void info_text(text *out, const hd_trace *trace)
{
    const hd_table_style style = {.format = HD_TABLE_JSON};
    hd_report report;
    out->size = 0;
    assert_int_equal(hd_report_info(&report, trace, NULL), HD_OK);
    for (size_t i = 0; i < report.table_count; i++)
        assert_int_equal(hd_table_write(report.tables[i], (hd_sink){keep, out}, &style, NULL), HD_OK);
    hd_report_free(&report);
}

static void test_info__says_the_same_with_an_index(void **state)
{
    (void)state;
    static text plain, indexed;
    for (size_t which = 0; which < LAYOUTS; which++) {
        hd_trace *trace = random_trace(which + 31, &layouts[which]), *with;
        hd_index *index;
        hd_builder *builder = random_builder(which + 31, &layouts[which]);
        assert_int_equal(hd_index_build(&index, trace, 2, NULL), HD_OK);
        hd_builder_set_index(builder, index);
        assert_int_equal(hd_builder_finish(&with, builder, NULL), HD_OK);
        assert_ptr_equal(hd_trace_index(with), index);
        assert_null(hd_trace_index(trace));
        info_text(&plain, trace);
        info_text(&indexed, with);
        assert_int_equal(plain.size, indexed.size);
        assert_memory_equal(plain.data, indexed.data, plain.size);
        hd_trace_free(trace);
        hd_trace_free(with);
    }
}

/* A source that counts how often it is asked. */
static hd_status count_block(void *user, hd_block *block, hd_arena *arena, uint64_t place, bool columns_only,
                             hd_error *err)
{
    (void)block;
    (void)arena;
    (void)place;
    (void)columns_only;
    ++*(int *)user;
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "not to be loaded");
}

static hd_status count_order(void *user, uint8_t *out, size_t count, uint64_t place, hd_error *err)
{
    (void)out;
    (void)count;
    return count_block(user, NULL, NULL, place, false, err);
}

/* The strings, tracks and blocks of a trace, the blocks without what is in them. */
static hd_builder *stored_builder(const hd_trace *trace, int *asked)
{
    hd_builder *builder;
    hd_block_source source = {.user = asked, .load_block = count_block, .load_order = count_order};
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    for (uint32_t i = 1; i < hd_trace_string_count(trace); i++) {
        hd_string s = hd_trace_string(trace, i);
        assert_int_equal(hd_builder_intern(builder, s.data, s.size), i);
    }
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        assert_int_equal(hd_builder_track(builder, track->pid, track->tid, track->kind == HD_TRACK_PROCESS), i);
        hd_builder_set_track(builder, i, track);
    }
    *hd_builder_facts(builder) = *hd_trace_facts_of(trace);
    hd_builder_set_source(builder, &source);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        uint32_t counts[HD_KIND_COUNT] = {0};
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_block_at(trace, (hd_kind)kind, i);
            assert_int_equal(
                hd_builder_add_block(builder, (hd_kind)kind, block->row_count, block->start_ns, block->end_ns, 0, NULL),
                HD_OK);
            counts[kind] += block->row_count;
        }
        if (counts[kind]) assert_int_equal(hd_builder_add_order(builder, counts, 0, NULL), HD_OK);
    }
    return builder;
}

static void test_info__of_a_store_with_an_index_loads_no_block(void **state)
{
    (void)state;
    static text plain, indexed;
    int asked = 0;
    hd_trace *trace = random_trace(8, &layouts[2]), *stored;
    hd_index *index, *loaded;
    hd_builder *builder = stored_builder(trace, &asked);
    assert_int_equal(hd_index_build(&index, trace, 1, NULL), HD_OK);
    hd_bytes bytes = saved(index);
    assert_int_equal(hd_index_load(&loaded, hd_builder_trace(builder), bytes.data, bytes.size, NULL), HD_OK);
    hd_builder_set_index(builder, loaded);
    hd_builder_set_stored(builder);
    assert_int_equal(hd_builder_finish(&stored, builder, NULL), HD_OK);
    info_text(&plain, trace);
    info_text(&indexed, stored);
    assert_int_equal(plain.size, indexed.size);
    assert_memory_equal(plain.data, indexed.data, plain.size);
    assert_int_equal(asked, 0);
    hd_bytes_deinit(&bytes);
    hd_index_free(index);
    hd_trace_free(trace);
    hd_trace_free(stored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index__agrees_with_a_model_on_random_traces),
        cmocka_unit_test(test_index__is_the_same_after_saving_and_loading),
        cmocka_unit_test(test_index__does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(test_index__strings_get_the_ids_of_the_file),
        cmocka_unit_test(test_index__cut_bytes_are_damaged),
        cmocka_unit_test(test_index__flipped_bits_do_no_harm),
        cmocka_unit_test(test_index__of_another_trace_is_damaged),
        cmocka_unit_test(test_info__says_the_same_with_an_index),
        cmocka_unit_test(test_info__of_a_store_with_an_index_loads_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
