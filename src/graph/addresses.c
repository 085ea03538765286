/* addresses.c - read-after-write edges, from the addresses and tensors in the trace
 *
 * Copies   read their source when they start; copies and memsets have written their destination when they end.
 *          Addresses belong to one process of one rank. No profiler records what kernels read and write.
 * Chakra   a node reads its inputs when it starts, and has written its outputs when it ends: tensors, as ranges of a
 *          storage of its rank. If the trace has the GPU's activities, tensors of the GPU are ignored for thread nodes.
 *
 * Accesses are processed in order of time; a segment tree over all range boundaries has the last writer of each byte.
 */
#include <stdlib.h>

#include "base/map.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "model/identity/process.h"
#include "trace/event.h"

enum { NAMES = 3, WRITERS_MOST = 64 };
#define STORAGES ((uint64_t)HD_NONE + 1) /* beyond all processes */

/* clang-format off */
static const char *const names[][NAMES] = {
    {"source address", "source", "src"},
    {"destination address", "destination", "dst"},
    {"bytes", "Bytes", "size"},
};
/* clang-format on */
typedef enum part { PART_SOURCE, PART_DESTINATION, PART_BYTES, PARTS } part;

/* The begin or end of a range. */
typedef struct place {
    uint64_t address;
    uint32_t space, of; /* of: twice the access, and 1 for the end */
} place;

typedef struct access {
    int64_t time;
    uint32_t node, first, end; /* of leaves */
    uint8_t turn;              /* order at equal times: ends, ranges of length 0, begins */
    bool is_write;
} access;

typedef struct accesses {
    graph_maker *m;
    uint32_t keys[PARTS][NAMES];
    access *list;
    size_t count, capacity, place_capacity;
    place *places;  /* two of an access */
    hd_map spaces;  /* by rank and process, or by that of the rank and storage */
    uint32_t *tree; /* leaves behind the inner nodes, from 1 on: the last writer of the whole range; HD_NONE: none */
    size_t leaves;
} accesses;

enum { MIXED = HD_NONE - 1 };

/* The number for a pair; HD_NONE: no memory. */
static uint32_t space_of(accesses *a, uint64_t x, uint64_t y)
{
    uint32_t space;
    if (hd_map_get(&space, &a->spaces, x, y)) return space;
    space = (uint32_t)a->spaces.count;
    return hd_map_set(&a->spaces, x, y, space) ? space : HD_NONE;
}

/* ---- edges from copies ---- */

