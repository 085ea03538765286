/* lazy.c - blocks that are loaded on first use */
#include "trace/lazy.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "trace/column.h"
#include "trace/correlation.h"
#include "trace/impl.h"

typedef enum lazy_state { NOT_LOADED, COLUMNS_LOADED, LOADED, NOT_LOADABLE } lazy_state;

/* An item that one thread loads while others wait. */
typedef struct lazy_item {
    _Atomic(lazy_state) state;
    pthread_mutex_t lock;
    uint64_t place;
    hd_error error;
} lazy_item;

typedef struct lazy_block {
    hd_block block; /* first member: a table's pointer to it is a pointer to the lazy_block */
    lazy_item item;
    hd_arena arena;
    hd_arena args; /* memory of parts loaded after the columns */
} lazy_block;

typedef struct lazy_order {
    hd_chunk chunk; /* likewise; without blocks */
    lazy_item item;
    uint32_t counts[HD_KIND_COUNT];
} lazy_order;

struct hd_lazy {
    hd_block_source source;
    lazy_block **blocks; /* all of them, including those removed from the tables */
    size_t block_count, block_capacity;
    lazy_order **orders;
    size_t order_count, order_capacity;
    int64_t shift_ns; /* added to times when they are loaded */
    atomic_uint_fast64_t unloaded;
    _Atomic(const hd_error *) gone; /* the error of the first item that the input could not deliver, NULL: none */
};

static void item_init(lazy_item *item, uint64_t place)
{
    item->place = place;
    pthread_mutex_init(&item->lock, NULL);
}

void hd_lazy_free(hd_lazy *lazy)
{
    if (!lazy) return;
    for (size_t i = 0; i < lazy->block_count; i++) {
        hd_arena_deinit(&lazy->blocks[i]->arena);
        hd_arena_deinit(&lazy->blocks[i]->args);
        pthread_mutex_destroy(&lazy->blocks[i]->item.lock);
        free(lazy->blocks[i]);
    }
    for (size_t i = 0; i < lazy->order_count; i++) {
        free(lazy->orders[i]->chunk.order);
        pthread_mutex_destroy(&lazy->orders[i]->item.lock);
        free(lazy->orders[i]);
    }
    if (lazy->source.close) lazy->source.close(lazy->source.user);
    free(lazy->blocks);
    free(lazy->orders);
    free(lazy);
}

uint64_t hd_trace_unloaded(const hd_trace *trace)
{
    return (trace->lazy ? atomic_load(&trace->lazy->unloaded) : 0) +
           (trace->kept && hd_kept_stacks_failed(trace->kept));
}

hd_status hd_trace_input_status(const hd_trace *trace, hd_error *err)
{
    const hd_error *gone = trace->lazy ? atomic_load(&trace->lazy->gone) : NULL;
    if (!gone) return HD_OK;
    if (err) *err = *gone;
    return gone->status;
}

/* Counts an item that can never be loaded. */
static void note_unloaded(hd_lazy *lazy, const lazy_item *item)
{
    const hd_error *none = NULL;
    atomic_fetch_add(&lazy->unloaded, 1);
    bool may_differ = item->error.status == HD_ERR_IO || item->error.status == HD_ERR_MEMORY; /* from a walk before */
    if (may_differ) atomic_compare_exchange_strong(&lazy->gone, &none, &item->error);
}

/* ---- loading ---- */

/* Columns of rows without any data. */
static void empty_columns(hd_block *block)
{
    memset(block->columns, 0, sizeof block->columns);
    block->columns[HD_COL_START].base = block->columns[HD_COL_DURATION].base = HD_NO_TIME;
    block->columns[HD_COL_TRACK].base = HD_NONE;
    block->columns[HD_COL_PARTNER].base = -1;
    block->columns[HD_COL_CORRELATION].base = HD_NO_CORRELATION;
    block->groups = NULL;
    block->group_count = 0;
}

