/* job.h - the ranks of a job: a summary of each, and analyses over all of them
 *
 * A summary is a few tables of one rank, some ten kilobytes: reports of its trace, by step where possible, its kernels,
 * operators and collectives. A job is a set of summaries, made from traces or read from .hds files with any number of
 * summaries (docs/formats/hds.md). Ranks are never merged into sums, so that combining jobs is a union: the same bytes
 * result from any order and grouping.
 *
 *     hd_job *job;
 *     HD_TRY(hd_job_new(&job, err));
 *     hd_job_add_trace(job, trace, "rank7.json.gz", err);      // and so on; or hd_job_add_file
 *     HD_TRY(hd_job_finish(job, err));
 *     HD_TRY(hd_job_write(job, "job.hds", NULL, err));
 *     hd_job_free(job);
 */
#ifndef HEDDLE_JOB_H
#define HEDDLE_JOB_H

#include "heddle/report.h"
#include "heddle/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- jobs ---- */

/* The source of a summary: a trace, nearly always of one rank. The data of unknown texts is NULL. */
typedef struct hd_job_member {
    int64_t rank;       /* from the trace, else the number after "rank" in its path; HD_NO_NUMBER: unknown, or the trace
                           has several ranks, which the column `rank` of its tables distinguishes */
    int64_t world_size; /* HD_NO_NUMBER: unknown */
    int64_t base_ns;    /* Unix time of the zero of its clock; HD_NO_TIME: unknown */
    hd_string host;     /* whose clock it has */
    hd_string file;     /* name of the trace, without folders */
} hd_job_member;

/* An empty job. The caller frees it with hd_job_free. */
hd_status hd_job_new(hd_job **out, hd_error *err);
void hd_job_free(hd_job *job);

/* Add the summary of a trace, which may be freed afterwards. `path`: the file it was read from. Temporary memory is
 * that of the reports that run. Any number of threads may add traces at the same time. */
hd_status hd_job_add_trace(hd_job *job, const hd_trace *trace, const char *path, hd_error *err);
/* Add all summaries of an .hds file. Only its directory is read now: the file must remain until the job is freed. After
 * an error the job is unchanged. Errors: IO, MEMORY, FORMAT (not such a file), DAMAGED, UNSUPPORTED (of a later
 * version). */
hd_status hd_job_add_file(hd_job *job, const char *path, hd_error *err);
/* The same from the bytes of such a file, which are copied to a temporary file, so that they take no memory. */
hd_status hd_job_add_bytes(hd_job *job, const void *bytes, size_t size, hd_error *err);
/* Whether a file is an .hds file, by its first bytes; false also if it cannot be read. */
bool hd_job_is_file(const char *path);

/* Sort the members by rank (unknown ones last), host, file and contents, and keep one of equal members. Afterwards
 * nothing can be added. The functions below need a finished job; any thread may then call them. */
hd_status hd_job_finish(hd_job *job, hd_error *err);

size_t hd_job_count(const hd_job *job);
const hd_job_member *hd_job_at(const hd_job *job, size_t member); /* borrowed */

/* The tables of summaries, each with a column `rank`. Static; NULL beyond the last. */
const hd_report_table_about *hd_job_table_at(size_t index);
/* One table of a member; the caller frees it. *out is NULL if the summary has no such table, which happens with other
 * versions. Errors: DAMAGED (that table of that member), IO, MEMORY. */
hd_status hd_job_table(hd_table **out, const hd_job *job, size_t member, const char *name, hd_error *err);

/* The rows of a table of all members, one after the other; a column that a member does not have is null in its rows.
 * Tables that cannot be read are reported to `lost` as in hd_job_write_options; lost may be NULL. The caller frees
 * *out, which is NULL if no member has such a table. Errors: IO, MEMORY. */
hd_status hd_job_whole_table(hd_table **out, const hd_job *job, const char *name,
                             void (*lost)(void *user, const hd_error *why), void *user, hd_error *err);

/* A contradiction among the ranks of a job. */
typedef struct hd_misfit {
    const char *code; /* of a ledger, static: job.rank-twice, .ranks-missing, .world-sizes-differ, .groups-differ,
                       * .times-apart, .traces-damaged */
    uint64_t count;   /* traces of a rank with another trace; ranks; world sizes or lists that differ from the first;
                         traces */
    char text[1400];  /* the description, without a newline; names in it come from files */
} hd_misfit;

typedef enum hd_misfit_kind {
    HD_MISFIT_RANKS = 1,  /* all but the other */
    HD_MISFIT_DAMAGE = 2, /* job.traces-damaged */
} hd_misfit_kind;

/* Finds ranks that occur twice; ranks that are missing below the world size that most traces state, or else below the
 * highest rank; world sizes that differ; process groups of one name with different ranks; traces recorded more than ten
 * minutes before or after all others; traces whose ledger has more than notes. The job need not be finished. `kinds`
 * selects among hd_misfit_kind. The caller frees *out with free; NULL: all is well. Errors: MEMORY. */
hd_status hd_job_misfits(hd_misfit **out, size_t *out_count, const hd_job *job, unsigned kinds, hd_error *err);

typedef struct hd_job_write_options {
    size_t size; /* of this struct; see "Options" in status.h */
    bool sync;   /* return only once it is on the disk */
    /* Called for each table of a member that cannot be read. That table is missing from the job and the file; all
     * others are kept. NULL: not reported. */
    void (*lost)(void *user, const hd_error *why);
    void *user;
} hd_job_write_options;

