/* clock_arrivals.c - who came last to each collective, by the clocks of hosts, where their bars allow to say so
 *
 * Report stragglers tells it from durations, without clocks; this holds as well where those say nothing, since a member
 * does not wait inside. Members of one host need no clock.
 */
#include "base/error.h"
#include "report/clocks/clocks.h"
#include "report/job/clock_events.h"

/* Whether x is known to begin later than y, or earlier; 0: nobody can say. */
static int order_of(int64_t *out_wait, int64_t *out_bar, const hd_clocks *clocks, const hd_clock_event *x,
                    const hd_clock_event *y)
{
    bool known = hd_clocks_wait(out_wait, out_bar, clocks, y->host, y->start_ns, x->host, x->start_ns);
    return known ? (*out_wait > 0) - (*out_wait < 0) : 0;
}

/* of: places in j->events. */
static void add_arrivals(hd_table_builder *b, const clock_job *j, const hd_clocks *clocks, const size_t *of,
                         size_t count)
{
    const hd_clock_event *first = &j->events[of[0]], *last = first;
    int64_t wait, bar;
    bool last_known = true;
    for (size_t i = 1; i < count; i++) {
        const hd_clock_event *own = &j->events[of[i]];
        if (order_of(&wait, &bar, clocks, own, last) > 0) last = own;
        if (order_of(&wait, &bar, clocks, own, first) < 0) first = own;
    }
    for (size_t i = 0; i < count && last_known; i++)
        last_known = &j->events[of[i]] == last || order_of(&wait, &bar, clocks, last, &j->events[of[i]]) > 0;
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
    clock_events events;
    uint64_t left_out;
    bool fine = clock_events_init(&events, &left_out, j->events, j->count);
    for (size_t i = 0; fine && i < events.collectives; i++) {
        size_t first = events.firsts[i], count = events.firsts[i + 1] - first;
        if (count > 1) add_arrivals(builder, j, clocks, events.order + first, count);
    }
    clock_events_deinit(&events);
    return fine ? HD_OK : HD_NOMEM(err);
}
