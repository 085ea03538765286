/* test_lazy.c - blocks that come from a source when they are asked for, and blocks in a temporary file
 *
 * The source is another trace: each block is laid down from the one at the same place there.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "dump.h"
#include "heddle/format.h"
#include "random_trace.h"
#include "rounds.h"
#include "trace/impl.h"

enum { NO_PLACE = 1 << 20 };
typedef enum order_damage { ORDER_FAILS, ORDER_OF_OTHER_KINDS, ORDER_OF_NO_KIND, ORDER_DAMAGES } order_damage;

/* What the source of a lazy trace knows. */
typedef struct origin {
    const hd_trace *trace;
    uint64_t broken_block; /* place of the one that cannot be loaded */
    uint64_t broken_order;
    int loaded, closed;
    hd_spill *apart;     /* each block gets a window of its own there */
    bool broken_args;    /* of all blocks */
    order_damage damage; /* of broken_order */
    int walks_ended;
} origin;

static uint64_t place_of(hd_kind kind, size_t index)
{
    return (uint64_t)kind << 32 | index;
}

static void *copy_of(hd_arena *arena, const void *data, size_t size)
{
    void *copy = hd_arena_alloc(arena, size);
    assert_non_null(copy);
    if (size) memcpy(copy, data, size);
    return copy;
}

static hd_status load_block(void *user, hd_block *block, hd_arena *arena, uint64_t place, bool columns_only,
                            hd_error *err)
{
    origin *from = user;
    if (!columns_only && from->broken_args) return hd_error_set(err, HD_ERR_DAMAGED, NULL, 9, "broken on purpose");
    if (place == from->broken_block) return hd_error_set(err, HD_ERR_DAMAGED, NULL, 7, "broken on purpose");
    const hd_block *own = hd_trace_block_at(from->trace, (hd_kind)(place >> 32), (size_t)(place & UINT32_MAX));
    __atomic_fetch_add(&from->loaded, 1, __ATOMIC_RELAXED);
    if (from->apart) {
        pthread_mutex_lock(&from->apart->lock);
        if (from->apart->file_bytes) from->apart->file_bytes |= UINT32_MAX; /* a window is 4 GiB: a file with holes */
        pthread_mutex_unlock(&from->apart->lock);
    }
    for (int c = 0; c < HD_COL_COUNT; c++) {
        block->columns[c] = own->columns[c];
        if (own->columns[c].width)
            block->columns[c].data =
                copy_of(arena, own->columns[c].data, (size_t)own->row_count * own->columns[c].width);
    }
    if (columns_only) {
        block->columns[HD_COL_ARGS_ROW] = (hd_column){0};
        return HD_OK;
    }
    hd_arg_group *groups = copy_of(arena, own->groups, own->group_count * sizeof *groups);
    for (uint32_t g = 0; g < own->group_count; g++) {
        uint32_t keys = hd_trace_shape_at(from->trace, groups[g].shape)->key_count;
        hd_column *columns = copy_of(arena, own->groups[g].columns, keys * sizeof *columns);
        for (uint32_t k = 0; k < keys; k++) {
            if (columns[k].width)
                columns[k].data = copy_of(arena, columns[k].data, (size_t)groups[g].row_count * columns[k].width);
        }
        groups[g].columns = columns;
    }
    block->group_count = own->group_count;
    block->groups = groups;
    return HD_OK;
}

static hd_status load_order(void *user, uint8_t *out, size_t count, uint64_t place, hd_error *err)
{
    origin *from = user;
    size_t size;
    if (place == from->broken_order && from->damage == ORDER_FAILS)
        return hd_error_set(err, HD_ERR_DAMAGED, NULL, 8, "broken on purpose");
    const uint8_t *order = hd_trace_order_at(&size, from->trace, (size_t)place);
    assert_int_equal(size, count);
    memcpy(out, order, count);
    if (place == from->broken_order && from->damage == ORDER_OF_OTHER_KINDS)
        out[count / 2] = out[count / 2] == HD_KIND_SLICE ? HD_KIND_INSTANT : HD_KIND_SLICE;
    if (place == from->broken_order && from->damage == ORDER_OF_NO_KIND) out[count / 2] = HD_KIND_COUNT;
    return HD_OK;
}