static hd_status decode(hd_block *block, hd_arena *arena, hd_trace *trace, uint64_t place, bool columns_only,
                        hd_error *err)
{
    const hd_block_source *source = &trace->lazy->source;
    HD_TRY(source->load_block(source->user, block, arena, place, columns_only, err));
    if (!hd_correlation_fill(block, trace, arena, NULL)) return HD_NOMEM(err);
    return hd_shift_block(trace, block, arena, trace->lazy->shift_ns, err);
}

static hd_status load_into(hd_block *block, hd_arena *arena, hd_trace *trace, lazy_item *item, bool columns_only)
{
    hd_block loaded = *block; /* other threads read the block's extent meanwhile */
    HD_TRY(decode(&loaded, arena, trace, item->place, columns_only, &item->error));
    HD_TRY(hd_spill_block(&trace->spill, hd_shapes_list(&trace->shapes), &loaded, arena, &item->error));
    *block = loaded;
    return HD_OK;
}

static lazy_state load_block(hd_trace *trace, lazy_block *lazy, bool columns_only)
{
    if (load_into(&lazy->block, &lazy->arena, trace, &lazy->item, columns_only) == HD_OK)
        return columns_only ? COLUMNS_LOADED : LOADED;
    empty_columns(&lazy->block);
    hd_arena_deinit(&lazy->arena);
    return NOT_LOADABLE;
}

/* The columns stay in place, since other threads read them. If arguments cannot be read the rows have none. */
static lazy_state load_args(hd_trace *trace, lazy_block *lazy)
{
    hd_block whole = lazy->block;
    if (load_into(&whole, &lazy->args, trace, &lazy->item, false) != HD_OK) {
        hd_arena_deinit(&lazy->args);
        return NOT_LOADABLE;
    }
    lazy->block.columns[HD_COL_ARGS_ROW] = whole.columns[HD_COL_ARGS_ROW];
    lazy->block.columns[HD_COL_CORRELATION] = whole.columns[HD_COL_CORRELATION];
    lazy->block.groups = whole.groups;
    lazy->block.group_count = whole.group_count;
    return LOADED;
}

static lazy_state load_order(hd_trace *trace, lazy_order *lazy)
{
    const hd_block_source *source = &trace->lazy->source;
    size_t count = lazy->chunk.order_count, at = 0;
    uint8_t *order = malloc(count + 1);
    hd_status status = order ? HD_OK : HD_NOMEM(&lazy->item.error);
    if (status == HD_OK) status = source->load_order(source->user, order, count, lazy->item.place, &lazy->item.error);
    uint32_t counts[HD_KIND_COUNT] = {0};
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        if (order[i] >= HD_KIND_COUNT)
            status = hd_error_set(&lazy->item.error, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "an event of no known kind");
        else
            counts[order[i]]++;
    }
    if (status == HD_OK && memcmp(counts, lazy->counts, sizeof counts) != 0)
        status = hd_error_set(&lazy->item.error, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE,
                              "a run of the events' order holds other kinds than it says");
    for (int kind = 0; kind < HD_KIND_COUNT && order && status != HD_OK; kind++) {
        memset(order + at, kind, lazy->counts[kind]);
        at += lazy->counts[kind];
    }
    lazy->chunk.order = order;
    if (!order) lazy->chunk.order_count = 0;
    return status == HD_OK ? LOADED : NOT_LOADABLE;
}

static bool is_there(lazy_state state, bool columns_only)
{
    return state > COLUMNS_LOADED || (columns_only && state == COLUMNS_LOADED);
}

void hd_lazy_load_block(const hd_trace *trace, const hd_block *block, bool columns_only)
{
    lazy_block *lazy = (lazy_block *)(uintptr_t)block; /* every block of a trace with a source is a lazy_block */
    if (is_there(atomic_load_explicit(&lazy->item.state, memory_order_acquire), columns_only)) return;
    pthread_mutex_lock(&lazy->item.lock);
    lazy_state state = atomic_load(&lazy->item.state);
    if (!is_there(state, columns_only)) {
        hd_trace *own = (hd_trace *)(uintptr_t)trace;
        state = state == NOT_LOADED ? load_block(own, lazy, columns_only) : load_args(own, lazy);
        if (state == NOT_LOADABLE) note_unloaded(trace->lazy, &lazy->item);
        atomic_store_explicit(&lazy->item.state, state, memory_order_release);
    }
    pthread_mutex_unlock(&lazy->item.lock);
}

