/* dependencies.c - edges that the trace contains: the dependencies of Chakra's nodes
 *
 * They are in the arguments of slices, by node number (`id`), which is unique within a rank. Control dependencies are
 * covered by the nesting of slices and by launches.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "trace/event.h"

enum { LISTS = 3 };

typedef struct numbered {
    uint64_t id;
    int64_t rank;
    uint32_t row;
} numbered;

typedef struct teller {
    graph_maker *m;
    uint32_t id_key, keys[LISTS];
    numbered *slices; /* by rank and id */
    size_t count, capacity;
} teller;

/* false: there are none. */
static bool find_keys(teller *t)
{
    static const char *const names[LISTS] = {"data_deps", "inter_thread_dep", "sync_dep"};
    bool any = false;
    t->id_key = hd_trace_find_string(t->m->trace, "id", 2);
    for (int i = 0; i < LISTS; i++) {
        t->keys[i] = hd_trace_find_string(t->m->trace, names[i], strlen(names[i]));
        any |= t->keys[i] != HD_NONE;
    }
    return any; /* where no slice has an id, all are left out */
}

/* ---- numbers ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == '[' || c == ']';
}

/* The next element of a JSON list, from *at on. false: no more; *is_bad: it is not a number. */
static bool next_number(uint64_t *out, bool *is_bad, hd_string text, size_t *at)
{
    size_t first;
    while (*at < text.size && is_space(text.data[*at])) ++*at;
    *out = *is_bad = 0;
    for (first = *at; *at < text.size && !is_space(text.data[*at]); ++*at) {
        char c = text.data[*at];
        *is_bad |= c < '0' || c > '9' || __builtin_mul_overflow(*out, 10, out) ||
                   __builtin_add_overflow(*out, (uint64_t)(c - '0'), out);
    }
    return *at > first;
}

static bool id_of(uint64_t *out, const teller *t, const hd_event *event)
{
    hd_value value;
    size_t at = 0;
    bool is_bad = false;
    if (!hd_event_arg(&value, t->m->trace, event, t->id_key)) return false;
    *out = (uint64_t)value.bits;
    if (value.type == HD_ARG_INT) return true;
    return value.type == HD_ARG_NUMBER &&
           next_number(out, &is_bad, hd_trace_string(t->m->trace, (uint32_t)value.bits), &at) && !is_bad;
}

static inline bool stands_before(const numbered *x, const numbered *y)
{
    if (x->rank != y->rank) return x->rank < y->rank;
    return x->id != y->id ? x->id < y->id : x->row < y->row;
}

static bool number_slices(teller *t)
{
    graph_maker *m = t->m;
    uint64_t rows = hd_trace_row_count(m->trace, HD_KIND_SLICE);
    for (uint64_t row = 0; row < rows; row++) {
        hd_event event = hd_event_at(m->trace, HD_KIND_SLICE, row);
        uint64_t id;
        if (event.track >= hd_trace_track_count(m->trace) || !id_of(&id, t, &event)) continue;
        if (!hd_large_grow((void **)&t->slices, &t->capacity, t->count, sizeof *t->slices, m->large)) return false;
        t->slices[t->count++] = (numbered){id, m->ranks[event.track], (uint32_t)row};
    }
    numbered *spare = hd_large_new(t->count + 1, sizeof *spare, m->large);
    if (spare) HD_SORT_RUNS(t->slices, spare, t->count, x, y, stands_before(x, y));
    hd_large_free(spare);
    return spare != NULL;
}

/* The slice with this id; HD_NONE: no slice has it, or several. */
static uint32_t find_row(const teller *t, int64_t rank, uint64_t id)
{
    const numbered wanted = {id, rank, 0};
    size_t low = 0, high = t->count;
    HD_PARTITION_POINT(low, high, at, stands_before(&t->slices[at], &wanted));
    bool is_there = low < t->count && t->slices[low].rank == rank && t->slices[low].id == id;
    bool is_one = low + 1 >= t->count || t->slices[low + 1].rank != rank || t->slices[low + 1].id != id;
    return is_there && is_one ? t->slices[low].row : HD_NONE;
}

/* ---- edges ---- */

static bool is_launch(const graph_maker *m, uint32_t from, uint32_t to)
{
    uint32_t work = graph_work_of(m, to), launch = work == HD_NONE ? HD_NONE : m->launches->works[work].launch;
    return launch != HD_NONE && m->launches->launches[launch].row == from;
}

/* A launching node already has its edge. */
static bool add_one(teller *t, int64_t rank, uint32_t to, uint64_t id)
{
    uint32_t from = find_row(t, rank, id);
    if (from == to || (from != HD_NONE && is_launch(t->m, from, to))) return true;
    uint32_t source = from == HD_NONE ? HD_NONE : graph_node_of(t->m, from, true);
    uint32_t target = graph_node_of(t->m, to, false);
    if (source == HD_NONE || target == HD_NONE || source == target) {
        t->m->g->dependencies_left_out++;
        return true;
    }
    return graph_add_edge(t->m, target, source, HD_EDGE_DATA);
}

static bool add_list(teller *t, const hd_event *event, uint32_t row, uint32_t key)
{
    hd_value value;
    size_t at = 0;
    uint64_t id;
    bool is_bad = false;
    int64_t rank = t->m->ranks[event->track];
    if (!hd_event_arg(&value, t->m->trace, event, key)) return true;
    if (value.type == HD_ARG_INT) return add_one(t, rank, row, (uint64_t)value.bits);
    if (value.type != HD_ARG_JSON && value.type != HD_ARG_NUMBER) return true; /* null: it has none */
    hd_string text = hd_trace_string(t->m->trace, (uint32_t)value.bits);
    while (next_number(&id, &is_bad, text, &at)) {
        t->m->g->dependencies_left_out += is_bad;
        if (!is_bad && !add_one(t, rank, row, id)) return false;
    }
    return true;
}

bool graph_add_dependencies(graph_maker *m)
{
    teller t = {.m = m};
    if (!find_keys(&t)) return true;
    bool fine = number_slices(&t) && graph_find_firsts(m);
    uint64_t rows = hd_trace_row_count(m->trace, HD_KIND_SLICE);
    for (uint64_t row = 0; fine && row < rows; row++) {
        hd_event event = hd_event_at(m->trace, HD_KIND_SLICE, row);
        for (int i = 0; fine && i < LISTS && event.track < hd_trace_track_count(m->trace); i++)
            fine = add_list(&t, &event, (uint32_t)row, t.keys[i]);
    }
    hd_large_free(t.slices);
    return fine;
}