static void free_idle(void *user)
{
    ((origin *)user)->walks_ended++;
}

static void close_origin(void *user)
{
    ((origin *)user)->closed++;
}

/* A builder with the strings, shapes and tracks of a trace under the same ids. */
static hd_builder *twin_builder(const hd_trace *trace)
{
    hd_builder *builder;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    for (uint32_t i = 1; i < hd_trace_string_count(trace); i++) {
        hd_string s = hd_trace_string(trace, i);
        assert_int_equal(hd_builder_intern(builder, s.data, s.size), i);
    }
    for (uint32_t i = 2; i < hd_trace_shape_count(trace); i++) {
        const hd_shape *shape = hd_trace_shape_at(trace, i);
        assert_int_equal(hd_builder_shape(builder, shape->keys, shape->key_count, shape->has_args), i);
    }
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        assert_int_equal(hd_builder_track(builder, track->pid, track->tid, track->kind == HD_TRACK_PROCESS), i);
        hd_builder_set_track(builder, i, track);
    }
    for (size_t i = 0; i < hd_trace_metadata_count(trace); i++) {
        const hd_metadata *m = hd_trace_metadata_at(trace, i);
        hd_builder_metadata(builder, m->key, m->value, m->after_events);
    }
    *hd_builder_facts(builder) = *hd_trace_facts_of(trace);
    return builder;
}

static void add_order(hd_builder *builder, const hd_trace *trace, size_t run)
{
    size_t count;
    uint32_t counts[HD_KIND_COUNT] = {0};
    const uint8_t *order = hd_trace_order_at(&count, trace, run);
    for (size_t i = 0; i < count; i++) counts[order[i]]++;
    assert_int_equal(hd_builder_add_order(builder, counts, run, NULL), HD_OK);
}

static hd_builder *lazy_builder(origin *from)
{
    hd_builder *builder = twin_builder(from->trace);
    hd_block_source source = {from, load_block, load_order, free_idle, close_origin};
    hd_builder_set_source(builder, &source);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(from->trace, (hd_kind)kind); i++) {
            const hd_block *b = hd_trace_block_at(from->trace, (hd_kind)kind, i);
            assert_int_equal(hd_builder_add_block(builder, b->kind, b->row_count, b->start_ns, b->end_ns,
                                                  place_of(b->kind, i), NULL),
                             HD_OK);
        }
    }
    for (size_t run = 0; run < hd_trace_order_count(from->trace); run++) add_order(builder, from->trace, run);
    return builder;
}

static hd_trace *finish_stored(hd_builder *builder)
{
    hd_trace *trace;
    hd_builder_set_stored(builder);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    return trace;
}

/* A document of random events on disk; the caller frees the path. */
static char *document(uint64_t seed, unsigned events)
{
    hd_json_out text = {0};
    char path[] = "/tmp/heddle-test-XXXXXX";
    random_document(&text, &seed, events);
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text.data, text.size), text.size);
    close(file);
    free(text.data);
    return strdup(path);
}

static hd_trace *read_document(const char *path, uint64_t memory_limit)
{
    hd_trace *trace;
    hd_read_options options = {.memory_limit = memory_limit};
    assert_int_equal(hd_trace_read(&trace, path, &options, NULL), HD_OK);
    return trace;
}

static hd_trace *random_trace(uint64_t seed, unsigned events)
{
    char *path = document(seed, events);
    hd_trace *trace = read_document(path, 0);
    unlink(path);
    free(path);
    return trace;
}

static void assert_same(const hd_trace *a, const hd_trace *b)
{
    char *x = dump_trace(a, DUMP_CONTENT), *y = dump_trace(b, DUMP_CONTENT);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

static void test_lazy__blocks_come_when_they_are_asked_for(void **state)
{
    (void)state;
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 30; seed++) {
        hd_trace *trace = random_trace(seed, 60);
        origin from = {trace, NO_PLACE, NO_PLACE, 0, 0, NULL};
        hd_trace *lazy = finish_stored(lazy_builder(&from));
        assert_int_equal(from.loaded, 0);
        assert_same(lazy, trace);
        assert_same(lazy, trace);
        size_t blocks = 0;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) blocks += hd_trace_block_count(trace, (hd_kind)kind);
        assert_int_equal(from.loaded, blocks); /* each once */
        assert_int_equal(hd_trace_unloaded(lazy), 0);
        hd_trace_free(lazy);
        assert_int_equal(from.closed, 1);
        hd_trace_free(trace);
    }
}

