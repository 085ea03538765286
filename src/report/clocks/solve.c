/* solve.c - collectives of hosts -> a clock for each host
 *
 * Events are combined by host and collective, which gives the ends that pairs of hosts share (parts.c). Each pair of
 * hosts, by group and kind of collective, is fitted with lines (fit.c), and hints are lines to an additional virtual
 * host. The shortest paths by their bars (Dijkstra) lead to the reference, and lines along a path are composed
 * (piece.c). Causality finally verifies the result, and bounds the hosts without any other evidence (bounds.c).
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "base/options.h"
#include "base/sorted.h"
#include "report/clocks/clocks.h"

static const clock_pieces always = {
    &(hd_clock_piece){.from_ns = INT64_MIN, .until_ns = INT64_MAX, .first_ns = INT64_MIN, .last_ns = INT64_MAX}, 1};

/* Converts times of `host` to those of `hub`. */
typedef struct edge {
    uint32_t hub, host, operation;
    uint64_t group, collectives; /* collectives: 0: a hint */
    clock_pieces pieces;
} edge;

typedef struct arrival {
    double distance;
    uint32_t node, edge;
} arrival;

typedef struct solver {
    hd_clocks *clocks;
    edge *edges;
    size_t edge_count, edge_capacity;
    uint32_t *firsts, *ends_at; /* by node, of `ends_at`: edges there */
    arrival *heap;
    size_t heap_count;
    bool *done;
    clock_pieces hinted; /* of the host of hints, which is the last node */
} solver;

/* ---- edges ---- */

static bool add_edge(solver *s, edge added)
{
    if (!hd_grow((void **)&s->edges, &s->edge_capacity, s->edge_count, sizeof *s->edges)) return false;
    s->edges[s->edge_count++] = added;
    return true;
}

/* The ends of one collective on two hosts; ends that can be fitted by one line are a pair. */
typedef struct shared_end {
    clock_sample sample; /* on the clock of host */
    uint32_t pair;
} shared_end;

typedef struct learner {
    solver *s;
    uint64_t group; /* whose these are */
    uint64_t used;  /* events */
    hd_map pairs;   /* by hub and host, and operation */
    shared_end *ends;
    size_t count, capacity;
} learner;

static bool fit_pair(solver *s, const hd_map_entry *pair, uint64_t group, const clock_sample *samples, size_t count)
{
    hd_clocks *c = s->clocks;
    edge e = {(uint32_t)(pair->a >> 32), (uint32_t)pair->a, (uint32_t)pair->b, group, count, {0}};
    bool fine = clock_fit(&e.pieces, samples, count, c->skew_ns, c->drift);
    if (!e.pieces.count && count >= CLOCK_SAMPLES_MIN)
        c->hosts[e.hub].is_unsettled = c->hosts[e.host].is_unsettled = true;
    if (fine && e.pieces.count && add_edge(s, e)) return true;
    free(e.pieces.list);
    return fine && !e.pieces.count;
}

/* By counting sort. */
static bool fit_group(learner *l)
{
    size_t pairs = l->pairs.count;
    size_t *ends = calloc(pairs + 2, sizeof *ends);
    clock_sample *samples = malloc((l->count + 1) * sizeof *samples);
    bool fine = ends && samples;
    for (size_t i = 0; i < l->count && fine; i++) ends[l->ends[i].pair + 2]++;
    for (size_t p = 0; p < pairs && fine; p++) ends[p + 2] += ends[p + 1];
    for (size_t i = 0; i < l->count && fine; i++) samples[ends[l->ends[i].pair + 1]++] = l->ends[i].sample;
    for (size_t p = 0; p < pairs && fine; p++)
        fine = fit_pair(l->s, &l->pairs.entries[p], l->group, samples + ends[p], ends[p + 1] - ends[p]);
    free(ends);
    free(samples);
    hd_map_clear(&l->pairs);
    l->count = 0;
    return fine;
}

/* Each host with the first of the collective: a star, so that there are no more than events. */
static bool add_shared(learner *l, const clock_part *hub, const clock_part *host)
{
    clock_sample sample = {.at_ns = host->end_ns};
    if (__builtin_sub_overflow(hub->end_ns, host->end_ns, &sample.offset_ns)) return true;
    size_t known = l->pairs.count;
    hd_map_entry *pair = hd_map_at(&l->pairs, (uint64_t)hub->host << 32 | host->host, host->operation);
    if (!pair || !hd_grow((void **)&l->ends, &l->capacity, l->count, sizeof *l->ends)) return false;
    if (l->pairs.count > known) pair->value = (uint32_t)known;
    l->ends[l->count++] = (shared_end){sample, pair->value};
    return true;
}

