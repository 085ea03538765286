/* fuzz_store_block.c - decoding of blocks, strings and integers of the store from any bytes
 *
 * The first byte says how many rows there are and what is decoded; what comes back must refer to nothing that is not
 * there, and what was decoded must come back the same when it is encoded again. The search of the range coder takes ten
 * times as long as the rest: only seeds, and inputs whose size is a multiple of four, are encoded with it as well.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/heddle/codec/block.h"
#include "heddle/builder.h"

enum { STRINGS = 20, TRACKS = 5, CODED = 4, SEEDS = 500, FAST_LEVEL = 1, CODER_LEVEL = 15 };

static void require(bool fine)
{
    if (!fine) abort();
}

/* Shapes 2 to 8 hold values of the first, the first two … types. */
static hd_trace *make_trace(void)
{
    hd_builder *builder;
    hd_trace *trace;
    hd_arg_key keys[HD_ARG_JSON + 1];
    require(hd_builder_new(&builder, NULL) == HD_OK);
    for (unsigned type = 0; type <= HD_ARG_JSON; type++) {
        keys[type] = (hd_arg_key){.key = hd_builder_intern_text(builder, "key"), .type = (uint8_t)type};
        hd_builder_shape(builder, keys, type + 1, true);
    }
    require(hd_builder_finish(&trace, builder, NULL) == HD_OK);
    return trace;
}

static int64_t *column_values(const hd_column *column, uint32_t count)
{
    int64_t *values = malloc((count + 1) * sizeof *values);
    require(values != NULL);
    hd_column_decode(values, column, 0, count);
    return values;
}

static void fill(store_rows *rows, const hd_trace *trace, const hd_block *block)
{
    *rows = (store_rows){.kind = block->kind, .row_count = block->row_count, .group_count = block->group_count};
    for (int i = 0; i < HD_COL_COUNT; i++) rows->columns[i] = column_values(&block->columns[i], block->row_count);
    rows->groups = calloc(block->group_count + 1, sizeof *rows->groups);
    require(rows->groups != NULL);
    for (uint32_t g = 0; g < block->group_count; g++) {
        const hd_arg_group *from = &block->groups[g];
        const hd_shape *shape = hd_trace_shape_at(trace, from->shape);
        store_group *to = &rows->groups[g];
        *to = (store_group){from->shape, from->row_count, shape->key_count, shape->keys, NULL};
        to->values = malloc(shape->key_count * sizeof *to->values);
        require(to->values != NULL);
        for (uint32_t key = 0; key < shape->key_count; key++)
            to->values[key] = column_values(&from->columns[key], from->row_count);
    }
}

static void empty(store_rows *rows)
{
    for (int i = 0; i < HD_COL_COUNT; i++) free(rows->columns[i]);
    for (uint32_t g = 0; g < rows->group_count; g++) {
        for (uint32_t key = 0; key < rows->groups[g].key_count; key++) free(rows->groups[g].values[key]);
        free(rows->groups[g].values);
    }
    free(rows->groups);
}

static void check_block(const hd_trace *trace, store_encoder *encoder, store_decoder *decoder, const uint8_t *data,
                        size_t size, uint32_t row_count)
{
    store_limits limits = {trace, STRINGS, TRACKS, hd_trace_shape_count(trace), 9};
    hd_block block = {.row_count = row_count}, again = block;
    hd_arena arena = {0};
    hd_error err = {0};
    hd_bytes out = {0};
    store_rows rows;
    hd_arena columns_only = {0};
    hd_block columns = block;
    store_block_decode(&columns, &columns_only, decoder, &limits, data, size, true, NULL);
    hd_arena_deinit(&columns_only);
    hd_status status = store_block_decode(&block, &arena, decoder, &limits, data, size, false, &err);
    require(status == HD_OK || status == HD_ERR_DAMAGED);
    if (status == HD_OK) {
        fill(&rows, trace, &block);
        require(store_block_encode(&out, encoder, &rows, &err) == HD_OK);
        require(store_block_decode(&again, &arena, decoder, &limits, out.data, out.size, false, &err) == HD_OK);
        for (uint32_t i = 0; i < row_count; i++) {
            for (int c = 0; c < HD_COL_COUNT; c++)
                require(hd_column_at(&again.columns[c], i) == hd_column_at(&block.columns[c], i));
            require((uint64_t)rows.columns[HD_COL_NAME][i] < STRINGS);
        }
        for (uint32_t g = 0; g < rows.group_count; g++) {
            for (uint32_t key = 0; key < rows.groups[g].key_count; key++) {
                for (uint32_t i = 0; i < rows.groups[g].row_count; i++)
                    require(hd_column_at(&again.groups[g].columns[key], i) == rows.groups[g].values[key][i]);
            }
        }
        empty(&rows);
    }
    hd_bytes_deinit(&out);
    hd_arena_deinit(&arena);
}

static hd_status add(void *user, const char *data, size_t size, hd_error *err)
{
    size_t *sum = user;
    (void)err;
    for (size_t i = 0; i < size; i++) *sum += (unsigned char)data[i];
    return HD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Kept from run to run: they are large, and what one run leaves in them must not matter to the next. */
    static hd_trace *trace;
    static store_encoder *fast, *coder;
    static store_decoder *decoder;
    static unsigned runs;
    int64_t values[128];
    size_t sum = 0;
    if (size == 0) return 0;
    if (!trace) {
        trace = make_trace();
        require(store_encoder_new(&fast, FAST_LEVEL, NULL) == HD_OK);
        require(store_encoder_new(&coder, CODER_LEVEL, NULL) == HD_OK);
        require(store_decoder_new(&decoder, NULL) == HD_OK);
    }
    uint32_t count = 1 + data[0] % 127;
    check_block(trace, fast, decoder, data + 1, size - 1, count);
    if (size % CODED == 0 || runs++ < SEEDS) check_block(trace, coder, decoder, data + 1, size - 1, count);
    if (data[0] & 128) {
        store_ints_decode(values, count, decoder, data + 1, size - 1, NULL);
        store_strings_decode(decoder, data + 1, size - 1, count, add, &sum, NULL);
    }
    return 0;
}
