/* clock_arrivals.c - the last rank to arrive at each collective, by host clocks, if their error bars allow it
 *
 * Report stragglers derives it from durations, without clocks; this also works if durations are not conclusive, since a
 * member does not wait inside. Members of one host need no clock.
 */
#include "base/error.h"
#include "report/job/clock_events.h"

typedef struct arrivals {
    hd_table_builder *builder;
    const clock_job *job;
    const hd_clocks *clocks;
} arrivals;

/* Whether the last or the first of x's host certainly begins later than that of y's, or earlier; 0: uncertain. */
static int order_of(const arrivals *a, const clock_part *x, const clock_part *y, bool of_last)
{
    int64_t wait, bar;
    bool known = hd_clocks_wait(&wait, &bar, a->clocks, y->host, of_last ? y->given_ns : y->low_ns, x->host,
                                of_last ? x->given_ns : x->low_ns);
    return known ? (wait > 0) - (wait < 0) : 0;
}

/* On one host, the last and the first are known: they represent its members. */
static bool add_arrivals(void *user, const clock_part *parts, size_t count)
{
    const arrivals *a = user;
    const clock_job *j = a->job;
    hd_table_builder *b = a->builder;
    const clock_part *first = parts, *last = parts;
    uint64_t members = parts->members;
    int64_t wait, bar;
    for (size_t i = 1; i < count; i++) {
        members += parts[i].members;
        if (order_of(a, &parts[i], last, true) > 0) last = &parts[i];
        if (order_of(a, &parts[i], first, false) < 0) first = &parts[i];
    }
    if (members < 2) return true;
    bool last_known = last->is_alone;
    for (size_t i = 0; i < count && last_known; i++)
        last_known = &parts[i] == last || order_of(a, last, &parts[i], true) > 0;
    bool wait_known =
        hd_clocks_wait(&wait, &bar, a->clocks, first->host, first->low_ns, last->host, last->given_ns) && wait > 0;
    clock_cells_of(b, j, last->group, last->operation, last->sequence);
    hd_table_add_count(b, members);
    report_cell_int(b, last_known ? clock_job_rank(j, last->giver) : HD_NO_NUMBER);
    gpu_cell_text(b, &j->texts, last_known ? j->hosts[last->host].name : HD_NONE);
    report_cell_int(b, wait_known ? clock_job_rank(j, first->first) : HD_NO_NUMBER);
    gpu_cell_time(b, wait, wait_known);
    gpu_cell_time(b, bar, wait_known);
    return true;
}

hd_status clock_arrivals(hd_table_builder *builder, const clock_job *job, const hd_clocks *clocks, hd_error *err)
{
    arrivals a = {builder, job, clocks};
    return clock_parts_each(&job->parts, add_arrivals, &a) ? HD_OK : HD_NOMEM(err);
}