static bool learn(void *user, const clock_part *parts, size_t count)
{
    learner *l = user;
    bool is_of_all = count > 1, fine = true;
    if (l->group != parts->group && l->count) fine = fit_group(l);
    l->group = parts->group;
    for (size_t i = 0; i < count; i++) {
        clock_host *host = &l->s->clocks->hosts[parts[i].host];
        if (parts[i].low_ns < host->low_ns) host->low_ns = parts[i].low_ns;
        if (parts[i].high_ns > host->high_ns) host->high_ns = parts[i].high_ns;
        l->used += parts[i].members;
        is_of_all &= parts[i].is_of_all;
    }
    for (size_t i = 1; i < count && fine && is_of_all; i++) fine = add_shared(l, parts, &parts[i]);
    return fine;
}

/* By hub, host, operation and group. */
static bool is_edge_before(const edge *x, const edge *y)
{
    if (x->hub != y->hub) return x->hub < y->hub;
    if (x->host != y->host) return x->host < y->host;
    return x->operation != y->operation ? x->operation < y->operation : x->group < y->group;
}

/* The edges of all pairs of hosts; and when their collectives were. */
static bool learn_all(solver *s, const clock_parts *parts)
{
    hd_clocks *c = s->clocks;
    learner l = {.s = s};
    for (size_t h = 0; h < c->host_count; h++) {
        c->hosts[h].low_ns = INT64_MAX;
        c->hosts[h].high_ns = INT64_MIN;
    }
    bool fine = clock_parts_each(parts, learn, &l) && fit_group(&l);
    edge *spare = malloc((s->edge_count + 1) * sizeof *spare);
    fine = fine && spare;
    if (fine && s->edge_count) HD_SORT_RUNS(s->edges, spare, s->edge_count, x, y, is_edge_before(x, y));
    c->left_out = parts->events - l.used;
    hd_map_deinit(&l.pairs);
    free(l.ends);
    free(spare);
    return fine;
}

static hd_clock_piece hint_piece(const hd_clock_hint *hint)
{
    hd_clock_piece piece = always.list[0];
    piece.offset_ns = hint->offset_ns;
    piece.bar_ns = hint->bar_ns < 0 ? 0 : hint->bar_ns;
    return piece;
}

static bool add_hints(solver *s, const hd_clock_hint *hints, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hd_clock_piece *piece = malloc(sizeof *piece);
        if (!piece) return false;
        *piece = hint_piece(&hints[i]);
        if (!add_edge(s, (edge){.hub = (uint32_t)s->clocks->host_count, .host = hints[i].host, .pieces = {piece, 1}})) {
            free(piece);
            return false;
        }
    }
    return true;
}

/* By counting sort. */
static bool list_edges(solver *s)
{
    size_t nodes = s->clocks->host_count + 1;
    s->firsts = calloc(nodes + 2, sizeof *s->firsts);
    s->ends_at = malloc((2 * s->edge_count + 1) * sizeof *s->ends_at);
    s->heap = malloc((2 * s->edge_count + 1) * sizeof *s->heap);
    s->done = calloc(nodes, sizeof *s->done);
    if (!s->firsts || !s->ends_at || !s->heap || !s->done) return false;
    for (size_t i = 0; i < s->edge_count; i++) {
        s->firsts[s->edges[i].hub + 2]++;
        s->firsts[s->edges[i].host + 2]++;
    }
    for (size_t n = 2; n < nodes + 2; n++) s->firsts[n] += s->firsts[n - 1];
    for (size_t i = 0; i < s->edge_count; i++) {
        s->ends_at[s->firsts[s->edges[i].hub + 1]++] = (uint32_t)i;
        s->ends_at[s->firsts[s->edges[i].host + 1]++] = (uint32_t)i;
    }
    return true;
}

/* ---- paths ---- */

static clock_pieces *pieces_of(solver *s, uint32_t node)
{
    return node == s->clocks->host_count ? &s->hinted : &s->clocks->hosts[node].pieces;
}

static double worst_of(const clock_pieces *pieces)
{
    double worst = 0;
    for (size_t i = 0; i < pieces->count; i++) worst = fmax(worst, clock_piece_worst(&pieces->list[i]));
    return worst;
}

static void leave(solver *s, uint32_t node, double distance)
{
    for (uint32_t i = s->firsts[node]; i < s->firsts[node + 1]; i++) {
        const edge *e = &s->edges[s->ends_at[i]];
        arrival there = {distance + worst_of(&e->pieces), e->hub == node ? e->host : e->hub, s->ends_at[i]};
        if (!s->done[there.node]) HD_HEAP_PUSH(s->heap, s->heap_count, there, x, y, x->distance < y->distance);
    }
}

