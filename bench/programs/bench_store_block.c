/* bench_store_block.c - where the bytes of a store go: `bench_store_block FILE [ZSTD_19_BYTES [LEVEL]]`
 *
 * Reads a trace, gathers blocks of 65,536 rows with strings numbered by first use, encodes them, decodes them and
 * compares. Prints bytes and seconds.
 */
#include <inttypes.h>

#include "bench.h"
#include "format/heddle/codec/block.h"

typedef struct sizes {
    uint64_t blocks, block_bytes, strings, string_bytes, order_bytes, events;
    double encode_seconds, decode_seconds, string_seconds;
} sizes;

typedef struct bench {
    const hd_trace *trace;
    uint32_t *new_ids; /* by id of the trace */
    uint32_t *old_ids;
    uint32_t next_id;
    store_encoder *encoder;
    store_decoder *decoder;
    store_rows rows;
    int64_t **arg_rows; /* scratch */
    sizes sum;
} bench;

static void *need(void *p)
{
    if (!p) abort();
    return p;
}

static void check(hd_status status, const hd_error *err)
{
    if (status == HD_OK) return;
    exit(bench_failed(err));
}

static int64_t renumber(bench *b, int64_t id)
{
    if (!id) return 0;
    if (!b->new_ids[id]) {
        b->old_ids[b->next_id] = (uint32_t)id;
        b->new_ids[id] = b->next_id++;
    }
    return b->new_ids[id];
}

static bool is_string(uint8_t type)
{
    return type == HD_ARG_STRING || type == HD_ARG_NUMBER || type == HD_ARG_JSON;
}

/* ---- gathering ---- */

typedef struct cursor {
    hd_kind kind;
    size_t block;
    uint32_t row;
} cursor;

static store_group *group_of(bench *b, uint32_t shape)
{
    for (uint32_t i = 0; i < b->rows.group_count; i++) {
        if (b->rows.groups[i].shape == shape) return &b->rows.groups[i];
    }
    const hd_shape *s = hd_trace_shape_at(b->trace, shape);
    b->rows.groups = need(realloc(b->rows.groups, (b->rows.group_count + 1) * sizeof *b->rows.groups));
    store_group *group = &b->rows.groups[b->rows.group_count++];
    *group = (store_group){.shape = shape, .key_count = s->key_count, .keys = s->keys};
    group->values = need(malloc(s->key_count * sizeof *group->values));
    for (uint32_t i = 0; i < s->key_count; i++) group->values[i] = need(malloc(HD_BLOCK_ROWS * sizeof(int64_t)));
    return group;
}

static int by_shape(const void *x, const void *y)
{
    uint32_t a = ((const store_group *)x)->shape, c = ((const store_group *)y)->shape;
    return (a > c) - (a < c);
}

static void add_args(bench *b, const hd_block *block, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t shape = (uint32_t)hd_column_at(&block->columns[HD_COL_SHAPE], first + i);
        uint32_t row = (uint32_t)hd_column_at(&block->columns[HD_COL_ARGS_ROW], first + i);
        if (!hd_trace_shape_at(b->trace, shape)->key_count) continue;
        const hd_arg_group *from = NULL;
        for (uint32_t g = 0; g < block->group_count && !from; g++) {
            if (block->groups[g].shape == shape) from = &block->groups[g];
        }
        store_group *to = group_of(b, shape);
        for (uint32_t key = 0; key < to->key_count; key++)
            to->values[key][to->row_count] = hd_column_at(&from->columns[key], row);
        to->row_count++;
    }
}

/* The next rows of the kind into b->rows; false: none are left. */
static bool gather(bench *b, cursor *at)
{
    store_rows *rows = &b->rows;
    rows->kind = at->kind;
    rows->row_count = rows->group_count = 0;
    while (at->block < hd_trace_block_count(b->trace, at->kind) && rows->row_count < HD_BLOCK_ROWS) {
        const hd_block *block = hd_trace_block_at(b->trace, at->kind, at->block);
        uint32_t count = block->row_count - at->row, room = HD_BLOCK_ROWS - rows->row_count;
        if (count > room) count = room;
        for (int column = 0; column < HD_COL_COUNT; column++)
            hd_column_decode(rows->columns[column] + rows->row_count, &block->columns[column], at->row, count);
        add_args(b, block, at->row, count);
        rows->row_count += count;
        at->row += count;
        if (at->row == block->row_count) {
            at->row = 0;
            at->block++;
        }
    }
    if (!rows->row_count) return false;
    qsort(rows->groups, rows->group_count, sizeof *rows->groups, by_shape);
    return true;
}

