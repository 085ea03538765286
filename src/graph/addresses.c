/* addresses.c - copies that read what others have written, by the addresses that they tell
 *
 * A copy reads its bytes at the source when it starts, and copies and sets have written those at the destination when
 * they end. In the order of time, a segment tree over all ends of such ranges holds who wrote each byte last. What
 * kernels read and write no trace tells. Addresses are those of one process of one rank.
 */
#include <stdlib.h>

#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "trace/event.h"

enum { NAMES = 3, WRITERS_MOST = 64 };

/* clang-format off */
static const char *const names[][NAMES] = {
    {"source address", "source", "src"},
    {"destination address", "destination", "dst"},
    {"bytes", "Bytes", "size"},
};
/* clang-format on */
typedef enum part { PART_SOURCE, PART_DESTINATION, PART_BYTES, PARTS } part;

typedef struct place {
    int64_t rank;
    uint32_t process;
    uint64_t address;
} place;

typedef struct access {
    int64_t time;
    place begin, end;
    uint32_t node, turn; /* of equal times: what has ended, what has no length, what begins */
    bool is_write;
} access;

typedef struct accesses {
    graph_maker *m;
    uint32_t keys[PARTS][NAMES];
    access *list;
    size_t count, capacity;
    place *places; /* in order, each once */
    size_t place_count;
    uint32_t *tree; /* from 1 on, the leaves behind the rest: who wrote all of it; HD_NONE: nobody */
    size_t leaves;
} accesses;

enum { MIXED = HD_NONE - 1 };

static inline bool is_place_before(const place *x, const place *y)
{
    if (x->rank != y->rank) return x->rank < y->rank;
    return x->process != y->process ? x->process < y->process : x->address < y->address;
}

/* ---- what copies tell ---- */

/* false: there are none. */
static bool find_keys(accesses *a)
{
    bool any[PARTS] = {false};
    for (int p = 0; p < PARTS; p++) {
        for (int i = 0; i < NAMES; i++) {
            a->keys[p][i] = hd_trace_find_string(a->m->trace, names[p][i], strlen(names[p][i]));
            any[p] |= a->keys[p][i] != HD_STRING_NONE;
        }
    }
    return any[PART_SOURCE] && any[PART_DESTINATION] && any[PART_BYTES];
}

/* Not 0. */
static bool number_of(uint64_t *out, const accesses *a, const hd_event *event, part of)
{
    for (int i = 0; i < NAMES; i++) {
        if (hd_event_arg_address(out, a->m->trace, event, a->keys[of][i]) && *out) return true;
    }
    return false;
}

/* Of the call: the row of a device is no process. HD_NONE: not known. */
static uint32_t process_of(const graph_maker *m, const hd_work *work)
{
    if (work->launch == HD_NONE) return HD_NONE;
    uint32_t track = m->launches->launches[work->launch].track;
    if (track >= hd_trace_track_count(m->trace)) return HD_NONE;
    uint32_t parent = hd_trace_track_at(m->trace, track)->parent;
    return parent == HD_NONE ? graph_lane_of_track(m->trace, track) : graph_lane_of_track(m->trace, parent);
}

static bool add_access(accesses *a, const access *like, uint64_t address, uint64_t bytes)
{
    if (!hd_large_grow((void **)&a->list, &a->capacity, a->count, sizeof *a->list, a->m->large)) return false;
    access *new = &a->list[a->count++];
    *new = *like;
    new->begin.address = address;
    new->end.address = address + bytes;
    return true;
}

static bool add_work(accesses *a, uint32_t index)
{
    const graph_maker *m = a->m;
    const hd_work *work = &m->launches->works[index];
    uint32_t node = m->nodes_of[index];
    uint64_t bytes, address;
    if (node == HD_NONE || work->role == HD_ROLE_KERNEL) return true;
    hd_event event = hd_event_at(m->trace, HD_KIND_SLICE, work->row);
    if (!number_of(&bytes, a, &event, PART_BYTES)) return true;
    const place at = {.rank = m->ranks[work->track], .process = process_of(m, work)};
    int64_t start = m->g->starts[node], end = m->g->ends[node];
    access read = {.time = start, .begin = at, .end = at, .node = node, .turn = start == end ? 1 : 2};
    access write = {.time = end, .begin = at, .end = at, .node = node, .turn = start == end ? 1 : 0, .is_write = true};
    if (work->role == HD_ROLE_COPY && number_of(&address, a, &event, PART_SOURCE) && address <= UINT64_MAX - bytes &&
        !add_access(a, &read, address, bytes))
        return false;
    return !number_of(&address, a, &event, PART_DESTINATION) || address > UINT64_MAX - bytes ||
           add_access(a, &write, address, bytes);
}