/* Slices on one thread, a named instant after each. */
static hd_trace *plain_trace(unsigned blocks, unsigned rows)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = 0; i < rows; i++) {
            hd_row row = hd_row_of(i % 2 ? HD_KIND_INSTANT : HD_KIND_SLICE, i % 2 ? 'i' : 'X');
            row.track = hd_builder_thread(builder, 1, 2);
            row.name = hd_builder_intern_text(builder, i % 2 ? "mark" : "work");
            row.start_ns = 1000 * (b * rows + i) + 1;
            row.duration_ns = 100;
            assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
        }
        assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
        assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    }
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    return trace;
}

static void test_lazy__a_block_that_fails_later_gives_empty_rows(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(3, 10);
    origin from = {trace, place_of(HD_KIND_SLICE, 1), NO_PLACE, 0, 0, NULL};
    hd_trace *lazy = finish_stored(lazy_builder(&from));
    uint32_t row;
    hd_event event;
    const hd_block *block;
    block = hd_trace_block_of(&row, lazy, HD_KIND_SLICE, 7);
    hd_block_event(&event, block, row);
    assert_int_equal(event.start_ns, HD_NO_TIME);
    assert_int_equal(event.track, HD_NONE);
    assert_int_equal(hd_trace_unloaded(lazy), 1);
    assert_int_equal(hd_trace_row_count(lazy, HD_KIND_SLICE), 15);
    hd_trace_free(lazy);
    hd_trace_free(trace);
}

static void assert_same_columns(const hd_block *a, const hd_block *b)
{
    assert_int_equal(a->row_count, b->row_count);
    for (int c = 0; c < HD_COL_COUNT; c++) {
        bool comes_later = c == HD_COL_ARGS_ROW || c == HD_COL_CORRELATION; /* with the arguments */
        for (uint32_t row = 0; row < a->row_count && !comes_later; row++)
            assert_int_equal(hd_column_at(&a->columns[c], row), hd_column_at(&b->columns[c], row));
    }
}

static void *load_columns(void *user)
{
    const hd_trace *trace = user;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_columns_at(trace, (hd_kind)kind, i);
            assert_same_columns(block, block);
        }
    }
    return NULL;
}

static void test_lazy__columns_come_first_and_arguments_when_they_are_asked_for(void **state)
{
    (void)state;
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 30; seed++) {
        hd_trace *trace = random_trace(seed, 60);
        origin from = {trace, NO_PLACE, NO_PLACE, 0, 0, NULL, false};
        hd_builder *builder = lazy_builder(&from);
        if (seed % 2) hd_builder_limit_memory(builder, 1);
        hd_trace *lazy = finish_stored(builder);
        pthread_t reader;
        assert_int_equal(pthread_create(&reader, NULL, load_columns, lazy), 0);
        if (seed % 3) load_columns(lazy);
        assert_same(lazy, trace); /* the reader still reads columns */
        pthread_join(reader, NULL);
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
            for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++)
                assert_same_columns(hd_trace_columns_at(lazy, (hd_kind)kind, i),
                                    hd_trace_block_at(trace, (hd_kind)kind, i));
        }
        assert_int_equal(hd_trace_unloaded(lazy), 0);
        hd_trace_free(lazy);
        hd_trace_free(trace);
    }
}

static void test_lazy__arguments_that_fail_later_leave_the_columns(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(1, 10);
    origin from = {trace, NO_PLACE, NO_PLACE, 0, 0, NULL, true};
    hd_trace *lazy = finish_stored(lazy_builder(&from));
    const hd_block *own = hd_trace_block_at(trace, HD_KIND_SLICE, 0);
    assert_same_columns(hd_trace_columns_at(lazy, HD_KIND_SLICE, 0), own);
    assert_int_equal(hd_trace_unloaded(lazy), 0);
    const hd_block *block = hd_trace_block_at(lazy, HD_KIND_SLICE, 0);
    assert_same_columns(block, own);
    assert_int_equal(block->group_count, 0);
    assert_int_equal(hd_trace_unloaded(lazy), 1);
    hd_trace_free(lazy);
    hd_trace_free(trace);
}

