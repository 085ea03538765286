/* test_store_block.c - blocks, runs of strings and runs of integers of the store, there and back, and damaged */
#include "format/heddle/codec/block.h"
#include "format/heddle/file/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "heddle/builder.h"
#include "random_trace.h"
#include "rounds.h"

enum { SHAPES = 8, STRINGS = 3000, TRACKS = 40, KEYS = 60 };

typedef struct fixture {
    hd_trace *trace; /* its shapes: 0 none, 1 raw, then those of make_trace */
    store_encoder *encoder;
    store_decoder *decoder;
    store_limits limits;
    store_rows rows;
    uint64_t seed;
} fixture;

/* ---- making rows ---- */

static hd_trace *make_trace(void)
{
    hd_error err = {0};
    hd_builder *builder;
    hd_trace *trace;
    hd_arg_key keys[KEYS];
    assert_int_equal(hd_builder_new(&builder, &err), HD_OK);
    for (uint32_t i = 0; i < KEYS; i++) {
        char name[16];
        snprintf(name, sizeof name, "key %u", i);
        keys[i] = (hd_arg_key){.key = hd_builder_intern_text(builder, name), .type = (uint8_t)(i % (HD_ARG_JSON + 1))};
    }
    hd_builder_shape(builder, NULL, 0, true);
    for (uint32_t count = 1; count <= KEYS; count *= 3) hd_builder_shape(builder, keys, count, true);
    hd_builder_shape(builder, keys, KEYS, true);
    assert_int_equal(hd_builder_finish(&trace, builder, &err), HD_OK);
    return trace;
}

static uint64_t random64(uint64_t *seed)
{
    return (uint64_t)random_next(seed) << 62 ^ (uint64_t)random_next(seed) << 31 ^ random_next(seed);
}

/* A number of a few kinds of columns: any, small, rising, repeated, extremes. */
static int64_t random_value(uint64_t *seed, unsigned style, int64_t last)
{
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1, INT64_MIN + 1, 1};
    switch (style % 7) {
    case 0: return (int64_t)random64(seed);
    case 1: return random_next(seed) % 10;
    case 2: return (int64_t)((uint64_t)last + random_next(seed) % 1000);
    case 3: return last;
    case 4: return extremes[random_next(seed) % 6];
    case 5: return (int64_t)(random64(seed) >> random_next(seed) % 64);
    default: return (int64_t)((uint64_t)last + 1000);
    }
}

static int64_t bounded(int64_t value, int64_t limit)
{
    return (int64_t)((uint64_t)value % (uint64_t)limit);
}

static int64_t fit_column(int column, int64_t value)
{
    static const int64_t phases[] = {'X', 'B', 's', 'f' | HD_FLAG_BIND_ENCLOSING};
    switch (column) {
    case HD_COL_TRACK: return bounded(value, TRACKS + 1) == TRACKS ? HD_NONE : bounded(value, TRACKS);
    case HD_COL_NAME:
    case HD_COL_CATEGORY: return bounded(value, STRINGS);
    case HD_COL_PHASE: return phases[(uint64_t)value % 4];
    case HD_COL_SHAPE: return bounded(value, SHAPES);
    case HD_COL_ID_TYPE: return value & 13; /* no strings: ids are any number */
    case HD_COL_START_PS:
    case HD_COL_END_PS: return bounded(value, 1000);
    case HD_COL_PARTNER: return bounded(value, INT64_MAX) - 1;
    default: return value;
    }
}

static int64_t fit_value(uint8_t type, int64_t value)
{
    if (type == HD_ARG_BOOL) return value & 1;
    if (type == HD_ARG_NULL || type == HD_ARG_INT || type == HD_ARG_DECIMAL) return value;
    return bounded(value, STRINGS);
}