static bool find_places(accesses *a)
{
    size_t count = 2 * a->count;
    place *spare = hd_large_new(count + 1, sizeof *spare, a->m->large);
    a->places = hd_large_new(count + 1, sizeof *a->places, a->m->large);
    bool fine = spare && a->places;
    for (size_t i = 0; fine && i < a->count; i++) {
        a->places[2 * i] = a->list[i].begin;
        a->places[2 * i + 1] = a->list[i].end;
    }
    if (fine) HD_SORT_RUNS(a->places, spare, count, x, y, is_place_before(x, y));
    for (size_t i = 0; fine && i < count; i++) {
        if (!i || is_place_before(&a->places[a->place_count - 1], &a->places[i]))
            a->places[a->place_count++] = a->places[i];
    }
    hd_large_free(spare);
    return fine;
}

static bool sort_accesses(accesses *a)
{
    access *spare = hd_large_new(a->count + 1, sizeof *spare, a->m->large);
    if (spare)
        HD_SORT_RUNS(a->list, spare, a->count, x, y,
                     x->time != y->time   ? x->time < y->time
                     : x->turn != y->turn ? x->turn < y->turn
                     : x->node != y->node ? x->node < y->node
                                          : x->is_write < y->is_write);
    hd_large_free(spare);
    return spare != NULL;
}

/* ---- who wrote what last ---- */

typedef struct range {
    size_t first, end; /* of leaves */
} range;

static size_t leaf_of(const accesses *a, const place *wanted)
{
    size_t low = 0, high = a->place_count;
    HD_PARTITION_POINT(low, high, at, is_place_before(&a->places[at], wanted));
    return low;
}

static void write_range(accesses *a, size_t at, range of, range wanted, uint32_t node)
{
    size_t middle = of.first + (of.end - of.first) / 2;
    uint32_t *tree = a->tree;
    if (wanted.end <= of.first || of.end <= wanted.first) return;
    if (wanted.first <= of.first && of.end <= wanted.end) {
        tree[at] = node;
        return;
    }
    if (tree[at] != MIXED) tree[2 * at] = tree[2 * at + 1] = tree[at];
    write_range(a, 2 * at, (range){of.first, middle}, wanted, node);
    write_range(a, 2 * at + 1, (range){middle, of.end}, wanted, node);
    tree[at] = tree[2 * at] == tree[2 * at + 1] ? tree[2 * at] : MIXED;
}

typedef struct writers {
    uint32_t nodes[WRITERS_MOST];
    uint32_t count;
    bool is_full; /* and there are more */
} writers;

static void add_writer(writers *out, uint32_t node)
{
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->nodes[i] == node) return;
    }
    out->is_full = out->count == WRITERS_MOST;
    if (!out->is_full) out->nodes[out->count++] = node;
}

static void read_range(writers *out, const accesses *a, size_t at, range of, range wanted)
{
    size_t middle = of.first + (of.end - of.first) / 2;
    if (wanted.end <= of.first || of.end <= wanted.first || out->is_full || a->tree[at] == HD_NONE) return;
    if (a->tree[at] != MIXED) {
        add_writer(out, a->tree[at]);
        return;
    }
    read_range(out, a, 2 * at, (range){of.first, middle}, wanted);
    read_range(out, a, 2 * at + 1, (range){middle, of.end}, wanted);
}

static bool link_access(accesses *a, const access *x)
{
    const range all = {0, a->leaves}, wanted = {leaf_of(a, &x->begin), leaf_of(a, &x->end)};
    writers found = {.count = 0};
    if (x->is_write) {
        write_range(a, 1, all, wanted, x->node);
        return true;
    }
    read_range(&found, a, 1, all, wanted);
    a->m->g->dependencies_left_out += found.is_full;
    for (uint32_t i = 0; i < found.count; i++) {
        if (!graph_add_edge(a->m, x->node, found.nodes[i], HD_EDGE_ADDRESS)) return false;
    }
    return true;
}

bool graph_add_addresses(graph_maker *m)
{
    accesses a = {.m = m, .leaves = 1};
    if (!find_keys(&a)) return true;
    bool fine = true;
    for (uint32_t i = 0; fine && i < m->launches->work_count; i++) fine = add_work(&a, i);
    fine = fine && find_places(&a) && sort_accesses(&a);
    while (a.leaves < a.place_count) a.leaves *= 2;
    if (fine) a.tree = hd_large_new(2 * a.leaves, sizeof *a.tree, m->large);
    fine = fine && a.tree;
    for (size_t i = 0; fine && i < 2 * a.leaves; i++) a.tree[i] = HD_NONE;
    for (size_t i = 0; fine && i < a.count; i++) fine = link_access(&a, &a.list[i]);
    hd_large_free(a.list);
    hd_large_free(a.places);
    hd_large_free(a.tree);
    return fine;
}
