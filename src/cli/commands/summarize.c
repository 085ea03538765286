/* summarize.c - heddle summarize: the traces of a job's ranks as summaries */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job_in.h"
#include "cli/shared_options.h"

struct summarize_options {
    const char *output, *shard, *binary;
    bool strict, sync;
    uint64_t threads, memory_limit;
};

#define FIELD(member) .field = offsetof(struct summarize_options, member)

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "OUT.hds",
     FIELD(output),
     .help = "the file to write; {shard} in its name becomes the number of the shard"},
    {.name = "shard",
     .kind = CLI_TEXT,
     .value = "I/N",
     FIELD(shard),
     .help = "only every Nth file from the Ith on, counted from 0, so that N processes share the work; auto: as the "
             "launcher says (Slurm, MPI, torchrun, an indexed job of Kubernetes)"},
    OPTION_THREADS(FIELD(threads), "threads that read a trace"),
    OPTION_MEMORY_LIMIT(FIELD(memory_limit)),
    OPTION_STRICT(FIELD(strict)),
    OPTION_BINARY(FIELD(binary)),
    OPTION_SYNC(FIELD(sync)),
    {0},
};

static int run(cli_run *run)
{
    const struct summarize_options *o = run->options;
    const hd_read_options read = {.strict = o->strict,
                                  .lazy = true,
                                  .threads = (unsigned)o->threads,
                                  .memory_limit = o->memory_limit,
                                  .binary = o->binary};
    job_shard shard;
    hd_job *job;
    uint64_t failed;
    if (!o->output) return cli_usage_error(run, "-o OUT.hds is missing");
    int usage = job_shard_parse(&shard, run, o->shard);
    if (usage != CLI_OK) return usage;
    if (shard.count > 1 && !strstr(o->output, "{shard}"))
        return cli_usage_error(run, "-o: every shard would write the same file; put {shard} into its name");
    char *path = job_path(o->output, "{shard}", shard.index);
    usage = path ? job_check_output(run, path) : CLI_OK;
    if (usage != CLI_OK) {
        free(path);
        return usage;
    }
    hd_status status = path ? job_read(&job, &failed, run, 0, shard, &read)
                            : hd_error_set(&run->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    if (status == HD_OK) {
        size_t count = hd_job_count(job);
        const hd_job_write_options write = {.sync = o->sync, .lost = job_print_lost, .user = run};
        if (!count && failed)
            status = hd_error_set(&run->err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "there is nothing to summarise");
        else
            status = hd_job_write(job, path, &write, &run->err);
        if (status == HD_OK) status = job_print_some_misfits(run, job, HD_MISFIT_DAMAGE);
        if (status == HD_OK && !run->global.quiet)
            fprintf(stderr, "wrote %s: %zu summar%s\n", path, count, count == 1 ? "y" : "ies");
        hd_job_free(job);
    }
    free(path);
    return status != HD_OK || failed ? CLI_FAILED : CLI_OK;
}

const cli_command cmd_summarize = {
    .name = "summarize",
    .parent = "job",
    .group = CLI_JOB,
    .summary = "reduce the trace of each rank of a job to a few kilobytes",
    .usage = "FILE...",
    .offer = "<files>",
    .description =
        "Writes the summary of each trace: for each step where the time of its GPUs goes, why they are idle, and its "
        "copies; kernels and operators with histograms; every collective with its group, number, size and times; the "
        "peak of its memory, its clock, and what was lost. For a FOLDER its traces are taken, or if it has none, its "
        "summaries. Unreadable files are reported and skipped; the exit status is 1 then.\n\n"
        "Run it where the traces are, with any number of processes. `heddle job combine` puts the summaries of all "
        "ranks into one file, which `heddle stragglers`, `heddle clocks` and `heddle view` read. docs/ranks.md has "
        "recipes for Slurm, Kubernetes and torchrun.",
    .options = options,
    .options_size = sizeof(struct summarize_options),
    .operands_min = 1,
    .operands_max = -1,
    .run = run,
    .examples = (const cli_example[]){{"heddle summarize rank7.json.gz -o rank7.hds", "one rank"},
                                      {"heddle summarize traces/ -o job.hds", "a folder of traces, one file"},
                                      {"srun -n 64 heddle summarize traces/ --shard auto -o 'part{shard}.hds'",
                                       "64 processes, each its share"},
                                      {0}},
};
