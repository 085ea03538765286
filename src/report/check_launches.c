/* check_launches.c - GPU work and the calls that launched it, by correlation id
 *
 * GPU side  slices of the categories of kernels, copies and sets with an argument correlation or correlationId
 * CPU side  slices of a runtime or driver category with one
 * An id may have several of both: graphs launch many kernels. Work is early when it starts before the first call of
 * its id, so that ids that several ranks of a merged trace share give no false alarm. Id 0 means none.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vector.h"
#include "heddle/builder.h"
#include "report/check.h"

enum { SIDE_UNKNOWN, SIDE_NONE, SIDE_CPU, SIDE_GPU };

typedef struct launch_item {
    int64_t id, start_ns;
    uint32_t row;
    uint8_t side;
} launch_item;

typedef struct launches {
    check *c;
    uint8_t *sides; /* by string id of the category */
    launch_item *items;
    size_t count, capacity;
    uint64_t cpu_count, gpu_count;
    int8_t id_keys[HD_SHAPE_LIMIT]; /* by shape: index of its id among the first 127 arguments, -1 none */
    uint8_t id_types[HD_SHAPE_LIMIT];
} launches;

static bool contains(hd_string text, const char *part)
{
    size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++) {
        size_t at = 0;
        while (at < size && tolower((unsigned char)text.data[i + at]) == part[at]) at++;
        if (at == size) return true;
    }
    return false;
}

static bool is_any(hd_string text, const char *const *list)
{
    for (; *list; list++) {
        if (text.size == strlen(*list) && memcmp(text.data, *list, text.size) == 0) return true;
    }
    return false;
}

static uint8_t side_of(hd_string category)
{
    static const char *const gpu[] = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel",     "Memcpy",
                                      "Memset", "GPU_Kernel", "GPU_Memcpy", "GPU_Memset", NULL};
    if (is_any(category, gpu)) return SIDE_GPU;
    if (contains(category, "runtime") || contains(category, "driver") || contains(category, "hip_api")) return SIDE_CPU;
    return SIDE_NONE;
}

/* ---- collecting ------------------------------------------------------------------------------------------ */

static void find_id_keys(launches *l)
{
    static const char *const names[] = {"correlation", "correlationId", "correlation_id"};
    const hd_trace *trace = l->c->trace;
    memset(l->id_keys, -1, sizeof l->id_keys);
    for (uint32_t s = 0; s < hd_trace_shape_count(trace) && s < HD_SHAPE_LIMIT; s++) {
        const hd_shape *shape = hd_trace_shape_at(trace, s);
        for (size_t i = 0; i < sizeof names / sizeof *names && l->id_keys[s] < 0; i++) {
            uint32_t key = hd_trace_find_string(trace, names[i], strlen(names[i]));
            int index = key == HD_STRING_NONE ? -1 : hd_shape_find(shape, key, HD_SCOPE_ARGS);
            if (index < 0 || index > INT8_MAX) continue;
            l->id_keys[s] = (int8_t)index;
            l->id_types[s] = shape->keys[index].type;
        }
    }
}

static bool id_of(int64_t *out, const launches *l, const hd_block *block, uint32_t row)
{
    uint32_t shape = (uint32_t)hd_column_at(&block->columns[HD_COL_SHAPE], row);
    if (shape >= HD_SHAPE_LIMIT || l->id_keys[shape] < 0) return false;
    hd_event event;
    hd_block_event(&event, block, row);
    if (!event.args) return false;
    if (l->id_types[shape] == HD_ARG_INT) {
        *out = hd_column_at(&event.args->columns[l->id_keys[shape]], event.args_row);
        return *out != 0;
    }
    uint32_t key = hd_trace_shape_at(l->c->trace, shape)->keys[l->id_keys[shape]].key;
    return hd_event_arg_int(out, l->c->trace, &event, key) && *out != 0;
}