/* Write an .hds file, whole or not at all. options may be NULL. Errors: IO, MEMORY. */
hd_status hd_job_write(hd_job *job, const char *path, const hd_job_write_options *options, hd_error *err);
/* The same to any sink. Errors: also those of its callback. */
hd_status hd_job_write_to(hd_job *job, hd_byte_sink *sink, const hd_job_write_options *options, hd_error *err);

/* ---- the collectives of one trace ---- */

typedef struct hd_collectives hd_collectives;

#define HD_COLLECTIVES_OF_STEP INT64_C(1000000000)

/* One collective on one rank, from its kernel. Unknown numbers are HD_NO_NUMBER; the data of unknown texts is NULL.
 * Match by (group, is_point_to_point, sequence), never by order in time. */
typedef struct hd_collective {
    int64_t rank, device, stream;
    hd_string step;           /* of its launch; NULL: in no step */
    int64_t step_start_ns;    /* HD_NO_TIME: in none */
    hd_string group;          /* process group or communicator, as the trace names it; if the name is not a number and
                                 the trace has the group's ranks, with the lowest rank: "tp from 2". NULL: `stream` is
                                 used */
    hd_string operation;      /* "AllReduce", "AllGather" …, as in the report "communication" */
    int64_t size;             /* ranks in the group */
    int64_t bytes;            /* as in the report "communication" */
    int64_t sequence;         /* within the group: the argument "Seq" of the kernel, or see sequence_is_counted */
    bool sequence_is_counted; /* HD_COLLECTIVES_OF_STEP * (number of the step + 1) + index among the group's collectives
                                 of the step, from 0. A collective in no numbered step belongs to the step before, or,
                                 without one, is counted from 0; it then matches only if all recordings begin with the
                                 same collective */
    bool is_point_to_point;   /* a send or receive; these are numbered separately from collectives. In a group of more
                                 than two ranks, each pair of sender and receiver, if known, is a group of its own,
                                 "5 0>1" */
    int64_t start_ns, end_ns; /* on the trace's clock; a rank's duration includes waiting for the others */
    uint64_t event;           /* row of HD_KIND_SLICE over all blocks; `id` in the SQL table slice */
} hd_collective;

/* All collectives of a trace, sorted by rank, device, group, start; groups without a name come first, by stream, and
 * point-to-point last. Borrows the trace. The caller frees it with hd_collectives_free. Any thread may read it.
 * Temporary memory is that of the report "communication"; the result takes about 250 bytes per collective. Errors:
 * MEMORY, LIMIT (2^32 slices). */
hd_status hd_collectives_new(hd_collectives **out, const hd_trace *trace, hd_error *err);
void hd_collectives_free(hd_collectives *collectives);
size_t hd_collectives_count(const hd_collectives *collectives);
/* Borrowed, as are its texts. */
const hd_collective *hd_collectives_at(const hd_collectives *collectives, size_t index);

/* Which rank arrived last at the collectives of a job, by how much, and which collectives do not match. Needs no common
 * clock: the last rank to arrive does not wait, so its duration is the shortest. Collectives match if their group,
 * is_point_to_point and sequence are equal; unnamed groups match by stream. A member is a rank and a device, or, if the
 * rank is unknown, the index in the job. Where sequences were counted, the collectives of a group in a step are
 * compared only if all members that take part have the same number of them, with equal operations and, except for
 * AllToAll, bytes. A group with more members than its size is not compared, since several groups share its name.
 * Durations are ns. Tables:
 *
 * `stragglers`  a row per member: `rank`, `device`; `collectives` compared; `last`: in how many it arrived last (of
 *               several the lowest rank); `late`: sum of longest - own duration; `waited`: sum of own - shortest;
 *               `transfer`: sum of the shortest; `z`: (late / collectives - median) / (1.4826 MAD) among members, null
 *               if MAD is 0; `host`
 * `collectives` a row per collective or message that was compared: `group`, `stream`, `point_to_point`, `sequence`,
 *               `counted` (as sequence_is_counted of any), `operation`, `members`, `last_rank`, `last_device`, `late`:
 *               longest - shortest, `transfer`: shortest, `bytes`, `bus_bandwidth` in that time
 * `mismatched`  a row per defect of a collective: `group`, `stream`, `point_to_point`, `sequence`, `defect`, `rank` and
 *               `device` of the first that has it, `members` that have it. Defects: "double" (twice of one member),
 *               "untimed" and "operation" (another than the first member's), which are not compared; "missing" (members
 *               of the group that lack it), "size" and "bytes" (others than the first member's); "counted", of
 *               the first collective of a step that is not compared (`members`: that have any in it), where
 *               "missing" counts the collectives of the member with most that other members do not have, by operation
 *               and bytes; and
 *               of a group, with a null sequence, "several" (more members than its size, not compared) and "fewer"
 * `last`        a row per member and group, where a hanging job stopped: `rank`, `device`, `group`, `stream`,
 *               `point_to_point`, `sequence` (the highest), `operation`, `behind`: the highest of the group - that,
 *               or, where they are counted, how many of the group have higher ones
 * `steps`       a row per member and step: `collectives`, `late`, `latest` (the most of any), `waited`, and `z` among
 *               the members of the step
 * `persistent`  a row per run of at least 3 steps of a member with z above 3
 * `bandwidths`  a row per `operation`, `size` of the group and `bytes`: `count`, `time` (of all ranks) and what percent
 *               of it `waited`, shortest durations and bandwidths
 * `lost`        a row per table of the job that cannot be read
 *
 * Errors: MEMORY. */
hd_status hd_report_stragglers(hd_report *out, const hd_job *job, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