bool hd_lazy_visit(hd_block_room *room, const hd_trace *trace, const hd_block *block, bool columns_only)
{
    lazy_block *lazy = (lazy_block *)(uintptr_t)block;
    hd_trace *own = (hd_trace *)(uintptr_t)trace;
    if (is_there(atomic_load_explicit(&lazy->item.state, memory_order_acquire), columns_only)) return false;
    if (!hd_spill_is_full(&own->spill)) return false;
    pthread_mutex_lock(&lazy->item.lock);
    bool wanted = !is_there(atomic_load(&lazy->item.state), columns_only);
    room->block = lazy->block;
    pthread_mutex_unlock(&lazy->item.lock);
    hd_arena_empty(&room->arena);
    return wanted && decode(&room->block, &room->arena, own, lazy->item.place, columns_only, NULL) == HD_OK;
}

void hd_lazy_free_idle(const hd_trace *trace)
{
    const hd_block_source *source = &trace->lazy->source;
    if (source->free_idle && !trace->spill.keeps_visited) source->free_idle(source->user);
}

void hd_lazy_load_order(const hd_trace *trace, const hd_chunk *run)
{
    lazy_order *lazy = (lazy_order *)(uintptr_t)run;
    if (atomic_load_explicit(&lazy->item.state, memory_order_acquire) != NOT_LOADED) return;
    pthread_mutex_lock(&lazy->item.lock);
    if (atomic_load(&lazy->item.state) == NOT_LOADED) {
        lazy_state state = load_order((hd_trace *)(uintptr_t)trace, lazy);
        if (state == NOT_LOADABLE) note_unloaded(trace->lazy, &lazy->item);
        atomic_store_explicit(&lazy->item.state, state, memory_order_release);
    }
    pthread_mutex_unlock(&lazy->item.lock);
}

hd_status hd_lazy_shift(hd_trace *trace, int64_t ns, hd_error *err)
{
    hd_lazy *lazy = trace->lazy;
    for (size_t i = 0; i < lazy->block_count; i++) {
        lazy_block *block = lazy->blocks[i];
        lazy_state state = atomic_load(&block->item.state);
        if (state == COLUMNS_LOADED || state == LOADED)
            HD_TRY(hd_shift_block(trace, &block->block, &block->arena, ns, err));
        else
            hd_shift_extent(&block->block, ns);
    }
    lazy->shift_ns = (int64_t)((uint64_t)lazy->shift_ns + (uint64_t)ns);
    return HD_OK;
}

/* ---- building ---- */

void hd_builder_set_source(hd_builder *builder, const hd_block_source *source)
{
    hd_trace *trace = &builder->trace;
    trace->lazy = calloc(1, sizeof *trace->lazy);
    if (trace->lazy)
        trace->lazy->source = *source;
    else if (source->close)
        source->close(source->user);
}

hd_status hd_builder_add_block(hd_builder *builder, hd_kind kind, uint32_t row_count, int64_t start_ns, int64_t end_ns,
                               uint64_t place, hd_error *err)
{
    hd_trace *trace = &builder->trace;
    hd_lazy *lazy = trace->lazy;
    hd_table *table = &trace->tables[kind];
    if (!lazy || !hd_grow((void **)&lazy->blocks, &lazy->block_capacity, lazy->block_count, sizeof *lazy->blocks) ||
        !hd_grow((void **)&table->blocks, &table->capacity, table->count, sizeof *table->blocks))
        return HD_NOMEM(err);
    lazy_block *block = calloc(1, sizeof *block);
    if (!block) return HD_NOMEM(err);
    item_init(&block->item, place);
    block->block = (hd_block){
        .kind = kind, .row_count = row_count, .first_row = table->row_count, .start_ns = start_ns, .end_ns = end_ns};
    lazy->blocks[lazy->block_count++] = block;
    table->blocks[table->count++] = &block->block;
    table->row_count += row_count;
    return HD_OK;
}