static bool collect_block(launches *l, const hd_block *block)
{
    const hd_column *columns = block->columns;
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint32_t category = (uint32_t)hd_column_at(&columns[HD_COL_CATEGORY], i);
        uint8_t *side = &l->sides[category];
        if (*side == SIDE_UNKNOWN) *side = side_of(hd_trace_string(l->c->trace, category));
        int64_t id;
        if (*side == SIDE_NONE || !id_of(&id, l, block, i)) continue;
        if (!hd_grow((void **)&l->items, &l->capacity, l->count, sizeof *l->items)) return false;
        int64_t start = hd_column_at(&columns[HD_COL_START], i);
        if (start == HD_NO_TIME) continue;
        l->items[l->count++] = (launch_item){id, start, (uint32_t)(block->first_row + i), *side};
        *(*side == SIDE_CPU ? &l->cpu_count : &l->gpu_count) += 1;
    }
    return true;
}

/* ---- matching -------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const launch_item *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->side != y->side) return x->side < y->side ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static hd_event event_of(const launches *l, const launch_item *item)
{
    hd_event event;
    uint32_t row;
    const hd_block *block = hd_trace_block_of(l->c->trace, HD_KIND_SLICE, item->row, &row);
    hd_block_event(&event, block, row);
    return event;
}

static void found(launches *l, check_code code, const launch_item *item)
{
    hd_event event = event_of(l, item);
    if (event.track != HD_NONE) check_found(l->c, code, event.track, CHECK_EVENT(HD_KIND_SLICE, item->row));
}

static bool launches_something(hd_string name)
{
    return contains(name, "launch") || contains(name, "memcpy") || contains(name, "memset");
}

/* The items of one id, calls first, each side in the order of time. */
static void match(launches *l, const launch_item *items, size_t count)
{
    size_t gpu = 0;
    while (gpu < count && items[gpu].side == SIDE_CPU) gpu++;
    for (size_t i = 0; gpu == count && i < count; i++) {
        if (launches_something(hd_trace_string(l->c->trace, event_of(l, &items[i]).name)))
            found(l, CHECK_LAUNCH_WITHOUT_GPU, &items[i]);
    }
    for (size_t i = gpu; i < count; i++) {
        if (gpu == 0) {
            found(l, CHECK_GPU_WITHOUT_LAUNCH, &items[i]);
        } else if (items[i].start_ns < items[0].start_ns) {
            hd_event event = event_of(l, &items[i]);
            if (event.track == HD_NONE) continue;
            check_found(l->c, CHECK_GPU_BEFORE_LAUNCH, event.track,
                        CHECK_PAIR(HD_KIND_SLICE, items[i].row, HD_KIND_SLICE, items[0].row,
                                   items[0].start_ns - items[i].start_ns));
        }
    }
}

hd_status check_launches(check *c, hd_error *err)
{
    launches *l = calloc(1, sizeof *l);
    if (!l) return HD_NOMEM(err);
    l->c = c;
    l->sides = calloc((size_t)hd_trace_string_count(c->trace) + 1, 1);
    bool fine = l->sides != NULL;
    find_id_keys(l);
    for (size_t b = 0; fine && b < hd_trace_block_count(c->trace, HD_KIND_SLICE); b++)
        fine = collect_block(l, hd_trace_block_at(c->trace, HD_KIND_SLICE, b));
    if (fine && l->count) qsort(l->items, l->count, sizeof *l->items, by_id);
    /* A recording of one side only lacks every partner: nothing is wrong with single events. */
    bool both = l->cpu_count && l->gpu_count;
    for (size_t i = 0, next; fine && both && i < l->count; i = next) {
        for (next = i + 1; next < l->count && l->items[next].id == l->items[i].id;) next++;
        match(l, l->items + i, next - i);
    }
    free(l->sides);
    free(l->items);
    free(l);
    return fine ? HD_OK : HD_NOMEM(err);
}
