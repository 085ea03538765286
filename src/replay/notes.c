/* notes.c - what a replay did not know, left out or took for granted */
#include <stdio.h>
#include <string.h>

#include "replay/replay.h"

enum { DEPTH_USUAL = 1024 }; /* of a launch queue */

/* Work that waited last for something of a kind of which there is no sample; *first: the first such kind. */
static uint64_t count_guesses(unsigned *first, const replay *r)
{
    const hd_graph *g = r->graph;
    const replay_times *t = r->has_change ? &r->changed : &r->unchanged;
    uint64_t count = 0;
    for (uint32_t n = r->first_work; t->bounds && n < g->node_count; n++) {
        hd_edge_kind kind = (hd_edge_kind)t->bound_kinds[n];
        bool is_kept = kind == HD_EDGE_QUEUE && t->bounds[n] != HD_NONE &&
                       (r->plan.flags[n] & (PLAN_NO_LAG | PLAN_GONE) ||
                        (t->bounds[n] + 1 == n && g->ends[t->bounds[n]] > g->starts[n]));
        if (t->bounds[n] == HD_NONE || is_kept) continue;
        if (kind != HD_EDGE_QUEUE && kind != HD_EDGE_LAUNCH && kind != HD_EDGE_EVENT) continue;
        unsigned lag = replay_lag_class(r, n, t->bounds[n], kind);
        if (!r->lags[lag].samples && !count++) *first = lag;
    }
    return count;
}

hd_status replay_add_notes(hd_report *out, const replay *r, hd_error *err)
{
    char refused[160], cycles[120], overlaps[160], guesses[320], cut[120], orphans[120], waits[240], depth[240],
        widths[200], name[80], instead[80], idle[400], backward[240];
    const char *more[15] = {NULL};
    unsigned lag = 0;
    size_t count = 0;
    uint64_t over = 0;
    for (uint32_t n = r->first_work + 1; n < r->graph->node_count; n++)
        over += r->plan.befores[n - r->first_work] == n - 1 && r->graph->ends[n - 1] > r->graph->starts[n];
    snprintf(refused, sizeof refused,
             "the replay as it is is off by %.2f %%, more than %.2f %%: what-ifs are refused; `missing` tells whose "
             "waits are not known",
             r->error, r->options->max_error);
    snprintf(cycles, sizeof cycles, "%llu dependencies contradict one another and are left out",
             (unsigned long long)(r->unchanged.cycles + r->changed.cycles));
    snprintf(overlaps, sizeof overlaps,
             "%llu pieces of work began while what is before them on their queue ran, and keep their place in that",
             (unsigned long long)over);
    if ((r->has_change || r->options->ties) && r->error > r->options->max_error) more[count++] = refused;
    snprintf(idle, sizeof idle, "these find nothing to change: %s", r->idle);
    if (*r->idle) more[count++] = idle;
    if (gpu_note_backward(backward, sizeof backward, r->graph)) more[count++] = backward;
    if (r->unchanged.cycles + r->changed.cycles) more[count++] = cycles;
    if (over) more[count++] = overlaps;
    uint64_t guessed = count_guesses(&lag, r);
    uint32_t lent = r->lags[lag].of;
    replay_lag_name(name, sizeof name, lag);
    replay_lag_name(instead, sizeof instead, lent < LAG_CLASSES ? lent : 0);
    snprintf(guesses, sizeof guesses,
             "%llu pieces of work wait behind something of a kind of which the trace has no sample (%s): %s%s is taken",
             (unsigned long long)guessed, name, lent < LAG_CLASSES ? "the delay of " : "",
             lent < LAG_CLASSES  ? instead
             : r->options->graph ? "none, as in a CUDA graph,"
             : r->lags[lag].ns   ? "1 us"
                                 : "none");
    if (guessed) more[count++] = guesses;
    if (r->depth)
        snprintf(
            depth, sizeof depth,
            "launch calls wait while %llu operations of their queue have not begun: that explains %llu calls, which "
            "waited %.3f ms",
            (unsigned long long)r->depth, (unsigned long long)r->blocked, (double)r->blocked_ns / 1e6);
    else
        snprintf(
            depth, sizeof depth,
            "up to %u operations of a queue are launched and have not begun; the trace does not show at how many a "
            "launch waits, often 1024: see --queue-depth",
            r->waiting);
    if (r->depth || r->waiting > DEPTH_USUAL) more[count++] = depth;
    snprintf(widths, sizeof widths,
             "%llu kernels do not tell their blocks, or the trace not how many SMs the GPU has: what runs beside them "
             "takes nothing from them",
             (unsigned long long)r->widthless);
    if (r->widthless && (r->options->schedule || r->options->streams || r->options->overlap)) more[count++] = widths;
    if (r->options->schedule && !strcmp(r->options->schedule, "priorities"))
        more[count++] = "the replay without change follows the priorities that the trace tells, too; --schedule "
                        "priorities=all:0 tells what they bring";
    if (*r->gpu_note) more[count++] = r->gpu_note;
    snprintf(cut, sizeof cut, "run: %llu copies of more than 256 MiB were cut to that",
             (unsigned long long)r->cut_copies);
    snprintf(orphans, sizeof orphans, "run: %llu pieces of work without a call were launched when they began",
             (unsigned long long)r->orphans);
    if (gpu_note_guessed(waits, sizeof waits, r->graph)) more[count++] = waits;
    if (r->cut_copies) more[count++] = cut;
    if (r->orphans) more[count++] = orphans;
    return gpu_add_notes(out, &replay_about, &r->scope, more, err);
}