/* The chunk of a new order run, without its kinds. */
static lazy_order *add_order(hd_trace *trace, const uint32_t counts[HD_KIND_COUNT], uint64_t place)
{
    hd_lazy *lazy = trace->lazy;
    if (!lazy || !hd_grow((void **)&lazy->orders, &lazy->order_capacity, lazy->order_count, sizeof *lazy->orders) ||
        !hd_grow((void **)&trace->chunk_list, &trace->chunk_capacity, trace->chunk_count, sizeof *trace->chunk_list))
        return NULL;
    lazy_order *order = calloc(1, sizeof *order);
    if (!order) return NULL;
    item_init(&order->item, place);
    memcpy(order->counts, counts, sizeof order->counts);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) order->chunk.order_count += counts[kind];
    lazy->orders[lazy->order_count++] = order;
    trace->chunk_list[trace->chunk_count++] = &order->chunk;
    return order;
}

hd_status hd_builder_add_order(hd_builder *builder, const uint32_t counts[HD_KIND_COUNT], uint64_t place, hd_error *err)
{
    return add_order(&builder->trace, counts, place) ? HD_OK : HD_NOMEM(err);
}

void hd_builder_set_track(hd_builder *builder, uint32_t track, const hd_track *stored)
{
    hd_track *own = &builder->trace.tracks.list[track];
    uint32_t id = own->id;
    hd_ident pid = own->pid, tid = own->tid;
    *own = *stored;
    own->id = id;
    own->pid = pid;
    own->tid = tid;
}

/* ---- an order that fits the blocks ---- */

/* Removes from an order run the events whose row (counted from seen on) the visitor rejects. */
typedef bool keep_row(const void *user, int kind, uint64_t row);

static void thin_order(const hd_trace *trace, keep_row *keep, const void *user)
{
    uint64_t seen[HD_KIND_COUNT] = {0};
    for (size_t i = 0; i < trace->lazy->order_count; i++) {
        lazy_order *order = trace->lazy->orders[i];
        hd_lazy_load_order(trace, &order->chunk);
        size_t kept = 0;
        for (size_t e = 0; e < order->chunk.order_count; e++) {
            uint8_t kind = order->chunk.order[e];
            if (keep(user, kind, seen[kind]++))
                order->chunk.order[kept++] = kind;
            else
                order->counts[kind]--;
        }
        order->chunk.order_count = kept;
    }
}

static bool within_table(const void *user, int kind, uint64_t row)
{
    return row < ((const hd_trace *)user)->tables[kind].row_count;
}

static hd_status fit_order(hd_trace *trace, hd_error *err)
{
    uint64_t ordered[HD_KIND_COUNT] = {0};
    bool too_many = false;
    for (size_t i = 0; i < trace->lazy->order_count; i++) {
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) ordered[kind] += trace->lazy->orders[i]->counts[kind];
    }
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) too_many |= ordered[kind] > trace->tables[kind].row_count;
    if (too_many) thin_order(trace, within_table, trace);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        while (ordered[kind] < trace->tables[kind].row_count) {
            enum { RUN = 1 << 20 };
            uint64_t missing = trace->tables[kind].row_count - ordered[kind];
            uint32_t counts[HD_KIND_COUNT] = {0};
            counts[kind] = missing < RUN ? (uint32_t)missing : RUN;
            lazy_order *order = add_order(trace, counts, 0);
            if (order) order->chunk.order = malloc(counts[kind]);
            if (!order || !order->chunk.order) return HD_NOMEM(err);
            memset(order->chunk.order, kind, counts[kind]);
            atomic_store(&order->item.state, LOADED);
            ordered[kind] += counts[kind];
        }
    }
    return HD_OK;
}

/* ---- all at once ---- */

typedef struct load_work {
    hd_trace *trace;
    atomic_size_t next;
} load_work;

static void load_some(void *argument)
{
    load_work *work = argument;
    hd_lazy *lazy = work->trace->lazy;
    size_t i;
    while ((i = atomic_fetch_add(&work->next, 1)) < lazy->block_count + lazy->order_count) {
        if (i < lazy->block_count)
            hd_lazy_load_block(work->trace, &lazy->blocks[i]->block, false);
        else
            hd_lazy_load_order(work->trace, &lazy->orders[i - lazy->block_count]->chunk);
    }
}

