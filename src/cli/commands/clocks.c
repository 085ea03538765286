/* clocks.c - heddle clocks: report clocks of a job, with an exit status that says whether all clocks are known */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job_in.h"
#include "cli/report_out.h"
#include "cli/report_text.h"

struct clocks_options {
    const char *ntp, *mpisync, *reference;
    bool arrivals;
};

#define FIELD(member) .field = offsetof(struct clocks_options, member)

static const cli_option options[] = {
    {.name = "ntp",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offer = "<files>",
     FIELD(ntp),
     .help = "lines HOST OFFSET BAR in seconds, from chrony, NTP or PTP: the offset to add to a host's clock to get "
             "true time, and its error bar"},
    {.name = "mpisync",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offer = "<files>",
     FIELD(mpisync),
     .help = "what Open MPI's mpisync -o wrote: lines HOST RTT OFFSET"},
    {.name = "reference",
     .kind = CLI_TEXT,
     .value = "HOST",
     FIELD(reference),
     .help = "the host whose clock counts; else that of the lowest rank"},
    {.name = "arrivals",
     .kind = CLI_FLAG,
     FIELD(arrivals),
     .help = "who came last to each collective, and how long the first waited, unless that is less than the bars"},
    {0},
};

static hd_status make_report(hd_report *out, cli_run *run, const hd_job *job)
{
    const struct clocks_options *o = run->options;
    const char *const names[] = {"ntp", "mpisync", "reference"}, *const values[] = {o->ntp, o->mpisync, o->reference};
    char *texts[5] = {0};
    size_t count = 0;
    int size = 0;
    for (int i = 0; i < 3 && size >= 0; i++)
        if (values[i]) size = asprintf(&texts[count++], "%s=%s", names[i], values[i]);
    if (o->arrivals && size >= 0 && !(texts[count++] = strdup("arrivals"))) size = -1;
    const hd_report_input input = {.job = job, .options = (const char *const *)texts};
    hd_status status = size < 0 ? hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory")
                                : hd_report_run(out, "clocks", &input, &run->err);
    for (size_t i = 0; i < count && size >= 0; i++) free(texts[i]);
    return status;
}

/* Number of clocks with an unknown offset. */
static size_t count_unknown(const hd_table *clocks)
{
    size_t count = 0, offset = hd_table_find_column(clocks, "offset");
    for (size_t row = 0; row < hd_table_row_count(clocks); row++) count += hd_table_is_null(clocks, row, offset);
    return count;
}

static int run(cli_run *run)
{
    const hd_report_about *about = hd_report_about_find("clocks");
    hd_report report = {0};
    uint64_t failed;
    hd_job *job;
    size_t unknown = 0; /* clocks with unknown offset, and losses of summaries */
    hd_status status =
        job_read(&job, &failed, run, 0, (job_shard){.tells_misfits = true}, &(hd_read_options){.lazy = true});
    if (status == HD_OK) status = make_report(&report, run, job);
    if (status == HD_OK) {
        char *name = report_name_of_files(run->operands, run->operand_count);
        const hd_report_part part = {name ? name : run->operands[0], about, &report, 0};
        unknown =
            count_unknown(hd_report_table(&report, "clocks")) + hd_table_row_count(hd_report_table(&report, "lost"));
        if (run->global.json)
            status = hd_report_print((hd_sink){cli_write, run}, HD_REPORT_JSON, &part, 1, &run->err);
        else
            report_text_print(
                &(report_text){.run = run, .path = part.path, .about = about, .report = &report, .all = true});
        free(name);
    }
    hd_report_free(&report);
    hd_job_free(job);
    return status == HD_ERR_ARGUMENT ? CLI_USAGE : status != HD_OK || failed || unknown ? CLI_FAILED : CLI_OK;
}

const cli_command cmd_clocks = {
    .name = "clocks",
    .group = CLI_JOB,
    .summary = "estimate clock offsets between hosts, with error bars",
    .usage = "FILE...",
    .offer = "<files>",
    .description =
        "Reads all FILEs, traces or summaries (.hds), as one job. For each host it prints the offset to add to its "
        "times to get those of the reference host, the error bar, the drift, and the basis of the estimate: ends of "
        "collectives, bounds from causality, or hints. `heddle report clocks` prints the same; `heddle help report "
        "clocks` explains the columns. No trace is changed.\n\n"
        "The exit status is 1 if a FILE or a part of it cannot be read, or if a clock is not known: nothing connects "
        "its host with the reference, or the evidence contradicts itself; then the table contradiction names the "
        "collectives.",
    .options = options,
    .options_size = sizeof(struct clocks_options),
    .operands_min = 1,
    .operands_max = -1,
    .has_json = true,
    .run = run,
    .examples = (const cli_example[]){{"heddle clocks job.hds", "of a job"},
                                      {"heddle clocks rank*.json.gz", "of its traces"},
                                      {"heddle clocks --mpisync offsets.txt job.hds", "with what mpisync measured"},
                                      {0}},
};