static void free_groups(store_rows *rows)
{
    for (uint32_t g = 0; g < rows->group_count; g++) {
        for (uint32_t key = 0; key < rows->groups[g].key_count; key++) free(rows->groups[g].values[key]);
        free(rows->groups[g].values);
    }
    free(rows->groups);
    rows->groups = NULL;
    rows->group_count = 0;
}

static void fill_groups(fixture *f)
{
    uint32_t counts[SHAPES] = {0}, shape_count = hd_trace_shape_count(f->trace);
    assert_true(shape_count >= SHAPES);
    free_groups(&f->rows);
    for (uint32_t i = 0; i < f->rows.row_count; i++) {
        uint32_t shape = (uint32_t)f->rows.columns[HD_COL_SHAPE][i];
        bool any = hd_trace_shape_at(f->trace, shape)->key_count > 0;
        f->rows.columns[HD_COL_ARGS_ROW][i] = any ? counts[shape]++ : 0;
    }
    f->rows.groups = calloc(SHAPES, sizeof *f->rows.groups);
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        const hd_shape *s = hd_trace_shape_at(f->trace, shape);
        if (!counts[shape]) continue;
        store_group *group = &f->rows.groups[f->rows.group_count++];
        *group = (store_group){shape, counts[shape], s->key_count, s->keys, malloc(s->key_count * sizeof(int64_t *))};
        for (uint32_t key = 0; key < s->key_count; key++) {
            unsigned style = random_next(&f->seed);
            int64_t last = 0;
            group->values[key] = malloc(counts[shape] * sizeof(int64_t));
            for (uint32_t i = 0; i < counts[shape]; i++)
                group->values[key][i] = last = fit_value(s->keys[key].type, random_value(&f->seed, style, last));
            if (style % 11 == 0 && key && s->keys[key].type == HD_ARG_INT)
                memcpy(group->values[key], f->rows.columns[HD_COL_START], 8); /* something to be related to */
        }
    }
}

static void fill_rows(fixture *f, uint32_t row_count)
{
    f->rows.row_count = row_count;
    f->rows.kind = HD_KIND_SLICE;
    for (int column = 0; column < HD_COL_COUNT; column++) {
        unsigned style = random_next(&f->seed);
        int64_t last = 0;
        for (uint32_t i = 0; i < row_count; i++)
            f->rows.columns[column][i] = last = fit_column(column, random_value(&f->seed, style, last));
    }
    fill_groups(f);
}

