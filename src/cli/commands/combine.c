/* combine.c - heddle combine: summaries of ranks as one job */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/job_in.h"
#include "cli/shared_options.h"

struct combine_options {
    const char *output, *table;
    bool strict, sync;
};

#define FIELD(member) .field = offsetof(struct combine_options, member)

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "OUT",
     FIELD(output),
     .help = "the file to write: .hds; .parquet: one table of all ranks; FOLDER.parquet/: all tables"},
    {.name = "table",
     .letter = 't',
     .kind = CLI_TEXT,
     .value = "TABLE",
     FIELD(table),
     .help = "the table of a .parquet file: rank, groups, collectives, kernels, operators, devices, ledger, steps, "
             "breakdown, idle, copies, memory"},
    {.name = "strict",
     .kind = CLI_FLAG,
     FIELD(strict),
     .help = "exit with status 1 if a rank is missing, duplicate, of another job, or damaged; else these are only "
             "reported"},
    OPTION_SYNC(FIELD(sync)),
    {0},
};
static const struct combine_options defaults = {.table = "breakdown"};

typedef struct losses {
    cli_run *run;
    uint64_t count;
} losses;

static void count_lost(void *user, const hd_error *why)
{
    losses *l = user;
    l->count++;
    job_print_lost(l->run, why);
}

/* Tables that an earlier job left in this folder, and this one has not. */
static void remove_others(const char *folder, const hd_report *report)
{
    for (size_t i = 0, k = 0; hd_job_table_at(i); i++) {
        const char *name = hd_job_table_at(i)->name;
        bool is_ours = k < report->table_count && strcmp(hd_table_name(report->tables[k]), name) == 0;
        char *path = NULL;
        k += is_ours;
        if (!is_ours && asprintf(&path, "%s%s.parquet", folder, name) >= 0) unlink(path);
        free(path);
    }
}

static hd_status write_parquet(const hd_job *job, losses *l)
{
    const struct combine_options *o = l->run->options;
    bool all = o->output[strlen(o->output) - 1] == '/';
    hd_report report = {0};
    hd_status status = HD_OK;
    for (size_t i = 0; hd_job_table_at(i) && status == HD_OK; i++) {
        const char *name = hd_job_table_at(i)->name;
        if (!all && strcmp(name, o->table) != 0) continue;
        hd_table *table = NULL;
        status = hd_job_whole_table(&table, job, name, count_lost, l, &l->run->err);
        if (table) report.tables[report.table_count++] = table;
    }
    const hd_report_part part = {.path = o->output, .report = &report};
    if (status == HD_OK && !report.table_count)
        status = hd_error_set(&l->run->err, HD_ERR_ARGUMENT, o->output, HD_OFFSET_NONE,
                              "nothing to write: no rank has %s", all ? "any table" : o->table);
    if (status == HD_OK) status = hd_report_write(o->output, HD_REPORT_PARQUET, &part, 1, &l->run->err);
    if (status == HD_OK && all) remove_others(o->output, &report);
    hd_report_free(&report);
    return status;
}

static int check(cli_run *run, bool *parquet)
{
    const struct combine_options *o = run->options;
    size_t size = o->output ? strlen(o->output) : 0, i = 0;
    *parquet = cli_ends_with(o->output, size, ".parquet") || cli_ends_with(o->output, size, ".parquet/");
    if (!size) return cli_usage_error(run, "-o OUT is missing: job.hds");
    if (!*parquet && !cli_ends_with(o->output, size, ".hds"))
        return cli_usage_error(run, "-o: '%.100s' is neither .hds nor .parquet", o->output);
    while (hd_job_table_at(i) && strcmp(hd_job_table_at(i)->name, o->table) != 0) i++;
    return hd_job_table_at(i) ? CLI_OK : cli_usage_error(run, "--table: summaries have no table '%.40s'", o->table);
}

/* A command that continues its own output must not overwrite an output it could not read. */
static hd_status check_own(cli_run *run, uint64_t failed)
{
    const char *output = ((const struct combine_options *)run->options)->output;
    hd_job *job;
    hd_error why = {0};
    if (!failed || !hd_job_is_file(output)) return HD_OK;
    if (hd_job_new(&job, &run->err) != HD_OK) return run->err.status;
    hd_status status = hd_job_add_file(job, output, &why);
    hd_job_free(job);
    if (status == HD_OK) return HD_OK;
    return hd_error_set(&run->err, status, output, HD_OFFSET_NONE,
                        "what is there cannot be read, and would be lost: write elsewhere, or move it away");
}

static int run(cli_run *run)
{
    const struct combine_options *o = run->options;
    losses l = {.run = run};
    hd_job *job;
    uint64_t failed;
    bool parquet;
    int usage = check(run, &parquet);
    if (usage != CLI_OK) return usage;
    const hd_read_options read = {.lazy = true};
    if (job_read(&job, &failed, run, 0, (job_shard){.summaries_first = true}, &read) != HD_OK) return CLI_FAILED;
    const hd_job_write_options write = {.sync = o->sync, .lost = count_lost, .user = &l};
    hd_status status = check_own(run, failed);
    if (status == HD_OK && !hd_job_count(job) && failed)
        status = hd_error_set(&run->err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "there is nothing to combine");
    else if (status == HD_OK)
        status = parquet ? write_parquet(job, &l) : hd_job_write(job, o->output, &write, &run->err);
    uint64_t misfits = 0;
    if (status == HD_OK) status = job_print_misfits(&misfits, run, o->output, job);
    hd_job_free(job);
    if (status == HD_OK && !o->strict) run->reported = false; /* reported, but not fatal */
    return status != HD_OK || (o->strict && (failed || misfits || l.count)) ? CLI_FAILED : CLI_OK;
}

const cli_command cmd_combine = {
    .name = "combine",
    .parent = "job",
    .group = CLI_JOB,
    .summary = "combine the summaries of a job's ranks into one file",
    .usage = "FILE...",
    .offer = "<files>",
    .description =
        "Reads summaries (.hds) that `heddle job summarize` wrote, each of any number of ranks, folders of "
        "summaries, and traces, which it summarises (in a folder only if it has no summaries), and writes all of "
        "them into one file. The output has the same bytes in whatever order and in however many steps ranks are "
        "combined, and an input that is given twice is kept once. So a tree of processes can do it, and an "
        "interrupted run continues with `heddle job combine job.hds more.hds -o job.hds`.\n\n"
        "Missing, duplicate and damaged ranks are reported and skipped; with --strict the exit status is 1.",
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof(struct combine_options),
    .operands_min = 1,
    .operands_max = -1,
    .run = run,
    .examples = (const cli_example[]){{"heddle combine parts/ -o job.hds", "all summaries of a folder"},
                                      {"heddle combine job.hds late.hds -o job.hds", "one more rank"},
                                      {"heddle combine job.hds -o job.parquet/", "for pandas, polars, DuckDB, Spark"},
                                      {0}},
};
