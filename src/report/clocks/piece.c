/* piece.c - lines of clocks: evaluation, inversion, and composition */
#include <stdlib.h>

#include "base/sorted.h"
#include "report/clocks/clocks.h"

static int64_t higher(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static int64_t lower(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static double apart(int64_t x, int64_t y)
{
    return (double)((clock_i128)x - y);
}

int64_t clock_piece_offset(const hd_clock_piece *piece, int64_t time_ns)
{
    return clock_clip((clock_i128)piece->offset_ns + gpu_round(piece->drift * apart(time_ns, piece->at_ns)));
}

static double outside(const hd_clock_piece *piece, int64_t time_ns)
{
    if (time_ns < piece->first_ns) return apart(piece->first_ns, time_ns);
    return time_ns > piece->last_ns ? apart(time_ns, piece->last_ns) : 0;
}

int64_t clock_piece_bar(const hd_clock_piece *piece, int64_t time_ns, double drift)
{
    double more = piece->rate * fabs(apart(time_ns, piece->at_ns)) + drift * outside(piece, time_ns);
    return clock_clip((clock_i128)piece->bar_ns + gpu_round(ceil(more)));
}

double clock_piece_worst(const hd_clock_piece *piece)
{
    double before = apart(piece->at_ns, piece->first_ns), after = apart(piece->last_ns, piece->at_ns);
    return (double)piece->bar_ns + piece->rate * fmax(before, after);
}

/* INT64_MIN and INT64_MAX are unchanged: they mean no limit. */
static int64_t moved(int64_t time_ns, int64_t by)
{
    return time_ns == INT64_MIN || time_ns == INT64_MAX ? time_ns : clock_clip((clock_i128)time_ns + by);
}

hd_clock_piece clock_piece_inverse(const hd_clock_piece *piece)
{
    hd_clock_piece out = *piece;
    double slope = 1 + piece->drift;
    out.from_ns = moved(piece->from_ns, clock_piece_offset(piece, piece->from_ns));
    out.until_ns = moved(piece->until_ns, clock_piece_offset(piece, piece->until_ns));
    out.first_ns = moved(piece->first_ns, clock_piece_offset(piece, piece->first_ns));
    out.last_ns = moved(piece->last_ns, clock_piece_offset(piece, piece->last_ns));
    out.at_ns = moved(piece->at_ns, piece->offset_ns);
    out.offset_ns = clock_clip(-(clock_i128)piece->offset_ns);
    out.drift = slope > 0 ? -piece->drift / slope : 0;
    return out;
}

/* The last sample of a and the first of b, on both clocks: the step is between, and on the other's clock no longer than
 * that. */
static void part_pair(hd_clock_piece *a, hd_clock_piece *b)
{
    clock_i128 a_other = (clock_i128)a->last_ns + clock_piece_offset(a, a->last_ns);
    clock_i128 b_other = (clock_i128)b->first_ns + clock_piece_offset(b, b->first_ns);
    clock_i128 between = b_other > a_other ? b_other - a_other : 0;
    if (b->first_ns - between > a->last_ns) return;
    a->until_ns = lower(a->until_ns, clock_clip(b->first_ns - between));
    b->from_ns = higher(b->from_ns, clock_clip(a->last_ns + between));
}

bool clock_pieces_part(clock_pieces *pieces)
{
    hd_clock_piece *list = pieces->list, *spare = malloc((pieces->count + 1) * sizeof *spare);
    size_t kept = 0;
    if (!spare) return false;
    for (size_t i = 1; i < pieces->count; i++) part_pair(&list[i - 1], &list[i]);
    HD_SORT_RUNS(list, spare, pieces->count, x, y, x->from_ns < y->from_ns);
    free(spare);
    for (size_t i = 0; i < pieces->count; i++) {
        hd_clock_piece *before = kept ? &list[kept - 1] : NULL, own = list[i];
        if (before && own.from_ns <= before->until_ns) {
            int64_t until = before->until_ns;
            before->until_ns = own.from_ns;
            own.from_ns = until;
        }
        if (own.from_ns <= own.until_ns) list[kept++] = own;
    }
    pieces->count = kept;
    return true;
}

/* A time of the parent's clock on the host's. */
static int64_t pulled(const hd_clock_piece *inner, int64_t time_ns)
{
    hd_clock_piece back = clock_piece_inverse(inner);
    return moved(time_ns, clock_piece_offset(&back, time_ns));
}

static bool join(hd_clock_piece *out, const hd_clock_piece *inner, const hd_clock_piece *outer, double drift)
{
    *out = *inner;
    out->from_ns = higher(inner->from_ns, pulled(inner, outer->from_ns));
    out->until_ns = lower(inner->until_ns, pulled(inner, outer->until_ns));
    out->first_ns = higher(inner->first_ns, pulled(inner, outer->first_ns));
    out->last_ns = lower(inner->last_ns, pulled(inner, outer->last_ns));
    if (out->from_ns > out->until_ns) return false;
    if (out->first_ns > out->last_ns) /* the evidence of one ends before that of the other begins */
        out->first_ns = out->last_ns = lower(higher(inner->at_ns, out->from_ns), out->until_ns);
    /* The middle of the gap, where the bar is smallest. */
    out->at_ns = (int64_t)(((clock_i128)out->first_ns + out->last_ns) / 2);
    int64_t offset = clock_piece_offset(inner, out->at_ns);
    int64_t there = clock_clip((clock_i128)out->at_ns + offset);
    out->offset_ns = clock_clip((clock_i128)offset + clock_piece_offset(outer, there));
    out->bar_ns =
        clock_clip((clock_i128)clock_piece_bar(inner, out->at_ns, drift) + clock_piece_bar(outer, there, drift) + 1);
    out->drift = inner->drift + outer->drift + inner->drift * outer->drift;
    out->rate = inner->rate + outer->rate;
    out->has_drift = inner->has_drift || outer->has_drift;
    return true;
}

bool clock_pieces_compose(clock_pieces *out, const clock_pieces *inner, const clock_pieces *outer, double drift)
{
    if (!inner->count || !outer->count) return true;
    /* Two lists without overlaps, cut into one another. */
    hd_clock_piece *list = realloc(out->list, (out->count + inner->count + outer->count) * sizeof *list);
    if (!list) return false;
    out->list = list;
    for (size_t i = 0, o = 0; i < inner->count && o < outer->count;) {
        hd_clock_piece both;
        if (join(&both, &inner->list[i], &outer->list[o], drift)) out->list[out->count++] = both;
        if (inner->list[i].until_ns < pulled(&inner->list[i], outer->list[o].until_ns))
            i++;
        else
            o++;
    }
    return true;
}