/* Slices that nest, as profilers write them. */
static void fill_nested(fixture *f, uint32_t row_count)
{
    int64_t now = 5000000;
    fill_rows(f, row_count);
    for (uint32_t i = 0; i < row_count; i++) {
        now += 10 + random_next(&f->seed) % 90;
        f->rows.columns[HD_COL_START][i] = now;
        f->rows.columns[HD_COL_DURATION][i] = i % 8 ? random_next(&f->seed) % 60 : 700 + random_next(&f->seed) % 60;
        f->rows.columns[HD_COL_TRACK][i] = i % 16 ? 0 : 1;
        f->rows.columns[HD_COL_NAME][i] = i % 8 ? 2 + i % 3 : 1;
    }
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    hd_error err = {0};
    f->trace = make_trace();
    f->seed = 7;
    f->limits = (store_limits){f->trace, STRINGS, TRACKS, hd_trace_shape_count(f->trace), 0};
    for (int i = 0; i < HD_COL_COUNT; i++) f->rows.columns[i] = malloc(HD_BLOCK_ROWS * sizeof(int64_t));
    assert_int_equal(store_encoder_new(&f->encoder, 15, &err), HD_OK);
    assert_int_equal(store_decoder_new(&f->decoder, &err), HD_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    free_groups(&f->rows);
    for (int i = 0; i < HD_COL_COUNT; i++) free(f->rows.columns[i]);
    store_encoder_free(f->encoder);
    store_decoder_free(f->decoder);
    hd_trace_free(f->trace);
    free(f);
    return 0;
}

/* ---- there and back ---- */

static hd_status decode(fixture *f, hd_block *block, hd_arena *arena, const uint8_t *data, size_t size, hd_error *err)
{
    /* Exactly as many bytes as there are, so that the sanitizer sees a read past the end. */
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    *block = (hd_block){.kind = f->rows.kind, .row_count = f->rows.row_count};
    hd_arena own = {0};
    hd_block columns = *block;
    hd_status first = store_block_decode(&columns, &own, f->decoder, &f->limits, copy, size, true, NULL);
    hd_status status = store_block_decode(block, arena, f->decoder, &f->limits, copy, size, false, err);
    if (status == HD_OK) assert_int_equal(first, HD_OK);
    for (int c = 0; c < HD_COL_COUNT && status == HD_OK; c++) {
        for (uint32_t row = 0; row < block->row_count && c != HD_COL_ARGS_ROW; row++)
            assert_int_equal(hd_column_at(&columns.columns[c], row), hd_column_at(&block->columns[c], row));
    }
    hd_arena_deinit(&own);
    free(copy);
    return status;
}

static bool is_stored(int column)
{
    return column != HD_COL_SOURCE && column != HD_COL_SOURCE_SIZE && column != HD_COL_CORRELATION;
}

static void assert_same(const fixture *f, const hd_block *block)
{
    const store_rows *rows = &f->rows;
    for (int column = 0; column < HD_COL_COUNT; column++) {
        for (uint32_t i = 0; i < rows->row_count && is_stored(column); i++)
            assert_int_equal(hd_column_at(&block->columns[column], i), rows->columns[column][i]);
    }
    assert_int_equal(block->group_count, rows->group_count);
    for (uint32_t g = 0; g < rows->group_count; g++) {
        assert_int_equal(block->groups[g].shape, rows->groups[g].shape);
        assert_int_equal(block->groups[g].row_count, rows->groups[g].row_count);
        for (uint32_t key = 0; key < rows->groups[g].key_count; key++) {
            for (uint32_t i = 0; i < rows->groups[g].row_count; i++)
                assert_int_equal(hd_column_at(&block->groups[g].columns[key], i), rows->groups[g].values[key][i]);
        }
    }
}

static hd_bytes encode(fixture *f)
{
    hd_bytes out = {0};
    hd_error err = {0};
    assert_int_equal(store_block_encode(&out, f->encoder, &f->rows, &err), HD_OK);
    return out;
}

static void assert_comes_back(fixture *f)
{
    hd_error err = {0};
    hd_block block;
    hd_arena arena = {0};
    hd_bytes bytes = encode(f);
    if (decode(f, &block, &arena, bytes.data, bytes.size, &err) != HD_OK) fail_msg("%s", err.message);
    assert_same(f, &block);
    hd_bytes_deinit(&bytes);
    hd_arena_deinit(&arena);
}

static void test_store_block__random_rows_of_all_kinds_come_back(void **state)
{
    fixture *f = *state;
    for (unsigned round = 0; round < 60; round++) {
        fill_rows(f, 1 + random_next(&f->seed) % 700);
        if (round % 2) fill_nested(f, f->rows.row_count);
        f->rows.kind = round % 5 ? HD_KIND_SLICE : HD_KIND_FLOW;
        assert_comes_back(f);
    }
}

static void test_store_block__one_row_and_a_full_block_come_back(void **state)
{
    fixture *f = *state;
    fill_rows(f, 1);
    assert_comes_back(f);
    fill_nested(f, HD_BLOCK_ROWS);
    assert_comes_back(f);
    fill_rows(f, HD_BLOCK_ROWS - 1);
    assert_comes_back(f);
}

static void test_store_block__times_that_are_missing_or_extreme_come_back(void **state)
{
    static const int64_t times[] = {HD_NO_TIME, INT64_MAX, INT64_MIN + 1, 0, -5};
    fixture *f = *state;
    for (unsigned i = 0; i < 5; i++) {
        fill_nested(f, 300);
        f->rows.columns[HD_COL_START][100 + i] = times[i];
        f->rows.columns[HD_COL_DURATION][200 - i] = times[4 - i];
        assert_comes_back(f);
    }
}

static void test_store_block__slices_that_cross_or_run_backwards_come_back(void **state)
{
    fixture *f = *state;
    fill_nested(f, 2000);
    for (uint32_t i = 0; i < 2000; i++) {
        f->rows.columns[HD_COL_START][i] = (int64_t)(random_next(&f->seed) % 5000);
        f->rows.columns[HD_COL_DURATION][i] = (int64_t)(random_next(&f->seed) % 500) - 20;
        f->rows.columns[HD_COL_TRACK][i] = i % 7 ? i % 3 : HD_NONE;
    }
    assert_comes_back(f);
}

static void test_store_block__decimals_keep_their_digits(void **state)
{
    static const int64_t mantissas[] = {125, 1250, 0, 7, -31, 120, 99999999999999999};
    static const unsigned scales[] = {1, 2, 1, 0, 5, 0, 3};
    fixture *f = *state;
    for (unsigned last = 0; last < 7; last++) { /* the more of them, the less they have in common */
        fill_rows(f, 50);
        for (uint32_t i = 0; i < 50; i++) f->rows.columns[HD_COL_SHAPE][i] = 5;
        fill_groups(f);
        for (uint32_t i = 0; i < 50; i++)
            f->rows.groups[0].values[HD_ARG_DECIMAL][i] =
                hd_decimal_pack(mantissas[i % (last + 1)], scales[i % (last + 1)]);
        assert_comes_back(f);
    }
}

static void test_store_block__the_span_is_found(void **state)
{
    fixture *f = *state;
    hd_block block;
    hd_arena arena = {0};
    hd_error err = {0};
    fill_nested(f, 100);
    f->rows.columns[HD_COL_START][99] = 9000000;
    f->rows.columns[HD_COL_DURATION][99] = 11;
    hd_bytes bytes = encode(f);
    assert_int_equal(decode(f, &block, &arena, bytes.data, bytes.size, &err), HD_OK);
    assert_int_equal(block.start_ns, f->rows.columns[HD_COL_START][0]);
    assert_int_equal(block.end_ns, 9000011);
    hd_bytes_deinit(&bytes);
    hd_arena_deinit(&arena);
}

static void test_store_block__groups_that_differ_from_the_rows_are_refused(void **state)
{
    fixture *f = *state;
    hd_bytes out = {0};
    fill_rows(f, 50);
    for (uint32_t i = 0; i < 50; i++) f->rows.columns[HD_COL_SHAPE][i] = 5;
    fill_groups(f);
    f->rows.columns[HD_COL_SHAPE][7] = 0;
    assert_int_equal(store_block_encode(&out, f->encoder, &f->rows, NULL), HD_ERR_ARGUMENT);
    hd_bytes_deinit(&out);
}

/* ---- damage ---- */

static void assert_refers_to_what_is_there(const fixture *f, const hd_block *block)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        int64_t track = hd_column_at(&block->columns[HD_COL_TRACK], i);
        assert_true(track == HD_NONE || (track >= 0 && track < f->limits.track_count));
        assert_in_range(hd_column_at(&block->columns[HD_COL_NAME], i), 0, f->limits.string_count - 1);
        assert_in_range(hd_column_at(&block->columns[HD_COL_CATEGORY], i), 0, f->limits.string_count - 1);
        assert_in_range(hd_column_at(&block->columns[HD_COL_SHAPE], i), 0, f->limits.shape_count - 1);
        hd_event event;
        hd_block_event(&event, block, i);
        int64_t type = event.id_type & HD_ID_VALUE_MASK;
        if (type >= HD_ID_STRING) assert_in_range(event.id, 0, f->limits.string_count - 1);
        const hd_shape *shape = hd_trace_shape_at(f->trace, event.shape);
        assert_true(!shape->key_count == !event.args);
        for (uint32_t key = 0; key < shape->key_count; key++) {
            int64_t value = hd_column_at(&event.args->columns[key], event.args_row);
            if (shape->keys[key].type >= HD_ARG_NUMBER) assert_in_range(value, 0, f->limits.string_count - 1);
        }
    }
}