/* false: there are no copies. */
static bool find_keys(accesses *a)
{
    bool any[PARTS] = {false};
    for (int p = 0; p < PARTS; p++) {
        for (int i = 0; i < NAMES; i++) {
            a->keys[p][i] = hd_trace_find_string(a->m->trace, names[p][i], strlen(names[p][i]));
            any[p] |= a->keys[p][i] != HD_NONE;
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

/* The process of the API call, since the track of a device has none. HD_NONE: unknown. */
static uint32_t process_of(const graph_maker *m, const hd_work *work)
{
    if (work->launch == HD_NONE) return HD_NONE;
    return hd_process_of(m->trace, m->launches->launches[work->launch].track);
}

static bool add_access(accesses *a, access new, uint32_t space, uint64_t address, uint64_t bytes)
{
    uint32_t of = 2 * (uint32_t)a->count;
    if (space == HD_NONE || a->count > INT32_MAX ||
        !hd_large_grow((void **)&a->list, &a->capacity, a->count, sizeof *a->list, a->m->large) ||
        !hd_large_grow((void **)&a->places, &a->place_capacity, a->count, 2 * sizeof *a->places, a->m->large))
        return false;
    a->list[a->count++] = new;
    a->places[of] = (place){address, space, of};
    a->places[of + 1] = (place){address + bytes, space, of + 1};
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
    uint32_t space = space_of(a, (uint64_t)m->ranks[work->track], process_of(m, work));
    int64_t start = m->g->starts[node], end = m->g->ends[node];
    const access read = {.time = start, .node = node, .turn = start == end ? 1 : 2};
    const access write = {.time = end, .node = node, .turn = start == end ? 1 : 0, .is_write = true};
    if (work->role == HD_ROLE_COPY && number_of(&address, a, &event, PART_SOURCE) && address <= UINT64_MAX - bytes &&
        !add_access(a, read, space, address, bytes))
        return false;
    return !number_of(&address, a, &event, PART_DESTINATION) || address > UINT64_MAX - bytes ||
           add_access(a, write, space, address, bytes);
}

/* ---- edges from Chakra's nodes ---- */

typedef struct tensor {
    uint64_t numbers[5]; /* id, storage, offset, elements, bytes per element */
    bool is_on_cpu;
} tensor;

static size_t skip_space(hd_string text, size_t at)
{
    while (at < text.size && (text.data[at] == ' ' || text.data[at] == '\n' || text.data[at] == '\t')) at++;
    return at;
}

/* The position after the closing quote of the string at `at`. */
static size_t end_of_string(hd_string text, size_t at)
{
    while (at < text.size && text.data[at] != '"') at += text.data[at] == '\\' ? 2 : 1;
    return at + 1;
}

/* [tensor, storage, offset, elements, bytes of an element, "device"]: at the bracket. */
static bool parse_tensor(tensor *out, hd_string text, size_t at)
{
    for (int i = 0; i < 5; i++) {
        uint64_t *number = &out->numbers[i];
        size_t first = at = skip_space(text, at + 1);
        for (*number = 0; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
            if (__builtin_mul_overflow(*number, 10, number) ||
                __builtin_add_overflow(*number, (uint64_t)(text.data[at] - '0'), number))
                return false;
        }
        if (at == first) return false;
        at = skip_space(text, at);
        if (at >= text.size || text.data[at] != ',') return false;
    }
    at = skip_space(text, at + 1);
    out->is_on_cpu = at + 4 < text.size && !memcmp(text.data + at, "\"cpu\"", 5);
    return at < text.size && text.data[at] == '"';
}

/* The byte range in its storage, as if its elements were contiguous. false: not a tensor. */
static bool find_piece(uint64_t *offset, uint64_t *bytes, const tensor *t)
{
    uint64_t end;
    return t->numbers[1] < UINT64_MAX && !__builtin_mul_overflow(t->numbers[2], t->numbers[4], offset) &&
           !__builtin_mul_overflow(t->numbers[3], t->numbers[4], bytes) && *bytes &&
           !__builtin_add_overflow(*offset, *bytes, &end);
}

static bool add_tensors(accesses *a, access like, uint32_t space, hd_string text, bool is_work)
{
    tensor t;
    uint64_t offset, bytes;
    for (size_t at = 0; at < text.size; at++) {
        if (text.data[at] == '"') at = end_of_string(text, at + 1) - 1;
        if (at >= text.size || text.data[at] != '[' || !parse_tensor(&t, text, at)) continue;
        bool counts = is_work || t.is_on_cpu || !a->m->launches->work_count;
        if (!counts || !find_piece(&offset, &bytes, &t)) continue;
        if (!add_access(a, like, space_of(a, t.numbers[1], STORAGES + (uint64_t)space), offset, bytes)) return false;
    }
    return true;
}

static bool add_slice(accesses *a, uint32_t row, const uint32_t keys[2])
{
    const graph_maker *m = a->m;
    hd_event event = hd_event_at(m->trace, HD_KIND_SLICE, row);
    if (event.track >= hd_trace_track_count(m->trace) || event.start_ns == HD_NO_TIME) return true;
    int64_t start = graph_time(event.start_ns), end = graph_time(hd_end_or_last(event.start_ns, event.duration_ns));
    uint32_t space = space_of(a, (uint64_t)m->ranks[event.track], STORAGES);
    for (int is_write = 0; is_write < 2; is_write++) {
        hd_value value;
        uint32_t node = graph_node_of(m, row, is_write);
        if (node == HD_NONE || !hd_event_arg(&value, m->trace, &event, keys[is_write]) || value.type != HD_ARG_JSON)
            continue;
        const access like = {is_write ? end : start, node, 0, 0, start == end ? 1 : is_write ? 0 : 2, is_write};
        if (!add_tensors(a, like, space, hd_trace_string(m->trace, (uint32_t)value.bits), node >= m->first_work))
            return false;
    }
    return true;
}

static bool add_slices(accesses *a)
{
    const hd_trace *trace = a->m->trace;
    const uint32_t keys[2] = {hd_trace_find_string(trace, "inputs", 6), hd_trace_find_string(trace, "outputs", 7)};
    if (keys[0] == HD_NONE || keys[1] == HD_NONE) return true;
    bool fine = graph_find_firsts(a->m);
    for (uint64_t row = 0; fine && row < hd_trace_row_count(trace, HD_KIND_SLICE); row++)
        fine = add_slice(a, (uint32_t)row, keys);
    return fine;
}

/* ---- in order ---- */

/* The ranges between adjacent boundaries, in order, are the leaves. */
static bool number_leaves(accesses *a)
{
    place *spare = hd_large_new(2 * a->count + 1, sizeof *spare, a->m->large);
    size_t leaf = 0;
    if (!spare) return false;
    HD_SORT_RUNS(a->places, spare, 2 * a->count, x, y,
                 x->space != y->space ? x->space < y->space : x->address < y->address);
    hd_large_free(spare);
    for (size_t i = 0; i < 2 * a->count; i++) {
        const place *p = &a->places[i];
        leaf += i && (p->space != p[-1].space || p->address != p[-1].address);
        *(p->of % 2 ? &a->list[p->of / 2].end : &a->list[p->of / 2].first) = (uint32_t)leaf;
    }
    hd_large_free(a->places);
    a->places = NULL;
    while (a->leaves <= leaf) a->leaves *= 2;
    return true;
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
    const range all = {0, a->leaves}, wanted = {x->first, x->end};
    writers found = {.count = 0};
    if (x->is_write) {
        write_range(a, 1, all, wanted, x->node);
        return true;
    }
    read_range(&found, a, 1, all, wanted);
    a->m->g->dependencies_left_out += found.is_full;
    for (uint32_t i = 0; i < found.count; i++) {
        if (found.nodes[i] != x->node && !graph_add_edge(a->m, x->node, found.nodes[i], HD_EDGE_ADDRESS)) return false;
    }
    return true;
}

bool graph_add_addresses(graph_maker *m)
{
    accesses a = {.m = m, .leaves = 1};
    bool fine = true, has_copies = find_keys(&a);
    for (uint32_t i = 0; has_copies && fine && i < m->launches->work_count; i++) fine = add_work(&a, i);
    fine = fine && add_slices(&a);
    fine = fine && number_leaves(&a) && sort_accesses(&a);
    if (fine) a.tree = hd_large_new(2 * a.leaves, sizeof *a.tree, m->large);
    fine = fine && a.tree;
    for (size_t i = 0; fine && i < 2 * a.leaves; i++) a.tree[i] = HD_NONE;
    for (size_t i = 0; fine && i < a.count; i++) fine = link_access(&a, &a.list[i]);
    hd_large_free(a.list);
    hd_large_free(a.places);
    hd_map_deinit(&a.spaces);
    hd_large_free(a.tree);
    return fine;
}
