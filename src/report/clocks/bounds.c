/* bounds.c - certain bounds from causality: difference constraints, by Bellman-Ford
 *
 * No taker of a collective ends before all givers have begun: start + clock of giver <= end + clock of taker. All such
 * pairs are represented by one number, the latest start, so that a round is linear in the hosts of collectives: of a
 * host's members only the last to begin and the first to end bound others. Known hosts are checked with their bars.
 * Unknown ones get the bounds that follow from the known ones; half of the distance is their bar. A chain that returns
 * to a clock with a smaller value than it began with is a contradiction.
 */
#include <stdlib.h>

#include "report/clocks/clocks.h"

enum { LOW, HIGH, SIDES };

typedef struct bound {
    bool is_open;           /* to be found */
    int64_t value[SIDES];   /* INT64_MIN, INT64_MAX: none */
    clock_step from[SIDES]; /* the collective it is from, and the host of the other side there */
} bound;

typedef struct causality {
    hd_clocks *clocks;
    bound *bounds;
    uint32_t *marks; /* by host, for walks */
    bool changed;
} causality;

/* ---- one collective ---- */

/* The limit for the offset of a time of a host, from above (or below); false: none known. */
static bool limit_at(int64_t *out, const causality *c, uint32_t host, int64_t time_ns, int side)
{
    const bound *b = &c->bounds[host];
    int64_t offset, bar;
    if (b->is_open) {
        if (b->value[side] == (side == LOW ? INT64_MIN : INT64_MAX)) return false;
        double away = fabs((double)((clock_i128)time_ns - clock_middle(&c->clocks->hosts[host])));
        offset = b->value[side];
        bar = gpu_round(ceil(c->clocks->drift * away));
    } else if (!hd_clocks_at(&offset, &bar, c->clocks, host, time_ns)) {
        return false;
    }
    *out = clock_clip((clock_i128)offset + (side == LOW ? -(clock_i128)bar : bar));
    return true;
}

/* The last start of a giver at least, or the first end of a taker at most; NULL: none known. */
static const clock_part *find_extreme(clock_i128 *out, const causality *c, const clock_part *parts, size_t count,
                                      int side)
{
    const clock_part *found = NULL;
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        const clock_part *p = &parts[i];
        int64_t limit, time_ns = side == LOW ? p->given_ns : p->taken_ns;
        if (!(side == LOW ? p->gives : p->takes) || !limit_at(&limit, c, p->host, time_ns, side)) continue;
        clock_i128 time = (clock_i128)time_ns + limit;
        if (found && (side == LOW ? time <= *out : time >= *out)) continue;
        *out = time;
        found = p;
    }
    return found;
}

static clock_step step_of(const clock_part *giver, const clock_part *taker)
{
    hd_clock_event both = {.operation = giver->operation, .group = giver->group, .sequence = giver->sequence};
    clock_step step = {both, both};
    step.giver.host = giver->host;
    step.giver.member = giver->giver;
    step.giver.start_ns = giver->given_ns;
    step.taker.host = taker->host;
    step.taker.member = taker->taker;
    step.taker.end_ns = taker->taken_ns;
    return step;
}

/* The upper limits of givers follow from those of takers; and likewise for the lower limits of takers. */
static void narrow(causality *c, const clock_part *parts, size_t count, int side)
{
    clock_i128 time;
    const clock_part *by = find_extreme(&time, c, parts, count, side);
    for (size_t i = 0; by && i < count; i++) {
        const clock_part *p = &parts[i];
        bound *b = &c->bounds[p->host];
        if (!b->is_open || p->host == by->host || !(side == LOW ? p->takes : p->gives)) continue;
        int64_t own = side == LOW ? p->taken_ns : p->given_ns;
        double away = fabs((double)((clock_i128)own - clock_middle(&c->clocks->hosts[p->host])));
        int64_t slack = gpu_round(ceil(c->clocks->drift * away));
        int64_t value = clock_clip(time - own + (side == LOW ? -(clock_i128)slack : slack));
        if (side == LOW ? value <= b->value[LOW] : value >= b->value[HIGH]) continue;
        b->value[side] = value;
        b->from[side] = side == LOW ? step_of(by, p) : step_of(p, by);
        c->changed = true;
    }
}

static bool narrow_both(void *user, const clock_part *parts, size_t count)
{
    for (int side = LOW; side < SIDES; side++) narrow(user, parts, count, side);
    return true;
}

/* ---- contradictions ---- */

static bool add_step(causality *c, clock_step step)
{
    hd_clocks *clocks = c->clocks;
    clock_step *list = realloc(clocks->cycle, (clocks->cycle_count + 1) * sizeof *list);
    if (!list) return false;
    clocks->cycle = list;
    list[clocks->cycle_count++] = step;
    return true;
}

static uint32_t parent_of(const causality *c, uint32_t host, int side)
{
    const clock_step *from = &c->bounds[host].from[side];
    return side == LOW ? from->giver.host : from->taker.host;
}