static void assert_damaged_or_valid(fixture *f, const uint8_t *data, size_t size)
{
    hd_error err = {0};
    hd_block block;
    hd_arena arena = {0};
    hd_status status = decode(f, &block, &arena, data, size, &err);
    if (status == HD_OK)
        assert_refers_to_what_is_there(f, &block);
    else
        assert_int_equal(status, HD_ERR_DAMAGED);
    if (status != HD_OK) assert_true(err.offset <= size);
    hd_arena_deinit(&arena);
}

static void test_store_block__cut_at_every_byte_it_is_damaged(void **state)
{
    fixture *f = *state;
    fill_nested(f, 300);
    hd_bytes bytes = encode(f);
    for (size_t size = 0; size < bytes.size; size += size < 600 || size + 600 > bytes.size ? 1 : 13) {
        hd_error err = {0};
        hd_block block;
        hd_arena arena = {0};
        assert_int_equal(decode(f, &block, &arena, bytes.data, size, &err), HD_ERR_DAMAGED);
        hd_arena_deinit(&arena);
    }
    hd_bytes_deinit(&bytes);
}

static void test_store_block__more_bytes_than_it_needs_are_damage(void **state)
{
    fixture *f = *state;
    hd_error err = {0};
    hd_block block;
    hd_arena arena = {0};
    fill_nested(f, 300);
    hd_bytes bytes = encode(f);
    hd_bytes_put_u8(&bytes, 0);
    assert_int_equal(decode(f, &block, &arena, bytes.data, bytes.size, &err), HD_ERR_DAMAGED);
    hd_arena_deinit(&arena);
    hd_bytes_deinit(&bytes);
}