static void walk_over(const hd_trace *lazy, const hd_trace *trace)
{
    hd_block_room whole = {0}, columns = {0}, rows = {0};
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_SLICE); i++) {
        uint32_t at;
        const hd_block *own = hd_trace_block_at(trace, HD_KIND_SLICE, i);
        const hd_block *block = hd_walk_block(&whole, lazy, HD_KIND_SLICE, i);
        assert_same_columns(hd_walk_columns(&columns, lazy, HD_KIND_SLICE, i), own);
        assert_same_columns(block, own);
        assert_int_equal(block->group_count, own->group_count);
        assert_int_equal(block->first_row, own->first_row);
        for (uint64_t row = own->first_row; row < own->first_row + own->row_count; row++) {
            block = hd_walk_row(&at, &rows, lazy, HD_KIND_SLICE, row);
            assert_int_equal(block->first_row + at, row);
        }
    }
    hd_walk_end(&whole, lazy);
    hd_walk_end(&columns, lazy);
    hd_walk_end(&rows, lazy);
}

static void test_walk__beyond_the_memory_limit_no_block_is_kept(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(6, 1000);
    for (int keeps = 0; keeps < 2; keeps++) {
        origin from = {trace, NO_PLACE, NO_PLACE, 0, 0, NULL, false};
        hd_builder *builder = lazy_builder(&from);
        hd_builder_limit_memory(builder, 1);
        hd_trace *lazy = finish_stored(builder);
        if (keeps) hd_trace_keep_visited(lazy);
        hd_trace_block_at(lazy, HD_KIND_INSTANT, 0); /* the file begins: the memory is full */
        uint64_t file_bytes = lazy->spill.file_bytes;
        int loaded = from.loaded;
        walk_over(lazy, trace);
        walk_over(lazy, trace);
        assert_int_equal(lazy->spill.file_bytes > file_bytes, keeps);
        assert_int_equal(from.loaded - loaded, keeps ? 6 : 2 * 3 * 6); /* each room, but not each row */
        assert_int_equal(from.walks_ended, keeps ? 0 : 2 * 3);
        assert_same(lazy, trace);
        assert_int_equal(hd_trace_unloaded(lazy), 0);
        hd_trace_free(lazy);
    }
    hd_trace_free(trace);
}

static void test_walk__backwards_and_over_a_broken_block(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(6, 1000);
    origin from = {trace, place_of(HD_KIND_SLICE, 2), NO_PLACE, 0, 0, NULL, false};
    hd_builder *builder = lazy_builder(&from);
    hd_builder_limit_memory(builder, 1);
    hd_trace *lazy = finish_stored(builder);
    hd_block_room room = {0};
    hd_trace_block_at(lazy, HD_KIND_INSTANT, 0);
    const hd_block *broken = hd_walk_columns(&room, lazy, HD_KIND_SLICE, 2);
    assert_int_equal(hd_column_at(&broken->columns[HD_COL_START], 0), HD_NO_TIME);
    assert_int_equal(hd_trace_unloaded(lazy), 1);
    for (size_t i = 6; i-- > 3;)
        assert_same_columns(hd_walk_columns(&room, lazy, HD_KIND_SLICE, i), hd_trace_block_at(trace, HD_KIND_SLICE, i));
    int loaded = from.loaded;
    hd_walk_columns(&room, lazy, HD_KIND_SLICE, 4); /* kept since the walk went back */
    assert_int_equal(from.loaded, loaded);
    hd_walk_end(&room, lazy);
    hd_trace_free(lazy);
    hd_trace_free(trace);
}

static uint64_t lost_rows[HD_KIND_COUNT + 1];

static void count_lost(void *user, hd_kind kind, uint32_t row_count, uint64_t place, const hd_error *why)
{
    (void)user;
    (void)place;
    assert_int_equal(why->status, HD_ERR_DAMAGED);
    lost_rows[kind] += row_count ? row_count : 1;
}