/* The clock of a node by an edge whose other end is known. It may stay unknown: if the two do not overlap in time. */
static bool arrive(solver *s, const arrival *at)
{
    const edge *e = &s->edges[at->edge];
    const uint32_t from = e->hub == at->node ? e->host : e->hub;
    clock_pieces inner = {malloc(e->pieces.count * sizeof *inner.list), e->pieces.count};
    clock_pieces *own = pieces_of(s, at->node);
    for (size_t i = 0; inner.list && i < inner.count; i++)
        inner.list[i] = from == e->hub ? e->pieces.list[i] : clock_piece_inverse(&e->pieces.list[i]);
    bool fine = inner.list && clock_pieces_part(&inner) &&
                clock_pieces_compose(own, &inner, pieces_of(s, from), s->clocks->drift);
    free(inner.list);
    s->done[at->node] = own->count > 0;
    if (!own->count || at->node == s->clocks->host_count) return fine;
    bool by_hint = !e->collectives || s->clocks->hosts[from].public.basis == HD_CLOCK_HINTED;
    s->clocks->hosts[at->node].public = (hd_host_clock){.basis = by_hint ? HD_CLOCK_HINTED : HD_CLOCK_ENDS,
                                                        .via = e->collectives ? from : at->node,
                                                        .collectives = e->collectives};
    return fine;
}

static bool find_paths(solver *s)
{
    hd_clocks *c = s->clocks;
    clock_host *reference = &c->hosts[c->reference];
    bool fine = clock_pieces_compose(&reference->pieces, &always, &always, 0);
    if (fine) reference->pieces.list[0].bar_ns = 0;
    reference->public.basis = HD_CLOCK_REFERENCE;
    s->done[c->reference] = true;
    if (fine) leave(s, c->reference, 0);
    while (fine && s->heap_count) {
        const arrival next = s->heap[0];
        HD_HEAP_POP(s->heap, s->heap_count, x, y, x->distance < y->distance);
        if (s->done[next.node]) continue;
        fine = arrive(s, &next);
        if (fine && s->done[next.node]) leave(s, next.node, next.distance);
    }
    return fine;
}

/* ---- contradictions ---- */

static void refuse(clock_host *host)
{
    free(host->pieces.list);
    host->pieces = (clock_pieces){0};
    host->public.basis = HD_CLOCK_REFUSED;
}

/* Hints are relative to that of the reference, if it has one: otherwise a wrong one would be taken for it. */
static bool take_hint_of_reference(solver *s, const hd_clock_hint *hints, size_t count)
{
    size_t i = 0;
    while (i < count && hints[i].host != s->clocks->reference) i++;
    if (i == count || hints[i].offset_ns == INT64_MIN) return true;
    hd_clock_piece *piece = malloc(sizeof *piece);
    if (!piece) return false;
    *piece = hint_piece(&hints[i]);
    piece->offset_ns = -piece->offset_ns;
    free(s->hinted.list);
    s->hinted = (clock_pieces){piece, 1};
    return true;
}

/* A host that its hint puts elsewhere than the rest. */
static bool check_hints(solver *s, const hd_clock_hint *hints, size_t count)
{
    hd_clocks *c = s->clocks;
    if (!take_hint_of_reference(s, hints, count)) return false;
    for (size_t i = 0; i < count; i++) {
        clock_host *host = &c->hosts[hints[i].host];
        hd_clock_piece piece = hint_piece(&hints[i]);
        clock_pieces both = {0}, inner = {&piece, 1};
        int64_t offset, bar, middle = clock_middle(host);
        if (!clock_pieces_compose(&both, &inner, &s->hinted, c->drift)) return false;
        bool known = both.count && hd_clocks_at(&offset, &bar, c, hints[i].host, middle);
        if (known) {
            clock_i128 apart = (clock_i128)offset - clock_piece_offset(both.list, middle);
            clock_i128 bars = (clock_i128)bar + clock_piece_bar(both.list, middle, c->drift);
            if (host->public.basis != HD_CLOCK_REFERENCE && (apart < 0 ? -apart : apart) > bars) refuse(host);
        }
        free(both.list);
    }
    return true;
}

/* ---- all of it ---- */

static void finish(hd_clocks *c)
{
    for (size_t h = 0; h < c->host_count; h++) {
        clock_host *host = &c->hosts[h];
        if (c->cycle_count && h != c->reference) refuse(host);
        if (host->public.basis == HD_CLOCK_UNKNOWN || host->public.basis == HD_CLOCK_REFERENCE ||
            host->public.basis == HD_CLOCK_REFUSED)
            host->public.via = (uint32_t)h;
        host->public.pieces = host->pieces.list;
        host->public.piece_count = host->pieces.count;
    }
}

