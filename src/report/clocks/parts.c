/* parts.c - packs events of members by host and collective; and iterates over collectives
 *
 * Of a host's members one record per collective is needed: the middle of their ends, and which of them began or ended
 * first or last. Records of one host and group are delta encoded, some 25 bytes each. Collectives are made by a k-way
 * merge of the lists of all hosts, so that only the current one is in memory.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "report/clocks/clocks.h"

/* ---- lines ---- */

typedef struct seat {
    uint64_t group;
    int64_t sequence;
    uint32_t host, member;
    size_t at; /* in the events */
} seat;

static int compare_numbers(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int compare_seats(const seat *x, const seat *y)
{
    int order = compare_numbers(x->host, y->host);
    if (!order) order = (x->group > y->group) - (x->group < y->group);
    return order ? order : compare_numbers(x->sequence, y->sequence);
}

static void add_event(clock_part *p, const hd_clock_event *e)
{
    if (e->size && (!p->size || e->size < p->size)) p->size = e->size;
    if (e->operation != p->operation) p->is_sound = false;
    if (e->role != HD_CLOCK_BOTH) p->is_of_all = false;
    if (!p->members++ || e->start_ns < p->low_ns) {
        p->low_ns = e->start_ns;
        p->first = e->member;
    }
    if (p->members == 1 || e->end_ns > p->high_ns) p->high_ns = e->end_ns;
    if (e->role != HD_CLOCK_TAKES && (!p->gives || e->start_ns > p->given_ns)) {
        p->given_ns = e->start_ns;
        p->giver = e->member;
        p->gives = p->is_alone = true;
    } else if (e->role != HD_CLOCK_TAKES && e->start_ns == p->given_ns) {
        p->is_alone = false;
    }
    if (e->role != HD_CLOCK_GIVES && (!p->takes || e->end_ns < p->taken_ns)) {
        p->taken_ns = e->end_ns;
        p->taker = e->member;
        p->takes = true;
    }
}

/* The record of all members of a collective on one host. spare has room for twice as many. */
static clock_part make_part(const hd_clock_event *events, const seat *seats, size_t count, int64_t *spare)
{
    clock_part p = {.group = seats->group,
                    .sequence = seats->sequence,
                    .host = seats->host,
                    .operation = events[seats->at].operation,
                    .is_sound = true,
                    .is_of_all = true};
    for (size_t i = 0; i < count; i++) {
        add_event(&p, &events[seats[i].at]);
        if (i && seats[i].member == seats[i - 1].member) p.is_sound = false;
        spare[i] = events[seats[i].at].end_ns;
    }
    HD_SORT_RUNS(spare, spare + count, count, x, y, *x < *y);
    p.end_ns = spare[count / 2];
    return p;
}

/* ---- packing ---- */

enum { SOUND = 1, OF_ALL = 2, GIVES = 4, TAKES = 8, ALONE = 16 };

static int64_t less(int64_t x, int64_t y) /* wraps */
{
    return (int64_t)((uint64_t)x - (uint64_t)y);
}

static int64_t plus(int64_t x, int64_t y)
{
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static void put_part(hd_bytes *out, const clock_part *p, const clock_part *before)
{
    hd_bytes_put_u8(out, (uint8_t)((p->is_sound ? SOUND : 0) | (p->is_of_all ? OF_ALL : 0) | (p->gives ? GIVES : 0) |
                                   (p->takes ? TAKES : 0) | (p->is_alone ? ALONE : 0)));
    hd_bytes_put_zigzag(out, less(p->sequence, before->sequence));
    hd_bytes_put_zigzag(out, (int64_t)p->operation - before->operation);
    hd_bytes_put_varint(out, p->members);
    hd_bytes_put_zigzag(out, (int64_t)p->size - before->size);
    hd_bytes_put_zigzag(out, less(p->end_ns, before->end_ns));
    hd_bytes_put_zigzag(out, less(p->end_ns, p->low_ns));
    hd_bytes_put_zigzag(out, less(p->high_ns, p->end_ns));
    hd_bytes_put_zigzag(out, less(p->given_ns, p->low_ns));
    hd_bytes_put_zigzag(out, less(p->taken_ns, p->end_ns));
    hd_bytes_put_zigzag(out, (int64_t)p->first - before->first);
    hd_bytes_put_zigzag(out, (int64_t)p->giver - before->giver);
    hd_bytes_put_zigzag(out, (int64_t)p->taker - before->taker);
}

static void take_part(clock_part *p, hd_byte_reader *in)
{
    unsigned flags = hd_byte_reader_u8(in);
    p->is_sound = flags & SOUND;
    p->is_of_all = flags & OF_ALL;
    p->gives = flags & GIVES;
    p->takes = flags & TAKES;
    p->is_alone = flags & ALONE;
    p->sequence = plus(p->sequence, hd_byte_reader_zigzag(in));
    p->operation += (uint32_t)hd_byte_reader_zigzag(in);
    p->members = (uint32_t)hd_byte_reader_varint(in);
    p->size += (uint32_t)hd_byte_reader_zigzag(in);
    p->end_ns = plus(p->end_ns, hd_byte_reader_zigzag(in));
    p->low_ns = less(p->end_ns, hd_byte_reader_zigzag(in));
    p->high_ns = plus(p->end_ns, hd_byte_reader_zigzag(in));
    p->given_ns = plus(p->low_ns, hd_byte_reader_zigzag(in));
    p->taken_ns = plus(p->end_ns, hd_byte_reader_zigzag(in));
    p->first += (uint32_t)hd_byte_reader_zigzag(in);
    p->giver += (uint32_t)hd_byte_reader_zigzag(in);
    p->taker += (uint32_t)hd_byte_reader_zigzag(in);
}

/* Adds a host's records of one group as a list, which continues the last one if that is of the same. */
static bool add_part(clock_parts *parts, clock_part *before, const clock_part *p)
{
    if (!before->members || before->host != p->host || before->group != p->group) {
        if (!hd_grow((void **)&parts->lists, &parts->capacity, parts->list_count, sizeof *parts->lists)) return false;
        parts->lists[parts->list_count++] =
            (clock_list){.group = p->group, .host = p->host, .offset = parts->bytes.size};
        *before = (clock_part){0};
    }
    put_part(&parts->bytes, p, before);
    parts->lists[parts->list_count - 1].count++;
    *before = *p;
    return !parts->bytes.failed;
}

bool clock_parts_add(clock_parts *parts, const hd_clock_event *events, size_t count)
{
    seat *seats = malloc((count + 1) * sizeof *seats), *spare = malloc((count + 1) * sizeof *spare);
    bool fine = seats && spare;
    clock_part before = {0};
    size_t used = 0;
    parts->events += count;
    for (size_t i = 0; i < count && fine; i++) {
        const hd_clock_event *e = &events[i];
        if (e->start_ns <= e->end_ns) seats[used++] = (seat){e->group, e->sequence, e->host, e->member, i};
    }
    if (fine)
        HD_SORT_RUNS(seats, spare, used, x, y,
                     compare_seats(x, y) < 0 || (compare_seats(x, y) == 0 && x->member < y->member));
    for (size_t i = 0, end; i < used && fine; i = end) {
        for (end = i + 1; end < used && compare_seats(&seats[i], &seats[end]) == 0;) end++;
        const clock_part part = make_part(events, seats + i, end - i, (int64_t *)spare);
        fine = add_part(parts, &before, &part);
    }
    free(seats);
    free(spare);
    return fine;
}

void clock_parts_deinit(clock_parts *parts)
{
    hd_bytes_deinit(&parts->bytes);
    free(parts->lists);
}

/* ---- collectives ---- */

typedef struct cursor {
    clock_part part;
    hd_byte_reader reader;
    size_t left;
} cursor;

typedef struct next_part {
    int64_t sequence;
    uint32_t cursor; /* by host */
} next_part;

typedef struct walker {
    cursor *cursors;
    next_part *heap;
    clock_part *parts; /* of one collective */
    clock_each *each;
    void *user;
} walker;

static bool is_before(const next_part *x, const next_part *y)
{
    return x->sequence != y->sequence ? x->sequence < y->sequence : x->cursor < y->cursor;
}

/* Whether all hosts agree. */
static bool is_sound(const clock_part *parts, size_t count)
{
    uint64_t members = 0;
    for (size_t i = 0; i < count; i++) members += parts[i].members;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i].is_sound || parts[i].operation != parts->operation) return false;
        if (parts[i].size && parts[i].size < members) return false;
    }
    return true;
}

