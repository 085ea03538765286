/* job.c - heddle job: a job's traces summarised by the processes of an MPI job, or by threads of one */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/job_in.h"
#include "cli/shared_options.h"
#include "heddle/capture/mpi.h"

struct job_options {
    const char *output, *ranks;
    int mpi; /* hd_mpi_kind */
    bool strict, sync;
    uint64_t threads, memory_limit;
};

#define FIELD(member) .field = offsetof(struct job_options, member)

static const cli_option options[] = {
    {.name = "output", .letter = 'o', .kind = CLI_TEXT, .value = "OUT.hds", FIELD(output), .help = "the file to write"},
    {.name = "ranks",
     .kind = CLI_TEXT,
     .value = "PATTERN",
     FIELD(ranks),
     .help = "traces or summaries, with {rank} in the place of a number, in names that a shell need not list",
     .offer = "<files>"},
    OPTION_MPI(FIELD(mpi), "this process reads all files"),
    {.name = "threads",
     .letter = 'j',
     .kind = CLI_COUNT,
     .value = "N",
     .max = 64,
     FIELD(threads),
     .help = "threads of each process; 0 is one per core, or with MPI one"},
    OPTION_MEMORY_LIMIT(FIELD(memory_limit)),
    {.name = "strict",
     .kind = CLI_FLAG,
     FIELD(strict),
     .help = "exit with status 1 if a rank is missing, duplicate, of another job, or damaged; else these are only "
             "reported"},
    OPTION_SYNC(FIELD(sync)),
    {0},
};

typedef struct work {
    cli_run *run;
    hd_job *job;
    job_files files;
    hd_read_options read;
    hd_byte_sink *packed; /* the summaries of this process */
    /* While stderr is locked. */
    uint64_t troubles; /* files that cannot be read, tables that are lost; in process 0 later those of all */
    cli_progress progress;
    uint64_t done, total; /* bytes of files */
} work;

/* ---- which files ---- */

/* All processes work on the files that process 0 finds, largest first. */
static hd_status find_files(work *w, hd_mpi *mpi)
{
    cli_run *run = w->run;
    const struct job_options *o = run->options;
    bool finds = hd_mpi_rank(mpi) == 0;
    hd_status status = HD_OK;
    for (int i = 0; finds && i < run->operand_count && status == HD_OK; i++)
        status = job_files_add(&w->files, run, run->operands[i]);
    if (finds && o->ranks && status == HD_OK) status = job_files_add(&w->files, run, o->ranks);
    if (finds && status == HD_OK) status = job_files_sort(&w->files, &run->err);
    return status == HD_OK ? job_files_share(&w->files, mpi, &run->err) : status;
}

/* ---- the work ---- */

static uint64_t size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && about.st_size > 0 ? (uint64_t)about.st_size : 0;
}

/* Reports an error that does not stop the others. */
static void tell(work *w, cli_run *run)
{
    cli_progress_pause(&w->progress);
    cli_report(run);
    w->troubles++;
}

static void tell_lost(void *user, const hd_error *why)
{
    work *w = user;
    w->run->err = *why;
    tell(w, w->run);
}

/* Several threads may be here. */
static hd_status summarise(void *context, size_t item, hd_error *err)
{
    work *w = context;
    cli_run own = *w->run;
    own.global.quiet = true; /* no progress of one of many files */
    hd_status status = job_add(w->job, &own, w->files.list[item], &w->read);
    if (status == HD_ERR_MEMORY) *err = own.err;
    flockfile(stderr);
    if (status != HD_OK && status != HD_ERR_MEMORY) tell(w, &own);
    funlockfile(stderr);
    return status == HD_ERR_MEMORY ? status : HD_OK;
}

/* Of all processes. */
static void count_done(void *context, size_t item)
{
    work *w = context;
    flockfile(stderr);
    if (w->progress.on) cli_progress_update(&w->progress, w->done += size_of(w->files.list[item]), w->total);
    funlockfile(stderr);
}

static const char *name_of(void *context, size_t item)
{
    return ((work *)context)->files.list[item];
}

static hd_status take(const void **out, size_t *out_size, void *context, hd_error *err)
{
    work *w = context;
    const hd_job_write_options write = {.lost = tell_lost, .user = w};
    hd_status status = hd_job_finish(w->job, err);
    if (status == HD_OK) status = hd_byte_sink_new_memory(&w->packed, NULL, err);
    if (status == HD_OK) status = hd_job_write_to(w->job, w->packed, &write, err);
    if (status == HD_OK) *out = hd_byte_sink_get_memory(out_size, w->packed);
    return status;
}

static hd_status merge(void *context, const void *bytes, size_t size, hd_error *err)
{
    return hd_job_add_bytes(((work *)context)->job, bytes, size, err);
}

static hd_status take_troubles(const void **out, size_t *out_size, void *context, hd_error *err)
{
    (void)err;
    *out = &((work *)context)->troubles;
    *out_size = sizeof(uint64_t);
    return HD_OK;
}

static hd_status merge_troubles(void *context, const void *bytes, size_t size, hd_error *err)
{
    uint64_t troubles = 0;
    (void)err;
    if (size == sizeof troubles) memcpy(&troubles, bytes, size);
    ((work *)context)->troubles += troubles;
    return HD_OK;
}