/* Column by column, so that strings that are alike get ids that follow one another. */
static void renumber_rows(bench *b)
{
    store_rows *rows = &b->rows;
    for (uint32_t i = 0; i < rows->row_count; i++)
        rows->columns[HD_COL_NAME][i] = renumber(b, rows->columns[HD_COL_NAME][i]);
    for (uint32_t i = 0; i < rows->row_count; i++)
        rows->columns[HD_COL_CATEGORY][i] = renumber(b, rows->columns[HD_COL_CATEGORY][i]);
    for (uint32_t i = 0; i < rows->row_count; i++) {
        int64_t type = rows->columns[HD_COL_ID_TYPE][i] & HD_ID_VALUE_MASK;
        if (type == HD_ID_STRING || type == HD_ID_NUMBER)
            rows->columns[HD_COL_ID][i] = renumber(b, rows->columns[HD_COL_ID][i]);
    }
    for (uint32_t g = 0; g < rows->group_count; g++) {
        const store_group *group = &rows->groups[g];
        for (uint32_t key = 0; key < group->key_count; key++) {
            if (!is_string(group->keys[key].type)) continue;
            for (uint32_t i = 0; i < group->row_count; i++) group->values[key][i] = renumber(b, group->values[key][i]);
        }
    }
}

/* ---- comparing ---- */

static void compare_column(const hd_column *column, const int64_t *values, uint32_t count, const char *what, int index)
{
    for (uint32_t i = 0; i < count; i++) {
        if (hd_column_at(column, i) == values[i]) continue;
        fprintf(stderr, "%s %d differs in row %u: %" PRId64 " is not %" PRId64 "\n", what, index, i,
                hd_column_at(column, i), values[i]);
        exit(1);
    }
}

static void compare(const bench *b, const hd_block *block)
{
    const store_rows *rows = &b->rows;
    for (int column = 0; column < HD_COL_COUNT; column++) {
        if (column != HD_COL_SOURCE && column != HD_COL_SOURCE_SIZE)
            compare_column(&block->columns[column], rows->columns[column], rows->row_count, "column", column);
    }
    if (block->group_count != rows->group_count) abort();
    for (uint32_t g = 0; g < rows->group_count; g++) {
        for (uint32_t key = 0; key < rows->groups[g].key_count; key++)
            compare_column(&block->groups[g].columns[key], rows->groups[g].values[key], rows->groups[g].row_count,
                           "key", (int)key);
    }
}

static void count_args_rows(store_rows *rows, const hd_trace *trace)
{
    uint32_t *counts = need(calloc(hd_trace_shape_count(trace), sizeof *counts));
    for (uint32_t i = 0; i < rows->row_count; i++) {
        uint32_t shape = (uint32_t)rows->columns[HD_COL_SHAPE][i];
        rows->columns[HD_COL_ARGS_ROW][i] = hd_trace_shape_at(trace, shape)->key_count ? counts[shape]++ : 0;
    }
    free(counts);
}

static void run_block(bench *b)
{
    hd_bytes out = {0};
    hd_error err = {0};
    hd_arena arena = {.piece_size = 1 << 20};
    store_limits limits = {b->trace, b->next_id, hd_trace_track_count(b->trace), hd_trace_shape_count(b->trace), 0};
    hd_block block = {.kind = b->rows.kind, .row_count = b->rows.row_count, .first_row = b->rows.first_row};
    renumber_rows(b);
    limits.string_count = b->next_id;
    count_args_rows(&b->rows, b->trace);
    double start = bench_seconds();
    check(store_block_encode(&out, b->encoder, &b->rows, &err), &err);
    double middle = bench_seconds();
    check(store_block_decode(&block, &arena, b->decoder, &limits, out.data, out.size, false, &err), &err);
    b->sum.decode_seconds += bench_seconds() - middle;
    b->sum.encode_seconds += middle - start;
    b->sum.blocks++;
    b->sum.block_bytes += out.size;
    b->sum.events += b->rows.row_count;
    compare(b, &block);
    hd_bytes_deinit(&out);
    hd_arena_deinit(&arena);
    for (uint32_t g = 0; g < b->rows.group_count; g++) {
        for (uint32_t key = 0; key < b->rows.groups[g].key_count; key++) free(b->rows.groups[g].values[key]);
        free(b->rows.groups[g].values);
    }
}