static void test_store_block__flipped_bits_give_damage_or_a_valid_block(void **state)
{
    fixture *f = *state;
    for (unsigned round = 0; round < 4; round++) {
        fill_nested(f, 40 + 30 * round);
        hd_bytes bytes = encode(f);
        for (size_t bit = 0; bit < bytes.size * 8; bit += bit < 1024 ? 1 : 13) {
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_damaged_or_valid(f, bytes.data, bytes.size);
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        hd_bytes_deinit(&bytes);
    }
}

/* Head and pool as they are, not compressed: what damage in them does is seen without zstd in between. */
static hd_bytes unpack(const hd_bytes *bytes)
{
    hd_byte_reader reader = hd_byte_reader_of(bytes->data, bytes->size);
    hd_decompressor *decompressor = NULL;
    hd_bytes out = {0};
    for (unsigned part = 0; part < 2; part++) {
        uint64_t size = hd_byte_reader_varint(&reader), code = size ? hd_byte_reader_varint(&reader) : 0;
        hd_bytes_put_varint(&out, size);
        if (!size) continue;
        const uint8_t *frame = hd_byte_reader_take(&reader, code == 1 ? size : code - 1);
        hd_bytes_put_varint(&out, 1);
        uint8_t *room = hd_bytes_room(&out, size);
        if (code == 1)
            memcpy(room, frame, size);
        else
            assert_int_equal(hd_decompress(room, size, &decompressor, frame, code - 1, NULL), HD_OK);
        out.size += size;
    }
    hd_bytes_put(&out, reader.data + reader.at, hd_byte_reader_left(&reader));
    hd_decompressor_free(decompressor);
    return out;
}

static void test_store_block__damage_behind_the_compression_is_found_too(void **state)
{
    fixture *f = *state;
    for (unsigned round = 0, rounds = hd_test_rounds(4); round < rounds; round++) {
        if (round % 2)
            fill_rows(f, 60);
        else
            fill_nested(f, 200);
        hd_bytes packed = encode(f), bytes = unpack(&packed);
        hd_error err = {0};
        hd_block block;
        hd_arena arena = {0};
        assert_int_equal(decode(f, &block, &arena, bytes.data, bytes.size, &err), HD_OK);
        assert_same(f, &block);
        hd_arena_deinit(&arena);
        for (size_t at = 0; at < bytes.size; at += at < 600 ? 1 : 17) {
            uint8_t kept = bytes.data[at];
            static const uint8_t values[] = {0, 0xff, 0x80, 0x7f, 1};
            for (unsigned i = 0; i < 6; i++) {
                bytes.data[at] = i < 5 ? values[i] : (uint8_t)random_next(&f->seed);
                assert_damaged_or_valid(f, bytes.data, bytes.size);
            }
            bytes.data[at] = kept;
        }
        hd_bytes_deinit(&packed);
        hd_bytes_deinit(&bytes);
    }
}

static void test_store_block__references_beyond_the_limits_are_damage(void **state)
{
    fixture *f = *state;
    store_limits full = f->limits;
    for (unsigned i = 0; i < 4; i++) {
        fill_nested(f, 200);
        f->rows.columns[HD_COL_NAME][100] = STRINGS - 1;
        f->rows.columns[HD_COL_PARTNER][50] = 77;
        for (uint32_t row = 0; row < 200; row++) {
            f->rows.columns[HD_COL_TRACK][row] = row % TRACKS;
            f->rows.columns[HD_COL_SHAPE][row] = row % SHAPES;
            f->rows.columns[HD_COL_PARTNER][row] = row % 78;
        }
        fill_groups(f);
        hd_bytes bytes = encode(f);
        hd_error err = {0};
        hd_block block;
        hd_arena arena = {0};
        f->limits.partner_rows = 78;
        assert_int_equal(decode(f, &block, &arena, bytes.data, bytes.size, &err), HD_OK);
        if (i == 0) f->limits.string_count--;
        if (i == 1) f->limits.track_count--;
        if (i == 2) f->limits.shape_count = SHAPES - 1;
        if (i == 3) f->limits.partner_rows = 77;
        assert_int_equal(decode(f, &block, &arena, bytes.data, bytes.size, &err), HD_ERR_DAMAGED);
        hd_arena_deinit(&arena);
        hd_bytes_deinit(&bytes);
        f->limits = full;
    }
}

static void test_store_block__hostile_sizes_are_damage(void **state)
{
    static const uint8_t huge_head[] = {0xff, 0xff, 0xff, 0xff, 0x0f, 0x01, 0, 0};
    static const uint8_t endless[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t no_head[] = {0, 0};
    fixture *f = *state;
    fill_nested(f, 10);
    assert_damaged_or_valid(f, huge_head, sizeof huge_head);
    assert_damaged_or_valid(f, endless, sizeof endless);
    assert_damaged_or_valid(f, no_head, sizeof no_head);
    for (unsigned round = 0, rounds = hd_test_rounds(1000); round < rounds; round++) {
        uint8_t noise[64];
        noise[0] = 40;
        noise[1] = 1;
        for (unsigned i = 2; i < sizeof noise; i++) noise[i] = (uint8_t)(random_next(&f->seed) % (i % 3 ? 12 : 256));
        assert_damaged_or_valid(f, noise, sizeof noise);
    }
}

/* ---- heads of blocks ---- */

/* Whether a head of one row, without times, that lists `count` of the tracks first, first + 1, ... is taken. */
static bool takes_tracks(uint32_t count, uint64_t first, uint64_t span)
{
    hd_bytes bytes = {0};
    static store_block_head head;
    const uint64_t start[] = {HD_KIND_SLICE, 1, 0, 5, false, (uint64_t)count + 1, first, span};
    for (size_t i = 0; i < sizeof start / sizeof *start; i++) hd_bytes_put_varint(&bytes, start[i]);
    for (uint32_t i = 1; i + 1 < count; i++) hd_bytes_put_varint(&bytes, 1);
    const store_section section = {.head = bytes.data, .head_size = bytes.size};
    bool taken = store_get_block_head(&head, &section);
    if (taken) {
        assert_int_equal(head.track_count, count);
        assert_int_equal(head.first_track, first);
        assert_int_equal(head.last_track, first + span);
        for (uint32_t i = 0; i < count; i++) assert_int_equal(head.tracks[i], first + i);
    }
    hd_bytes_deinit(&bytes);
    return taken;
}

static void test_store_head__as_many_tracks_as_fit_are_listed(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= STORE_BLOCK_TRACKS; count++) assert_true(takes_tracks(count, 7, count - 1));
    for (uint32_t more = 1; more < 20; more++)
        assert_false(takes_tracks(STORE_BLOCK_TRACKS + more, 7, STORE_BLOCK_TRACKS + more - 1));
    assert_true(takes_tracks(0, 7, 1000)); /* more than fit: only the first and the last are known */
    assert_true(takes_tracks(2, HD_NONE - 2, 1));
    assert_false(takes_tracks(2, HD_NONE - 1, 1));
    assert_true(takes_tracks(1, HD_NONE - 1, 0));
    assert_false(takes_tracks(1, HD_NONE, 0));
    assert_false(takes_tracks(1, UINT64_C(1) << 32, 0));
    assert_false(takes_tracks(0, 7, UINT64_MAX - 7));
}

/* ---- strings and integers ---- */

typedef struct text_list {
    hd_string *strings;
    size_t at, count;
} text_list;

static hd_status add_checked(void *user, const char *data, size_t size, hd_error *err)
{
    text_list *list = user;
    (void)err;
    assert_true(list->at < list->count);
    assert_int_equal(size, list->strings[list->at].size);
    assert_memory_equal(data, list->strings[list->at].data, size);
    list->at++;
    return HD_OK;
}

static hd_status add_ignored(void *user, const char *data, size_t size, hd_error *err)
{
    size_t *sum = user;
    (void)err;
    for (size_t i = 0; i < size; i++) *sum += (unsigned char)data[i]; /* the sanitizer looks at each */
    return HD_OK;
}

static text_list make_strings(fixture *f, size_t count)
{
    text_list list = {.strings = malloc(count * sizeof *list.strings), .count = count};
    for (size_t i = 0; i < count; i++) {
        char text[80];
        int size = snprintf(text, sizeof text, i % 5 ? "a template<%zu, %u>" : "%zu%u", i, random_next(&f->seed) % 50);
        if (i % 7 == 0) text[size++] = '\0'; /* NUL is a byte like any other */
        if (i == 3) size = 0;
        char *copy = malloc((size_t)size + 1);
        memcpy(copy, text, (size_t)size);
        list.strings[i] = (hd_string){copy, (size_t)size};
    }
    return list;
}

static void free_strings(text_list *list)
{
    for (size_t i = 0; i < list->count; i++) free((char *)(uintptr_t)list->strings[i].data);
    free(list->strings);
}

static void test_store_strings__runs_of_any_length_come_back(void **state)
{
    static const size_t counts[] = {0, 1, 2, 100, 5000, 70000};
    fixture *f = *state;
    for (unsigned i = 0; i < 6; i++) {
        text_list list = make_strings(f, counts[i]);
        hd_bytes bytes = {0};
        hd_error err = {0};
        assert_int_equal(store_strings_encode(&bytes, f->encoder, list.strings, list.count, &err), HD_OK);
        assert_int_equal(store_strings_decode(f->decoder, bytes.data, bytes.size, list.count, add_checked, &list, &err),
                         HD_OK);
        assert_int_equal(list.at, list.count);
        hd_bytes_deinit(&bytes);
        free_strings(&list);
    }
}

static void assert_strings_damaged_or_valid(fixture *f, const uint8_t *data, size_t size, size_t count, bool is_damaged)
{
    size_t sum = 0;
    hd_error err = {0};
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    hd_status status = store_strings_decode(f->decoder, copy, size, count, add_ignored, &sum, &err);
    if (status != HD_OK || is_damaged) assert_int_equal(status, HD_ERR_DAMAGED);
    free(copy);
}

static void test_store_strings__damage_is_found_or_harmless(void **state)
{
    fixture *f = *state;
    text_list list = make_strings(f, 300);
    hd_bytes bytes = {0};
    hd_error err = {0};
    assert_int_equal(store_strings_encode(&bytes, f->encoder, list.strings, list.count, &err), HD_OK);
    for (size_t size = 0; size < bytes.size; size++)
        assert_strings_damaged_or_valid(f, bytes.data, size, list.count, true);
    for (size_t bit = 0; bit < bytes.size * 8; bit += bit < 512 ? 1 : 5) {
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_strings_damaged_or_valid(f, bytes.data, bytes.size, list.count, false);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_strings_damaged_or_valid(f, bytes.data, bytes.size, list.count - 1, true);
    assert_strings_damaged_or_valid(f, bytes.data, bytes.size, (size_t)1 << 40, true);
    hd_bytes_deinit(&bytes);
    free_strings(&list);
}

static void test_store_ints__runs_of_any_kind_come_back(void **state)
{
    static const size_t counts[] = {0, 1, 3, 1000, 65536, 65537, 200000};
    fixture *f = *state;
    int64_t *values = malloc(200000 * sizeof *values), *back = malloc(200000 * sizeof *back);
    for (unsigned style = 0; style < 7; style++) {
        for (unsigned i = 0; i < 7; i++) {
            hd_bytes bytes = {0};
            hd_error err = {0};
            for (size_t k = 0; k < counts[i]; k++) values[k] = random_value(&f->seed, style, k ? values[k - 1] : 0);
            assert_int_equal(store_ints_encode(&bytes, f->encoder, values, counts[i], &err), HD_OK);
            assert_int_equal(store_ints_decode(back, counts[i], f->decoder, bytes.data, bytes.size, &err), HD_OK);
            if (counts[i]) assert_memory_equal(values, back, counts[i] * sizeof *values);
            if (counts[i])
                assert_int_equal(store_ints_decode(back, counts[i], f->decoder, bytes.data, bytes.size - 1, NULL),
                                 HD_ERR_DAMAGED);
            hd_bytes_deinit(&bytes);
        }
    }
    free(values);
    free(back);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_store_block__random_rows_of_all_kinds_come_back),
        TEST(test_store_block__one_row_and_a_full_block_come_back),
        TEST(test_store_block__times_that_are_missing_or_extreme_come_back),
        TEST(test_store_block__slices_that_cross_or_run_backwards_come_back),
        TEST(test_store_block__decimals_keep_their_digits),
        TEST(test_store_block__the_span_is_found),
        TEST(test_store_block__groups_that_differ_from_the_rows_are_refused),
        TEST(test_store_block__cut_at_every_byte_it_is_damaged),
        TEST(test_store_block__more_bytes_than_it_needs_are_damage),
        TEST(test_store_block__flipped_bits_give_damage_or_a_valid_block),
        TEST(test_store_block__damage_behind_the_compression_is_found_too),
        TEST(test_store_block__references_beyond_the_limits_are_damage),
        TEST(test_store_block__hostile_sizes_are_damage),
        cmocka_unit_test(test_store_head__as_many_tracks_as_fit_are_listed),
        TEST(test_store_strings__runs_of_any_length_come_back),
        TEST(test_store_strings__damage_is_found_or_harmless),
        TEST(test_store_ints__runs_of_any_kind_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