static void test_lazy__a_block_that_is_lost_costs_its_rows_only(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(3, 10), *left;
    origin from = {trace, place_of(HD_KIND_SLICE, 1), NO_PLACE, 0, 0, NULL};
    hd_builder *builder = lazy_builder(&from);
    uint64_t lost;
    memset(lost_rows, 0, sizeof lost_rows);
    assert_int_equal(hd_builder_load_all(builder, 2, count_lost, NULL, &lost, NULL), HD_OK);
    assert_int_equal(lost, 1);
    assert_int_equal(lost_rows[HD_KIND_SLICE], 5);
    assert_int_equal(hd_builder_finish(&left, builder, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(left, HD_KIND_SLICE), 10);
    assert_int_equal(hd_trace_row_count(left, HD_KIND_INSTANT), 15);
    size_t ordered = 0, count;
    for (size_t run = 0; run < hd_trace_order_count(left); run++) {
        hd_trace_order_at(&count, left, run);
        ordered += count;
    }
    assert_int_equal(ordered, 25);
    uint32_t row;
    hd_event event;
    const hd_block *block;
    block = hd_trace_block_of(&row, left, HD_KIND_SLICE, 5);
    hd_block_event(&event, block, row);
    assert_int_equal(event.start_ns, 20001);
    assert_int_equal(event.row, 5);
    const hd_track *track = hd_trace_track_at(left, event.track);
    assert_int_equal(track->rows[HD_KIND_SLICE], 10);
    hd_trace_free(left);
    hd_trace_free(trace);
}

static void test_lazy__an_order_that_is_lost_costs_no_event(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(2, 10), *left;
    for (order_damage damage = 0; damage < ORDER_DAMAGES; damage++) {
        origin from = {.trace = trace, .broken_block = NO_PLACE, .broken_order = 1, .damage = damage};
        hd_builder *builder = lazy_builder(&from);
        uint64_t lost;
        memset(lost_rows, 0, sizeof lost_rows);
        assert_int_equal(hd_builder_load_all(builder, 1, count_lost, NULL, &lost, NULL), HD_OK);
        assert_int_equal(lost, 1);
        assert_int_equal(lost_rows[HD_KIND_COUNT], 1);
        assert_int_equal(hd_builder_finish(&left, builder, NULL), HD_OK);
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, left, 1);
        assert_int_equal(count, 10);
        for (size_t i = 0; i < count; i++) assert_int_equal(order[i], i < 5 ? HD_KIND_SLICE : HD_KIND_INSTANT);
        assert_int_equal(hd_trace_event_count(left), 20);
        hd_trace_free(left);
    }
    hd_trace_free(trace);
}

static void count_order(uint64_t out[HD_KIND_COUNT], const hd_trace *trace)
{
    memset(out, 0, HD_KIND_COUNT * sizeof *out);
    for (size_t run = 0; run < hd_trace_order_count(trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, trace, run);
        for (size_t i = 0; i < count; i++) out[order[i]]++;
    }
}

static void test_lazy__an_order_that_does_not_fit_is_made_to(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(3, 10);
    uint64_t counts[HD_KIND_COUNT];
    for (int leave_out = 0; leave_out < 2; leave_out++) {
        origin from = {trace, NO_PLACE, NO_PLACE, 0, 0, NULL};
        hd_builder *builder = twin_builder(trace);
        hd_block_source source = {&from, load_block, load_order, NULL, close_origin};
        hd_builder_set_source(builder, &source);
        /* blocks of the first two runs, order of all three; or the other way round */
        for (size_t i = 0; i < (leave_out ? 3u : 2u); i++) {
            for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
                if (i >= hd_trace_block_count(trace, (hd_kind)kind)) continue;
                const hd_block *b = hd_trace_block_at(trace, (hd_kind)kind, i);
                assert_int_equal(hd_builder_add_block(builder, b->kind, b->row_count, b->start_ns, b->end_ns,
                                                      place_of(b->kind, i), NULL),
                                 HD_OK);
            }
        }
        for (size_t run = 0; run < (leave_out ? 2u : 3u); run++) add_order(builder, trace, run);
        hd_trace *lazy = finish_stored(builder);
        count_order(counts, lazy);
        for (int kind = 0; kind < HD_KIND_COUNT; kind++)
            assert_int_equal(counts[kind], hd_trace_row_count(lazy, (hd_kind)kind));
        assert_int_equal(counts[HD_KIND_SLICE], leave_out ? 15 : 10);
        hd_trace_free(lazy);
    }
    hd_trace_free(trace);
}