static bool solve(solver *s, const clock_parts *parts, const hd_clock_hint *hints, size_t hint_count)
{
    bool fine = learn_all(s, parts) && add_hints(s, hints, hint_count) && list_edges(s) && find_paths(s) &&
                check_hints(s, hints, hint_count) && clock_bounds(s->clocks, parts);
    for (size_t i = 0; i < s->edge_count; i++) free(s->edges[i].pieces.list);
    free(s->edges);
    free(s->firsts);
    free(s->ends_at);
    free(s->heap);
    free(s->done);
    free(s->hinted.list);
    if (fine) finish(s->clocks);
    return fine;
}

static hd_status check_arguments(size_t host_count, const hd_clock_hint *hints, size_t hint_count,
                                 const hd_clock_options *o, hd_error *err)
{
    const char *wrong = NULL;
    if (host_count == 0 || host_count >= UINT32_MAX || o->reference >= host_count)
        wrong = "the reference is not a host";
    if (o->skew_ns < 0 || !(o->drift_ppm >= 0) || o->drift_ppm > 1e5) wrong = "a limit of clocks makes no sense";
    for (size_t i = 0; i < hint_count && !wrong; i++) {
        if (hints[i].host >= host_count) wrong = "a hint of a host that is none";
    }
    return wrong ? hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s", wrong) : HD_OK;
}

hd_status clock_solve(hd_clocks **out, size_t host_count, const clock_parts *parts, const hd_clock_hint *hints,
                      size_t hint_count, const hd_clock_options *options, hd_error *err)
{
    *out = NULL;
    HD_TRY(check_arguments(host_count, hints, hint_count, options, err));
    hd_clocks *c = calloc(1, sizeof *c);
    if (!c) return HD_NOMEM(err);
    *c = (hd_clocks){.host_count = host_count,
                     .reference = options->reference,
                     .skew_ns = options->skew_ns ? (double)options->skew_ns : 10e3,
                     .drift = (options->drift_ppm > 0 ? options->drift_ppm : 200) / 1e6,
                     .hosts = calloc(host_count, sizeof *c->hosts)};
    solver s = {.clocks = c};
    bool fine = c->hosts && solve(&s, parts, hints, hint_count);
    *out = c;
    if (fine) return HD_OK;
    hd_clocks_free(c);
    *out = NULL;
    return HD_NOMEM(err);
}

/* The index of the event: members are unique in a collective, except those that end before they begin. */
static size_t place_of(const hd_clock_event *events, size_t count, const hd_clock_event *wanted)
{
    size_t at = 0;
    while (at < count && (events[at].host != wanted->host || events[at].member != wanted->member ||
                          events[at].group != wanted->group || events[at].sequence != wanted->sequence ||
                          events[at].start_ns > events[at].end_ns))
        at++;
    return at;
}

static bool find_places(hd_clocks *c, const hd_clock_event *events, size_t count)
{
    c->places = malloc((c->cycle_count + 1) * sizeof *c->places);
    for (size_t i = 0; c->places && i < c->cycle_count; i++)
        c->places[i] =
            (hd_clock_step){place_of(events, count, &c->cycle[i].giver), place_of(events, count, &c->cycle[i].taker)};
    return c->places != NULL;
}

hd_status hd_clocks_new(hd_clocks **out, size_t host_count, const hd_clock_event *events, size_t count,
                        const hd_clock_hint *hints, size_t hint_count, const hd_clock_options *options, hd_error *err)
{
    clock_parts parts = {0};
    *out = NULL;
    HD_OWN_OPTIONS(hd_clock_options, options, err);
    for (size_t i = 0; i < count; i++) {
        if (events[i].host >= host_count || (unsigned)events[i].role >= HD_CLOCK_ROLES)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "an event of a host or role that is none");
    }
    hd_status status = clock_parts_add(&parts, events, count) && clock_parts_order(&parts) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = clock_solve(out, host_count, &parts, hints, hint_count, options, err);
    clock_parts_deinit(&parts);
    if (status == HD_OK && !find_places(*out, events, count)) status = HD_NOMEM(err);
    if (status == HD_OK) return HD_OK;
    hd_clocks_free(*out);
    *out = NULL;
    return status;
}

void hd_clocks_free(hd_clocks *clocks)
{
    if (!clocks) return;
    for (size_t h = 0; clocks->hosts && h < clocks->host_count; h++) free(clocks->hosts[h].pieces.list);
    free(clocks->hosts);
    free(clocks->cycle);
    free(clocks->places);
    free(clocks);
}
