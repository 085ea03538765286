/* clock_arrivals.c - who came last to each collective, by the clocks of hosts, where their bars allow to say so
 *
 * Report stragglers tells it from durations, without clocks; this holds as well where those say nothing, since a member
 * does not wait inside. Members of one host need no clock.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "report/job/clock_events.h"

static int compare(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int compare_collectives(const hd_clock_event *x, const hd_clock_event *y)
{
    int order = (x->group > y->group) - (x->group < y->group);
    return order ? order : compare(x->sequence, y->sequence);
}

static int compare_events(const hd_clock_event *x, const hd_clock_event *y)
{
    int order = compare_collectives(x, y);
    return order ? order : compare(x->member, y->member);
}

/* As hd_clocks_new takes it, of one member more. */
static bool is_sound(const hd_clock_event *const *of, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (of[i]->operation != of[0]->operation || of[i]->start_ns > of[i]->end_ns) return false;
        if ((of[i]->size && of[i]->size < count) || (i && compare_events(of[i - 1], of[i]) == 0)) return false;
    }
    return count > 1;
}

/* Whether x is known to begin later than y, or earlier; 0: nobody can say. */
static int order_of(int64_t *out_wait, int64_t *out_bar, const hd_clocks *clocks, const hd_clock_event *x,
                    const hd_clock_event *y)
{
    bool known = hd_clocks_wait(out_wait, out_bar, clocks, y->host, y->start_ns, x->host, x->start_ns);
    return known ? compare(*out_wait, 0) : 0;
}

static void add_arrivals(hd_table_builder *b, const clock_job *j, const hd_clocks *clocks,
                         const hd_clock_event *const *of, size_t count)
{
    const hd_clock_event *first = of[0], *last = of[0];
    int64_t wait, bar;
    bool last_known = true;
    for (size_t i = 1; i < count; i++) {
        if (order_of(&wait, &bar, clocks, of[i], last) > 0) last = of[i];
        if (order_of(&wait, &bar, clocks, of[i], first) < 0) first = of[i];
    }
    for (size_t i = 0; i < count && last_known; i++)
        last_known = of[i] == last || order_of(&wait, &bar, clocks, last, of[i]) > 0;
    bool wait_known = order_of(&wait, &bar, clocks, last, first) > 0;
    clock_cells_of(b, j, last);
    hd_table_add_count(b, count);
    report_cell_int(b, last_known ? clock_job_rank(j, last) : HD_NO_NUMBER);
    gpu_cell_text(b, &j->texts, last_known ? j->hosts[last->host].name : HD_NONE);
    report_cell_int(b, wait_known ? clock_job_rank(j, first) : HD_NO_NUMBER);
    gpu_cell_time(b, wait, wait_known);
    gpu_cell_time(b, bar, wait_known);
}

hd_status clock_arrivals(hd_table_builder *builder, const clock_job *j, const hd_clocks *clocks, hd_error *err)
{
    const hd_clock_event **list = malloc((j->count + 1) * sizeof *list),
                         **spare = malloc((j->count + 1) * sizeof *spare);
    bool fine = list && spare;
    for (size_t i = 0; fine && i < j->count; i++) list[i] = &j->events[i];
    if (fine && j->count) HD_SORT_RUNS(list, spare, j->count, x, y, compare_events(*x, *y) < 0);
    for (size_t i = 0, end; fine && i < j->count; i = end) {
        for (end = i + 1; end < j->count && compare_collectives(list[i], list[end]) == 0;) end++;
        if (is_sound(list + i, end - i)) add_arrivals(builder, j, clocks, list + i, end - i);
    }
    free(list);
    free(spare);
    return fine ? HD_OK : HD_NOMEM(err);
}