static bool was_lost(const hd_block *block)
{
    return atomic_load(&((lazy_block *)(uintptr_t)block)->item.state) == NOT_LOADABLE;
}

static bool in_loaded_block(const void *user, int kind, uint64_t row)
{
    uint32_t at;
    const hd_trace *trace = user;
    return row >= trace->tables[kind].row_count || !was_lost(hd_trace_block_of(&at, trace, (hd_kind)kind, row));
}

/* Lost blocks are removed from their table; data computed by finish is reset. */
static void drop_lost(hd_trace *trace)
{
    thin_order(trace, in_loaded_block, trace);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        hd_table *table = &trace->tables[kind];
        size_t kept = 0;
        table->row_count = 0;
        for (size_t i = 0; i < table->count; i++) {
            hd_block *block = table->blocks[i];
            if (was_lost(block)) continue;
            block->first_row = table->row_count;
            block->columns[HD_COL_PARTNER] = (hd_column){.base = -1};
            table->row_count += block->row_count;
            table->blocks[kept++] = block;
        }
        table->count = kept;
    }
    for (uint32_t i = 0; i < trace->tracks.count; i++) {
        hd_track *track = &trace->tracks.list[i];
        memset(track->rows, 0, sizeof track->rows);
        track->start_ns = track->end_ns = HD_NO_TIME;
    }
    trace->facts.start_ns = trace->facts.end_ns = HD_NO_TIME;
}

static uint64_t tell_lost(const hd_lazy *lazy, hd_block_lost *lost, void *user)
{
    uint64_t count = 0;
    for (size_t i = 0; i < lazy->block_count; i++) {
        const lazy_block *block = lazy->blocks[i];
        if (!was_lost(&block->block)) continue;
        lost(user, block->block.kind, block->block.row_count, block->item.place, &block->item.error);
        count++;
    }
    for (size_t i = 0; i < lazy->order_count; i++) {
        const lazy_order *order = lazy->orders[i];
        if (atomic_load(&order->item.state) != NOT_LOADABLE) continue;
        lost(user, HD_KIND_COUNT, 0, order->item.place, &order->item.error);
        count++;
    }
    return count;
}

hd_status hd_builder_load_all(hd_builder *builder, unsigned threads, hd_block_lost *lost, void *user,
                              uint64_t *out_lost, hd_error *err)
{
    hd_trace *trace = &builder->trace;
    *out_lost = 0;
    if (!trace->lazy) return HD_NOMEM(err);
    load_work work = {.trace = trace};
    size_t count = trace->lazy->block_count + trace->lazy->order_count;
    hd_threads_run(load_some, &work, 0, hd_thread_count(threads, count));
    for (size_t i = 0; i < count; i++) {
        size_t blocks = trace->lazy->block_count;
        const lazy_item *item = i < blocks ? &trace->lazy->blocks[i]->item : &trace->lazy->orders[i - blocks]->item;
        /* no memory, no disk, a file that changed: not the file's damage */
        if (item->error.status != HD_ERR_MEMORY && item->error.status != HD_ERR_IO) continue;
        if (err && err->status == HD_OK) *err = item->error;
        return item->error.status;
    }
    HD_TRY(fit_order(trace, err));
    *out_lost = tell_lost(trace->lazy, lost, user);
    if (*out_lost) drop_lost(trace);
    atomic_store(&trace->lazy->unloaded, 0); /* these blocks no longer belong to the trace */
    return HD_OK;
}

void hd_builder_set_stored(hd_builder *builder)
{
    builder->stored = true;
}

hd_status hd_lazy_finish(hd_trace **out, hd_builder *builder, hd_error *err)
{
    hd_trace *trace = &builder->trace;
    *out = NULL;
    hd_status status = HD_OK;
    if (hd_builder_failed(builder) || !trace->lazy) status = HD_NOMEM(err);
    if (status == HD_OK) status = fit_order(trace, err);
    if (status != HD_OK) {
        hd_trace_free(trace);
        return status;
    }
    hd_strings_freeze(&trace->strings);
    *out = trace;
    return HD_OK;
}