static void test_spill__a_trace_beyond_the_memory_limit_is_the_same(void **state)
{
    (void)state;
    for (uint64_t first = hd_test_seed(100), seed = first; seed < first + 30; seed++) {
        char *path = document(seed, 200);
        hd_trace *trace = read_document(path, 0), *spilled = read_document(path, 1);
        assert_same(spilled, trace);
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
            for (size_t i = 0; i < hd_trace_block_count(spilled, (hd_kind)kind); i++)
                hd_trace_release(spilled, hd_trace_block_at(spilled, (hd_kind)kind, i));
        }
        assert_same(spilled, trace); /* what was given back comes again */
        hd_trace_free(trace);
        hd_trace_free(spilled);
        unlink(path);
        free(path);
    }
}

static void test_spill__lazy_blocks_go_to_the_file_too(void **state)
{
    (void)state;
    for (uint64_t first = hd_test_seed(200), seed = first; seed < first + 10; seed++) {
        hd_trace *trace = random_trace(seed, 100);
        origin from = {trace, NO_PLACE, NO_PLACE, 0, 0, NULL};
        hd_builder *builder = lazy_builder(&from);
        hd_builder_limit_memory(builder, 1);
        uint64_t lost;
        assert_int_equal(hd_builder_load_all(builder, 4, count_lost, NULL, &lost, NULL), HD_OK);
        assert_int_equal(lost, 0);
        hd_trace *lazy = finish_stored(builder);
        assert_same(lazy, trace);
        hd_trace_free(lazy);
        hd_trace_free(trace);
    }
}

/* One of two threads that load blocks in turn, and give each back. */
typedef struct half {
    const hd_trace *trace;
    size_t first;
} half;

static void *load_half(void *user)
{
    const half *part = user;
    size_t count = hd_trace_block_count(part->trace, HD_KIND_SLICE);
    for (size_t i = part->first; i < count; i += 2)
        hd_trace_release(part->trace, hd_trace_block_at(part->trace, HD_KIND_SLICE, i));
    return NULL;
}

/* What ThreadSanitizer must see nothing in; and what was given back comes again. */
static void test_spill__a_block_is_given_back_while_another_comes(void **state)
{
    (void)state;
    hd_trace *trace = plain_trace(16, 2000);
    origin from = {trace, NO_PLACE, NO_PLACE, 0, 0, NULL};
    hd_builder *builder = lazy_builder(&from);
    hd_builder_limit_memory(builder, 1);
    hd_trace *lazy = finish_stored(builder);
    from.apart = &lazy->spill;
    half halves[] = {{lazy, 0}, {lazy, 1}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, load_half, &halves[1]), 0);
    load_half(&halves[0]);
    pthread_join(thread, NULL);
    assert_int_equal(hd_trace_unloaded(lazy), 0);
    assert_same(lazy, trace);
    hd_trace_free(lazy);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lazy__blocks_come_when_they_are_asked_for),
        cmocka_unit_test(test_lazy__a_block_that_fails_later_gives_empty_rows),
        cmocka_unit_test(test_lazy__columns_come_first_and_arguments_when_they_are_asked_for),
        cmocka_unit_test(test_lazy__arguments_that_fail_later_leave_the_columns),
        cmocka_unit_test(test_walk__beyond_the_memory_limit_no_block_is_kept),
        cmocka_unit_test(test_walk__backwards_and_over_a_broken_block),
        cmocka_unit_test(test_lazy__a_block_that_is_lost_costs_its_rows_only),
        cmocka_unit_test(test_lazy__an_order_that_is_lost_costs_no_event),
        cmocka_unit_test(test_lazy__an_order_that_does_not_fit_is_made_to),
        cmocka_unit_test(test_spill__a_trace_beyond_the_memory_limit_is_the_same),
        cmocka_unit_test(test_spill__lazy_blocks_go_to_the_file_too),
        cmocka_unit_test(test_spill__a_block_is_given_back_while_another_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
