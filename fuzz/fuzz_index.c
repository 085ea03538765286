/* fuzz_index.c - libFuzzer target: the bytes of a lane index, loaded for one trace
 *
 * Properties: loading and asking never crash; what loads is saved and loads again, and saving that gives the same
 * bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/index/lane_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

/* 700 slices that nest and cross on three tracks, one in order; the corpus holds the index of it. */
static hd_trace *make_trace(void)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    require(hd_builder_new(&builder, NULL) == HD_OK && hd_batch_new(&batch, builder, NULL) == HD_OK);
    for (int64_t i = 0; i < 700; i++) {
        char name[2] = {(char)('a' + i % 7), '\0'};
        hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
        row.track = hd_builder_thread(builder, 1, i % 11 < 8 ? 1 : i % 2 + 2);
        row.name = hd_builder_intern_text(builder, name);
        row.start_ns = i * 10 + (i % 3 && i % 11 < 8 ? -35 * (i % 5) : 0);
        row.duration_ns = 5 + i * 7 % 60;
        require(hd_batch_add(batch, &row, NULL, NULL) == HD_OK);
    }
    require(hd_batch_take(&chunk, batch, NULL) == HD_OK && hd_builder_append(builder, chunk, NULL) == HD_OK);
    hd_batch_free(batch);
    require(hd_builder_finish(&trace, builder, NULL) == HD_OK);
    return trace;
}

static void ask(const hd_index *index, const hd_trace *trace)
{
    for (size_t i = 0; i < hd_index_lane_count(index); i++) {
        const hd_lane *lane = hd_index_lane_at(index, i);
        uint64_t rows[64], position;
        size_t count;
        int64_t busy;
        (void)hd_lane_rows(rows, &count, index, lane, trace, lane->slice_count / 3, 64, NULL);
        (void)hd_lane_find(&position, index, lane, trace, lane->end_ns / 2, NULL);
        (void)hd_lane_busy(&busy, index, lane, trace, 1000, lane->end_ns, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_index *index, *again;
    hd_bytes first = {0}, second = {0};
    if (size > 1 << 16) return 0;
    static hd_trace *trace; /* never changes */
    if (!trace) trace = make_trace();
    if (hd_index_load(&index, trace, data, size, NULL) == HD_OK && index) {
        ask(index, trace);
        require(hd_index_save(&first, index, NULL, NULL) == HD_OK);
        require(hd_index_load(&again, trace, first.data, first.size, NULL) == HD_OK);
        require(hd_index_save(&second, again, NULL, NULL) == HD_OK);
        require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        hd_index_free(index);
        hd_index_free(again);
    }
    hd_bytes_deinit(&first);
    hd_bytes_deinit(&second);
    return 0;
}