static bool walk_group(walker *w, const clock_parts *all, const clock_list *lists, size_t count)
{
    size_t waiting = 0;
    for (size_t i = 0; i < count; i++) {
        cursor *c = &w->cursors[i];
        *c = (cursor){.part = {.group = lists[i].group, .host = lists[i].host}, .left = lists[i].count - 1};
        c->reader = hd_byte_reader_of(all->bytes.data + lists[i].offset, all->bytes.size - lists[i].offset);
        take_part(&c->part, &c->reader);
        HD_HEAP_PUSH(w->heap, waiting, ((next_part){c->part.sequence, (uint32_t)i}), x, y, is_before(x, y));
    }
    while (waiting) {
        const int64_t sequence = w->heap->sequence;
        size_t found = 0;
        while (waiting && w->heap->sequence == sequence) {
            const uint32_t at = w->heap->cursor;
            cursor *c = &w->cursors[at];
            w->parts[found++] = c->part;
            if (c->left) {
                c->left--;
                take_part(&c->part, &c->reader);
                HD_HEAP_SINK(w->heap, waiting, 0, ((next_part){c->part.sequence, at}), x, y, is_before(x, y));
            } else {
                HD_HEAP_POP(w->heap, waiting, x, y, is_before(x, y));
            }
        }
        if (is_sound(w->parts, found) && !w->each(w->user, w->parts, found)) return false;
    }
    return true;
}

bool clock_parts_order(clock_parts *parts)
{
    clock_list *spare = malloc((parts->list_count + 1) * sizeof *spare);
    if (spare)
        HD_SORT_RUNS(parts->lists, spare, parts->list_count, x, y,
                     x->group != y->group ? x->group < y->group : x->host < y->host);
    free(spare);
    return spare != NULL;
}

/* Behind the lists of a group. */
static size_t group_end(const clock_parts *parts, size_t first)
{
    size_t end = first + 1;
    while (end < parts->list_count && parts->lists[end].group == parts->lists[first].group) end++;
    return end;
}

bool clock_parts_each(const clock_parts *parts, clock_each *each, void *user)
{
    size_t most = 1;
    for (size_t i = 0, end; i < parts->list_count; i = end) {
        end = group_end(parts, i);
        if (end - i > most) most = end - i;
    }
    walker w = {.cursors = malloc(most * sizeof *w.cursors),
                .heap = malloc(most * sizeof *w.heap),
                .parts = malloc(most * sizeof *w.parts),
                .each = each,
                .user = user};
    bool fine = w.cursors && w.heap && w.parts;
    for (size_t i = 0, end; i < parts->list_count && fine; i = end) {
        end = group_end(parts, i);
        fine = walk_group(&w, parts, parts->lists + i, end - i);
    }
    free(w.cursors);
    free(w.heap);
    free(w.parts);
    return fine;
}