static bool has_parent(const causality *c, uint32_t host, int side)
{
    return c->bounds[host].is_open && c->bounds[host].value[side] != (side == LOW ? INT64_MIN : INT64_MAX);
}

/* The chain from a host to a known one, or around a cycle. */
static bool add_chain(causality *c, uint32_t host, int side)
{
    for (uint32_t at = host; has_parent(c, at, side);) {
        if (!add_step(c, c->bounds[at].from[side])) return false;
        at = parent_of(c, at, side);
        if (at == host) break;
    }
    return true;
}

/* Bounds that rest on themselves, or leave no room. */
static bool find_contradiction(causality *c)
{
    const uint32_t hosts = (uint32_t)c->clocks->host_count;
    for (int side = LOW; side < SIDES; side++) {
        memset(c->marks, 0, hosts * sizeof *c->marks);
        for (uint32_t h = 0; h < hosts; h++) {
            uint32_t at = h;
            for (; has_parent(c, at, side) && !c->marks[at]; at = parent_of(c, at, side)) c->marks[at] = h + 1;
            if (has_parent(c, at, side) && c->marks[at] == h + 1) return add_chain(c, at, side);
        }
    }
    for (uint32_t h = 0; h < hosts; h++) {
        const bound *b = &c->bounds[h];
        if (b->is_open && b->value[LOW] > b->value[HIGH]) return add_chain(c, h, HIGH) && add_chain(c, h, LOW);
    }
    return true;
}

static bool narrow_all(causality *c, const clock_parts *parts)
{
    bool fine = true;
    c->changed = true;
    while (c->changed && fine && !c->clocks->cycle_count) {
        c->changed = false;
        fine = clock_parts_each(parts, narrow_both, c);
        if (fine && c->changed) fine = find_contradiction(c);
    }
    return fine;
}

/* Whether all collectives are possible with the known clocks. */
static bool certify(void *user, const clock_part *parts, size_t count)
{
    causality *c = user;
    clock_i128 begun, ended;
    if (c->clocks->cycle_count) return true;
    const clock_part *giver = find_extreme(&begun, c, parts, count, LOW);
    const clock_part *taker = find_extreme(&ended, c, parts, count, HIGH);
    return !giver || !taker || begun <= ended || add_step(c, step_of(giver, taker));
}

/* ---- all of it ---- */

static bool settle(causality *c)
{
    const hd_clock_piece *ends = c->clocks->hosts[c->clocks->reference].pieces.list;
    for (size_t h = 0; h < c->clocks->host_count; h++) {
        const int64_t low = c->bounds[h].value[LOW], high = c->bounds[h].value[HIGH];
        clock_host *host = &c->clocks->hosts[h];
        if (!c->bounds[h].is_open || low == INT64_MIN || high == INT64_MAX) continue;
        hd_clock_piece *piece = malloc(sizeof *piece);
        if (!piece) return false;
        *piece = *ends;
        piece->from_ns = host->low_ns;
        piece->until_ns = host->high_ns;
        piece->at_ns = piece->first_ns = piece->last_ns = clock_middle(host);
        piece->offset_ns = (int64_t)(((clock_i128)low + high) / 2);
        piece->bar_ns = clock_clip(((clock_i128)high - low) / 2 + 1);
        free(host->pieces.list); /* a path that met at no time left an empty one */
        host->pieces = (clock_pieces){piece, 1};
        host->public.basis = HD_CLOCK_BOUNDS;
    }
    return true;
}

static bool count_own(void *user, const clock_part *parts, size_t count)
{
    causality *c = user;
    for (size_t i = 0; i < count; i++) {
        hd_host_clock *clock = &c->clocks->hosts[parts[i].host].public;
        if (clock->basis == HD_CLOCK_BOUNDS) clock->collectives += parts[i].members;
    }
    return true;
}

bool clock_bounds(hd_clocks *clocks, const clock_parts *parts)
{
    causality c = {.clocks = clocks};
    c.bounds = calloc(clocks->host_count, sizeof *c.bounds);
    c.marks = malloc(clocks->host_count * sizeof *c.marks);
    bool fine = c.bounds && c.marks, any = false;
    for (size_t h = 0; fine && h < clocks->host_count; h++) {
        bool is_open = clocks->hosts[h].public.basis == HD_CLOCK_UNKNOWN && !clocks->hosts[h].is_unsettled;
        c.bounds[h] = (bound){.is_open = is_open, .value = {INT64_MIN, INT64_MAX}};
        any |= is_open;
    }
    fine = fine && clock_parts_each(parts, certify, &c);
    if (fine && any) fine = narrow_all(&c, parts) && (clocks->cycle_count || settle(&c));
    if (fine && any) fine = clock_parts_each(parts, count_own, &c);
    free(c.bounds);
    free(c.marks);
    return fine;
}
