/* print_clocks.c - hd_clocks_new on cases from standard input, for check_clocks.py
 *
 * A case is a line "HOSTS EVENTS HINTS QUESTIONS", then a line for each: an event "host member operation role group
 * sequence start end", a hint "host offset bar", a question "host time". For each case a line of the bases of the
 * hosts, one with the size of the contradiction and the events left out, and a line per question: "offset bar", or "?".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "heddle/analysis/clocks.h"

static int64_t number(void)
{
    int64_t value;
    if (scanf("%" SCNd64, &value) != 1) exit(3);
    return value;
}

static hd_clock_event *read_events(size_t count)
{
    hd_clock_event *events = calloc(count + 1, sizeof *events);
    for (size_t i = 0; events && i < count; i++) {
        hd_clock_event *e = &events[i];
        e->host = (uint32_t)number();
        e->member = (uint32_t)number();
        e->operation = (uint32_t)number();
        e->role = (hd_clock_role)number();
        e->group = (uint64_t)number();
        e->sequence = number();
        e->start_ns = number();
        e->end_ns = number();
    }
    return events;
}

static void answer(const hd_clocks *clocks, size_t questions)
{
    for (size_t h = 0; h < hd_clocks_count(clocks); h++)
        printf("%s%s", h ? " " : "", hd_clock_basis_name(hd_clocks_host(clocks, h)->basis));
    printf("\n%zu %" PRIu64 "\n", hd_clocks_cycle_size(clocks), hd_clocks_left_out(clocks));
    for (size_t i = 0; i < questions; i++) {
        int64_t host = number(), time = number(), offset, bar;
        if (hd_clocks_at(&offset, &bar, clocks, (size_t)host, time))
            printf("%" PRId64 " %" PRId64 "\n", offset, bar);
        else
            printf("?\n");
    }
}

int main(void)
{
    for (int64_t hosts; scanf("%" SCNd64, &hosts) == 1;) {
        size_t count = (size_t)number(), hint_count = (size_t)number(), questions = (size_t)number();
        hd_clock_event *events = read_events(count);
        hd_clock_hint *hints = calloc(hint_count + 1, sizeof *hints);
        if (!events || !hints) return 1;
        for (size_t i = 0; i < hint_count; i++) {
            hints[i].host = (uint32_t)number();
            hints[i].offset_ns = number();
            hints[i].bar_ns = number();
        }
        hd_clocks *clocks;
        hd_error err = {0};
        if (hd_clocks_new(&clocks, (size_t)hosts, events, count, hints, hint_count, NULL, &err) != HD_OK) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        answer(clocks, questions);
        hd_clocks_free(clocks);
        free(events);
        free(hints);
    }
    return 0;
}
