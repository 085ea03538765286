/* notes.c - notes on what a replay did not know, left out or assumed */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "replay/replay.h"

enum { DEPTH_USUAL = 1024 }; /* of a launch queue */

/* Counts activities whose last wait is of a kind without samples; *first: the first such kind. */
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

typedef struct notes {
    char texts[16][400];
    const char *list[17];
    size_t count;
} notes;

HD_PRINTF(2, 3) static void note(notes *n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(n->texts[n->count], sizeof *n->texts, format, args);
    va_end(args);
    n->list[n->count] = n->texts[n->count];
    n->count++;
}

static void note_order(notes *n, const replay *r)
{
    uint64_t over = 0, cycles = r->unchanged.cycles + r->changed.cycles;
    for (uint32_t node = r->first_work + 1; node < r->graph->node_count; node++)
        over += r->plan.befores[node - r->first_work] == node - 1 && r->graph->ends[node - 1] > r->graph->starts[node];
    char text[300];
    if (gpu_note_backward(text, sizeof text, r->graph)) note(n, "%s", text);
    if (gpu_note_guessed(text, sizeof text, r->graph)) note(n, "%s", text);
    if (gpu_note_suspects(text, sizeof text, r->graph))
        note(n, "%s: the uncertainty of predictions includes the effect", text);
    if (gpu_note_unexamined(text, sizeof text, r->graph))
        note(n, "%s, and the uncertainty of predictions does not include the effect", text);
    if (cycles) note(n, "%llu dependencies contradict one another and are left out", (unsigned long long)cycles);
    if (over)
        note(n, "%llu activities began while the activity before them on their queue still ran; they keep their order",
             (unsigned long long)over);
}

static void note_guesses(notes *n, const replay *r)
{
    char name[80], instead[80];
    unsigned lag = 0;
    uint64_t guessed = count_guesses(&lag, r);
    uint32_t lent = r->lags[lag].of;
    replay_lag_name(name, sizeof name, lag);
    replay_lag_name(instead, sizeof instead, lent < LAG_CLASSES ? lent : 0);
    if (guessed)
        note(n,
             "%llu activities wait with a kind of delay that the trace never shows undisturbed (%s): the replay uses "
             "%s%s",
             (unsigned long long)guessed, name, lent < LAG_CLASSES ? "the delay of " : "",
             lent < LAG_CLASSES  ? instead
             : r->options->graph ? "no delay, as in a CUDA graph"
             : r->lags[lag].ns   ? "1 us"
                                 : "no delay");
}

static void note_depth(notes *n, const replay *r)
{
    if (r->depth)
        note(n,
             "launch calls wait while %llu operations of their queue have not begun; this explains %llu calls, which "
             "waited %.3f ms",
             (unsigned long long)r->depth, (unsigned long long)r->blocked, (double)r->blocked_ns / 1e6);
    else if (r->waiting > DEPTH_USUAL)
        note(n,
             "up to %u operations of a queue are launched and have not begun; the trace does not show at how many a "
             "launch waits, often 1024: see --queue-depth",
             r->waiting);
}

static void note_shares(notes *n, const replay *r)
{
    char told[64] = "which the trace does not contain";
    if (r->widthless && (r->options->schedule || r->options->streams || r->options->overlap))
        note(n,
             "%llu kernels have no number of blocks, or the number of SMs of the GPU is unknown: kernels that run at "
             "the same time are not slowed down by them",
             (unsigned long long)r->widthless);
    if (r->link.samples)
        snprintf(told, sizeof told, "as measured on %llu copies of the trace", (unsigned long long)r->link.samples);
    if (r->link.is_shared && r->has_change)
        note(n, "while copies to and from the GPU run at once, each is taken to be %.2f times as fast as alone, %s",
             r->link.part, told);
    if (r->options->schedule && !strcmp(r->options->schedule, "priorities"))
        note(n, "the replay without change also follows the priorities in the trace; --schedule priorities=all:0 shows "
                "what they save");
}

hd_status replay_add_notes(hd_report *out, const replay *r, hd_error *err)
{
    notes n = {.count = 0};
    if ((r->has_change || r->options->ties) && r->error > r->options->max_error)
        note(&n,
             "the replay without change is off by %.2f %%, more than %.2f %%, so predictions are refused; the table "
             "`missing` lists the activities whose waits are unknown",
             r->error, r->options->max_error);
    if (*r->idle) note(&n, "these options change nothing in the trace: %s", r->idle);
    note_order(&n, r);
    note_guesses(&n, r);
    note_depth(&n, r);
    note_shares(&n, r);
    if (*r->gpu_note) note(&n, "%s", r->gpu_note);
    if (r->cut_copies)
        note(&n, "run: %llu copies of more than 256 MiB were cut to that", (unsigned long long)r->cut_copies);
    if (r->orphans)
        note(&n, "run: %llu activities without a call were launched at their start", (unsigned long long)r->orphans);
    return gpu_add_notes(out, &replay_about, &r->scope, n.list, err);
}