static hd_status write_job(work *w)
{
    cli_run *run = w->run;
    const struct job_options *o = run->options;
    const hd_job_write_options write = {.sync = o->sync, .lost = tell_lost, .user = w};
    hd_status status = hd_job_finish(w->job, &run->err);
    uint64_t misfits = 0;
    if (status == HD_OK && !hd_job_count(w->job))
        return hd_error_set(&run->err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "there is nothing to summarise");
    if (status == HD_OK) status = hd_job_write(w->job, o->output, &write, &run->err);
    if (status != HD_OK) return status;
    status = job_print_misfits(&misfits, run, o->output, w->job);
    w->troubles += misfits;
    return status;
}

/* With MPI a thread for each process, as there is one per core; else one for each file, or for few files several. */
static hd_status share_work(work *w, hd_mpi *mpi)
{
    enum { FEW = 8 };
    const struct job_options *o = w->run->options;
    hd_error *err = &w->run->err;
    bool alone = hd_mpi_size(mpi) == 1, few = w->files.count < FEW;
    bool many = alone ? !few : !o->threads;
    w->read =
        (hd_read_options){.lazy = true, .threads = many ? 1 : (unsigned)o->threads, .memory_limit = o->memory_limit};
    const hd_mpi_work shared = {.count = w->files.count,
                                .work = summarise,
                                .name = name_of,
                                .done = count_done,
                                .context = w,
                                .threads = few ? 1 : (unsigned)o->threads};
    cli_progress_init(&w->progress, w->run, "summarising");
    if (!alone) cli_progress_in_lines(&w->progress, w->run); /* launchers show them */
    w->progress.on &= hd_mpi_rank(mpi) == 0;
    for (size_t i = 0; w->progress.on && i < w->files.count; i++) w->total += size_of(w->files.list[i]);
    hd_status status = hd_mpi_share(mpi, &shared, err);
    cli_progress_deinit(&w->progress);
    if (status == HD_OK)
        status = hd_mpi_reduce(mpi, &(hd_mpi_reduction){.take = take, .merge = merge, .context = w}, err);
    const hd_mpi_reduction troubles = {.take = take_troubles, .merge = merge_troubles, .context = w};
    if (status == HD_OK) status = hd_mpi_reduce(mpi, &troubles, err);
    return status == HD_OK && hd_mpi_rank(mpi) == 0 ? write_job(w) : status;
}

static int run(cli_run *run)
{
    const struct job_options *o = run->options;
    work w = {.run = run};
    hd_mpi *mpi = NULL;
    if (!o->output)
        return cli_usage_error(run, "-o OUT.hds, the summary to write, is missing; to read one: heddle job.hds");
    if (!o->ranks && !run->operand_count) return cli_usage_error(run, "--ranks PATTERN is missing, or FILE...");
    int usage = job_check_output(run, o->output);
    if (usage != CLI_OK) return usage;
    hd_status status = hd_mpi_open(&mpi, (hd_mpi_kind)o->mpi, &run->err);
    if (status != HD_OK) return CLI_FAILED;
    status = hd_job_new(&w.job, &run->err);
    if (status == HD_OK) status = find_files(&w, mpi);
    if (status == HD_OK) status = share_work(&w, mpi);
    if (status != HD_OK) cli_report(run);
    if (status != HD_OK) hd_mpi_abort(mpi);
    hd_mpi_close(mpi);
    hd_byte_sink_free(w.packed);
    hd_job_free(w.job);
    job_files_deinit(&w.files);
    bool fails = status != HD_OK || (o->strict && w.troubles);
    run->reported = fails; /* other errors are not fatal */
    return fails ? CLI_FAILED : CLI_OK;
}

const cli_command cmd_job = {
    .name = "job",
    .group = CLI_JOB,
    .summary = "summarise the ranks of a job into one file, with threads or MPI",
    .usage = "[FILE...]",
    .offer = "<files>",
    .description =
        "Does what `heddle job summarize` and `heddle job combine` do, in one step. With MPI, each process takes the "
        "next largest trace, the summaries are merged in a tree, and process 0 writes them; the bytes are the same "
        "for any number of processes. All processes must see the same files; where traces are on disks of their "
        "nodes, run `heddle job summarize` there. Without MPI it uses threads. For a FOLDER its traces are taken, or "
        "if it has none, its summaries, or dumps of flight recorders.\n\n"
        "Unreadable traces and missing ranks are reported and skipped; with --strict the exit status is 1. The rank "
        "of a trace is the one it contains, else the number after the word rank in its path. If a process is killed, "
        "the file that it was reading is named. Open MPI and MPICH are loaded at run time (heddle-mpi-openmpi.so and "
        "heddle-mpi-mpich.so in lib/heddle); if the one that the launcher needs is missing, that is an error. "
        "Process 0 prints a line for each tenth of the work, or on a terminal its progress.",
    .options = options,
    .options_size = sizeof(struct job_options),
    .operands_min = 0,
    .operands_max = -1,
    .run = run,
    .examples = (const cli_example[]){{"mpirun -n 64 heddle job --ranks 'traces/rank{rank}.json.gz' -o job.hds",
                                       "64 processes, one file"},
                                      {"heddle job traces/ -o job.hds", "a folder of traces, threads of this machine"},
                                      {"mpirun --map-by node -n 4 heddle job -j 16 traces/ -o job.hds",
                                       "a process of 16 threads on each of 4 nodes"},
                                      {"srun -K --mpi=pmix -n 64 heddle job traces/ -o job.hds",
                                       "Slurm with Open MPI (pmi2: MPICH); -K ends the job if a process is killed"},
                                      {0}},
};