typedef struct string_check {
    const bench *b;
    uint32_t next;
} string_check;

static hd_status check_string(void *user, const char *data, size_t size, hd_error *err)
{
    string_check *c = user;
    hd_string wanted = hd_trace_string(c->b->trace, c->b->old_ids[c->next++]);
    (void)err;
    if (wanted.size != size || memcmp(wanted.data, data, size) != 0) {
        fprintf(stderr, "string %u differs\n", c->next - 1);
        exit(1);
    }
    return HD_OK;
}

static void run_strings(bench *b, uint32_t from)
{
    hd_error err = {0};
    for (uint32_t at = from; at < b->next_id;) {
        uint32_t count = 0;
        size_t bytes = 0;
        hd_string *list = need(malloc((b->next_id - at) * sizeof *list));
        for (; at + count < b->next_id && bytes < 16 << 20; count++) {
            list[count] = hd_trace_string(b->trace, b->old_ids[at + count]);
            bytes += list[count].size;
        }
        hd_bytes out = {0};
        double start = bench_seconds();
        check(store_strings_encode(&out, b->encoder, list, count, &err), &err);
        b->sum.string_seconds += bench_seconds() - start;
        string_check c = {b, at};
        start = bench_seconds();
        check(store_strings_decode(b->decoder, out.data, out.size, count, check_string, &c, &err), &err);
        b->sum.decode_seconds += bench_seconds() - start;
        b->sum.string_bytes += out.size;
        b->sum.strings += count;
        hd_bytes_deinit(&out);
        free(list);
        at += count;
    }
}

static void run_order(bench *b)
{
    hd_error err = {0};
    for (size_t i = 0; i < hd_trace_order_count(b->trace); i++) {
        size_t count;
        hd_bytes out = {0};
        const uint8_t *order = hd_trace_order_at(&count, b->trace, i);
        int64_t *values = need(malloc(count * sizeof *values)), *back = need(malloc(count * sizeof *values));
        for (size_t k = 0; k < count; k++) values[k] = order[k];
        check(store_ints_encode(&out, b->encoder, values, count, &err), &err);
        check(store_ints_decode(back, count, b->decoder, out.data, out.size, &err), &err);
        if (memcmp(values, back, count * sizeof *values) != 0) abort();
        b->sum.order_bytes += out.size;
        hd_bytes_deinit(&out);
        free(values);
        free(back);
    }
}

int main(int argc, char **argv)
{
    hd_read_options none = {0};
    hd_error err = {0};
    hd_trace *trace;
    int first = bench_options(&none, argc, argv, 1, "FILE");
    check(hd_trace_read(&trace, argv[first], &none, &err), &err);
    bench b = {.trace = trace, .next_id = 1};
    b.new_ids = need(calloc(hd_trace_string_count(trace) + 1, sizeof *b.new_ids));
    b.old_ids = need(calloc(hd_trace_string_count(trace) + 1, sizeof *b.old_ids));
    for (int i = 0; i < HD_COL_COUNT; i++) b.rows.columns[i] = need(malloc(HD_BLOCK_ROWS * sizeof(int64_t)));
    check(store_encoder_new(&b.encoder, argc > first + 2 ? atoi(argv[first + 2]) : 0, &err), &err);
    check(store_decoder_new(&b.decoder, &err), &err);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        cursor at = {.kind = (hd_kind)kind};
        uint64_t rows = 0, bytes = b.sum.block_bytes;
        while (gather(&b, &at)) {
            b.rows.first_row = rows;
            run_block(&b);
            rows += b.rows.row_count;
        }
        if (rows)
            printf("%s rows=%" PRIu64 " bytes=%" PRIu64 "\n", hd_kind_name((hd_kind)kind), rows,
                   b.sum.block_bytes - bytes);
    }
    run_strings(&b, 1);
    run_order(&b);
    uint64_t total = b.sum.block_bytes + b.sum.string_bytes + b.sum.order_bytes;
    printf("events=%" PRIu64 " block_bytes=%" PRIu64 " strings=%" PRIu64 " string_bytes=%" PRIu64
           " order_bytes=%" PRIu64 " total=%" PRIu64 " encode_s=%.3f decode_s=%.3f strings_s=%.3f\n",
           b.sum.events, b.sum.block_bytes, b.sum.strings, b.sum.string_bytes, b.sum.order_bytes, total,
           b.sum.encode_seconds, b.sum.decode_seconds, b.sum.string_seconds);
    return 0;
}
