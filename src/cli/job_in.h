/* job_in.h - the ranks of a job out of operands: summaries, traces, and folders of either */
#ifndef HD_CLI_JOB_IN_H
#define HD_CLI_JOB_IN_H

#include "cli/cli.h"
#include "heddle/analysis/job.h"
#include "heddle/capture/mpi.h"
#include "heddle/convert.h"
#include "heddle/format.h"

/* Which of the files: every `count`th from `index` on. count 0: all. */
typedef struct job_shard {
    uint64_t index, count;
    bool summaries_first; /* of a folder, as job_files has it */
    bool tells_misfits;   /* of the ranks, but for damage, unless it is one trace that is named */
} job_shard;

/* Paths, owned. {0} is none. */
typedef struct job_files {
    char **list;
    size_t count, capacity;
    bool summaries_first; /* of a folder; else traces are */
} job_files;

/* Adds the inputs that an operand means: a file; a folder's traces, or if it has none its summaries (summaries_first:
 * the other way around), or if it has neither its dumps of flight recorders, with a note about files it ignores;
 * "rank{rank}.json", where {rank} is any number. A missing file is added unchanged, so that reading it reports the
 * error. Errors: MEMORY. */
hd_status job_files_add(job_files *files, cli_run *run, const char *operand);
/* The same, but a folder is one input by itself, and ranks are in order. */
hd_status job_files_add_ranks(job_files *files, const char *operand, hd_error *err);
/* All processes get those of process 0, instead of their own. Errors: MEMORY; of MPI. */
hd_status job_files_share(job_files *files, hd_mpi *mpi, hd_error *err);
/* The largest first. Errors: MEMORY. */
hd_status job_files_sort(job_files *files, hd_error *err);
/* Leaves none. */
void job_files_deinit(job_files *files);
/* The order in which processes take files: largest first, equal ones in the given order. The caller frees it with free;
 * NULL: no memory. */
size_t *job_largest_first(const char *const *paths, size_t count);

/* Add one summary or trace. The error is left in run->err, with its path. */
hd_status job_add(hd_job *job, cli_run *run, const char *path, const hd_read_options *read);
/* Reads run->operands from `first` on. Inputs that cannot be read are reported, counted in *out_failed and left out;
 * only one trace is in memory at a time. The caller frees *out. */
hd_status job_read(hd_job **out, uint64_t *out_failed, cli_run *run, int first, job_shard shard,
                   const hd_read_options *read);
/* For each rank of a job (a summary or trace) with a known clock, the offset from its clock to the reference's, as in
 * `heddle clocks`. Free with job_clocks_deinit, also after an error. */
typedef struct job_clocks {
    hd_convert_clock *list; /* a rank's behind each other, several where its clock was set */
    size_t count;
    char **shifts;                   /* "RANK=TIME", of each rank once: */
    size_t shift_count, plain_count; /* the first are of clocks that were not set */
    const char *why;                 /* the reason for one of them; NULL: none is known */
    char text[320];
} job_clocks;

hd_status job_clocks_find(job_clocks *out, cli_run *run, const char *path);
void job_clocks_deinit(job_clocks *clocks);
/* "3/16", or "auto": from the launcher's environment (Slurm, Open MPI, PMI, torchrun, an indexed job of Kubernetes). */
int job_shard_parse(job_shard *out, cli_run *run, const char *text);
/* "out{rank}.json", "{rank}" and 3 -> "out3.json", also in several places. The caller frees it; NULL: no memory. */
char *job_path(const char *pattern, const char *place, uint64_t number);
/* Before long work: whether a summary can be written there; its name is .hds, or that of a stream. */
int job_check_output(cli_run *run, const char *path);
/* As hd_job_write_options.lost; user: the run. */
void job_print_lost(void *user, const hd_error *why);
/* A line for each misfit of these `kinds`, of hd_misfit_kind. */
hd_status job_print_some_misfits(cli_run *run, const hd_job *job, unsigned kinds);
/* A line for each misfit, of which *out are there, and how many ranks were written to `path`. */
hd_status job_print_misfits(uint64_t *out, cli_run *run, const char *path, const hd_job *job);

#endif
