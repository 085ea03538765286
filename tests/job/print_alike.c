/* print_alike.c - clock_alike.c on cases from standard input, for check_alike.py
 *
 * A case is a line "WORLD EVENTS QUESTIONS", then a line for each: an event "rank stream operation start end", by rank
 * and stream, each rank on a host of its own; a question "rank time". For each case a line of the bases of ranks, one
 * with how it ended and how many events were proven, and a line per question: "offset bar", or "?".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/job/clock_events.h"

static int64_t number(void)
{
    int64_t value;
    if (scanf("%" SCNd64, &value) != 1) exit(3);
    return value;
}

static void add_host(clock_job *j, int64_t rank)
{
    const int64_t key[3] = {rank, rank, HD_NONE};
    uint32_t host = gpu_group(&j->host_keys, key);
    j->hosts = realloc(j->hosts, (host + 1) * sizeof *j->hosts);
    if (!j->hosts) exit(1);
    j->hosts[host] = (clock_job_host){.name = HD_NONE, .rank = rank, .ranks = 1, .has_any = true, .has_alike = true};
}

static void add_event(clock_job *j, int64_t rank)
{
    int64_t stream = number(), operation = number();
    clock_alike_row row = {.host = (uint32_t)rank, .start_ns = number(), .end_ns = 0};
    row.end_ns = number();
    row.operation = gpu_text(&j->texts, operation ? "SendRecv" : "AllReduce", operation ? 8 : 9);
    row.member = gpu_group(&j->members, &(clock_job_member){rank, 0});
    j->uses[operation ? CLOCK_ROOTED : CLOCK_UNNAMED]++;
    if (!clock_alike_add(j, &(clock_alike_key){rank, rank, 0, stream}, &row)) exit(1);
}

int main(void)
{
    for (int64_t world; scanf("%" SCNd64, &world) == 1;) {
        size_t events = (size_t)number(), questions = (size_t)number();
        clock_job j;
        hd_clocks *clocks;
        const hd_clock_options options = {.size = sizeof options};
        clock_job_begin(&j);
        j.alike.world = world;
        for (int64_t rank = 0; rank < world; rank++) add_host(&j, rank);
        for (size_t i = 0; i < events; i++) add_event(&j, number());
        hd_error err = {0};
        if (clock_job_solve(&clocks, &j, &options, &err) != HD_OK) return 1;
        for (size_t h = 0; h < hd_clocks_count(clocks); h++)
            printf("%s%s", h ? " " : "", hd_clock_basis_name(hd_clocks_host(clocks, h)->basis));
        printf("\n%d %" PRIu64 "\n", (int)j.alike.end, j.uses[CLOCK_PROVEN]);
        for (size_t i = 0; i < questions; i++) {
            int64_t rank = number(), time = number(), offset, bar;
            if (hd_clocks_at(&offset, &bar, clocks, (size_t)rank, time))
                printf("%" PRId64 " %" PRId64 "\n", offset, bar);
            else
                printf("?\n");
        }
        hd_clocks_free(clocks);
        clock_job_deinit(&j);
    }
    return 0;
}
