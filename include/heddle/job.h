/* job.h - the ranks of a job: a summary of each, and analyses over all of them
 *
 * A summary is a few tables of one rank, some ten kilobytes: reports of its trace, by step where they can be, its
 * kernels, operators and collectives. A job is a set of summaries, made of traces or read from .hds files, which hold
 * any number of them; docs/formats/hds.md has their bytes. Ranks are never merged into sums, so that putting jobs
 * together is a union: whatever the order and grouping, the same bytes come out.
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

/* What one summary is of: a trace, which is nearly always a rank. Texts have a NULL data where nothing is known. */
typedef struct hd_job_member {
    int64_t rank;       /* as the trace says, else what follows "rank" in its path; HD_NO_NUMBER: unknown, or
                           it holds several, which the column `rank` of its tables distinguishes */
    int64_t world_size; /* HD_NO_NUMBER: unknown */
    int64_t base_ns;    /* Unix time of the zero of its times; HD_NO_TIME: unknown */
    hd_string host;     /* whose clock it has */
    hd_string file;     /* name of the trace, without folder */
} hd_job_member;

/* An empty job. The caller frees it with hd_job_free. */
hd_status hd_job_new(hd_job **out, hd_error *err);
void hd_job_free(hd_job *job);

/* Add the summary of a trace, which is not used any more afterwards. `path` is what it was read from. Temporary memory
 * is that of the reports that are run. Any number of threads may add traces at the same time. */
hd_status hd_job_add_trace(hd_job *job, const hd_trace *trace, const char *path, hd_error *err);
/* Add all summaries of an .hds file, of which only the directory is read now: the file must stay until the job is
 * freed. Errors: IO, MEMORY, FORMAT (no such file), DAMAGED, UNSUPPORTED (of a later version). The job is as it was. */
hd_status hd_job_add_file(hd_job *job, const char *path, hd_error *err);
/* The same of bytes of such a file, which are copied to a temporary one, so that they take no memory. */
hd_status hd_job_add_bytes(hd_job *job, const void *bytes, size_t size, hd_error *err);
/* Is that an .hds file, by its first bytes? false as well if it cannot be read. */
bool hd_job_is_file(const char *path);

/* Bring the members into order - by rank, the unknown last, then host, file, and contents - and keep one of those that
 * are the same. Nothing may be added after it; what follows needs it, and any thread may then do it. */
hd_status hd_job_finish(hd_job *job, hd_error *err);

size_t hd_job_count(const hd_job *job);
const hd_job_member *hd_job_at(const hd_job *job, size_t member); /* borrowed */

/* The tables of summaries, each of which has a column `rank`. Static; NULL beyond the last. */
const hd_report_table_about *hd_job_table_at(size_t index);
/* One table of a member; the caller frees it. *out is NULL if the summary has no such table, as those of other versions
 * may. Errors: DAMAGED (that table of that member), IO, MEMORY. */
hd_status hd_job_table(hd_table **out, const hd_job *job, size_t member, const char *name, hd_error *err);

/* The rows of a table of all members, one after the other; of columns that not all have, what a member lacks is null.
 * What cannot be read of a member is reported like hd_job_write_options.lost; lost may be NULL. The caller frees *out,
 * which is NULL if no member has such a table. Errors: IO, MEMORY. */
hd_status hd_job_whole_table(hd_table **out, const hd_job *job, const char *name,
                             void (*lost)(void *user, const hd_error *why), void *user, hd_error *err);

/* What does not fit together among the ranks of a job. */
typedef struct hd_misfit {
    const char *code; /* of a ledger, static: job.rank-twice, .ranks-missing, .world-sizes-differ, .groups-differ,
                       * .times-apart, .traces-damaged */
    uint64_t count;   /* traces of a rank that another is of, ranks, sizes and lists beside the first, traces */
    char text[1400];  /* that says it, without its end of line; names in it come from files */
} hd_misfit;

typedef enum hd_misfit_kind {
    HD_MISFIT_RANKS = 1,  /* all but the other */
    HD_MISFIT_DAMAGE = 2, /* job.traces-damaged */
} hd_misfit_kind;

/* Ranks that are there twice; that are missing, below the world size that most state, or if none does below the
 * highest; sizes of the world that differ; process groups of one name, of other ranks; traces that were recorded more
 * than ten minutes before or after all others; traces of whose ledger something is more than a note. The job need not
 * be finished. `kinds` of hd_misfit_kind are looked for. The caller frees *out with free; NULL: all is well. Errors:
 * MEMORY. */
hd_status hd_job_misfits(hd_misfit **out, size_t *out_count, const hd_job *job, unsigned kinds, hd_error *err);

typedef struct hd_job_write_options {
    size_t size; /* of this struct; see "Options" in status.h */
    bool sync;   /* return when it is on the disk */
    /* Called for each table of a member that cannot be read, which is then lost in the job and in the file, and hides
     * nothing else. NULL: not reported. */
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

/* One collective of one rank, as its kernel shows it. Unknown numbers are HD_NO_NUMBER, texts have a NULL
 * data. Match by (group, is_point_to_point, sequence), never by order in time. */
typedef struct hd_collective {
    int64_t rank, device, stream;
    hd_string step;           /* in which it was launched; NULL: in none */
    int64_t step_start_ns;    /* HD_NO_TIME: in none */
    hd_string group;          /* process group or communicator, as the trace names it; where that is no number and the
                                 trace has the group's ranks, with the lowest: "tp from 2". NULL: `stream` is used */
    hd_string operation;      /* "AllReduce", "AllGather" …, as the report "communication" has them */
    int64_t size;             /* ranks in the group */
    int64_t bytes;            /* as the report "communication" counts them */
    int64_t sequence;         /* within the group: the argument "Seq" of the kernel, or see sequence_is_counted */
    bool sequence_is_counted; /* HD_COLLECTIVES_OF_STEP * (number of the step + 1) + place among those of the group in
                                 it, from 0; what is in no step with a number counts as of the step before, or, where
                                 there is none, from 0: matches only if recordings begin with the same collective */
    bool is_point_to_point;   /* sends and receives have a sequence of their own in each group; in one of more than two
                                 those of a rank to another are a group, "5 0>1", if both are known */
    int64_t start_ns, end_ns; /* on the trace's clock; a rank's duration includes waiting for the others */
    uint64_t event;           /* row of HD_KIND_SLICE over all blocks; `id` in heddle query's table slice */
} hd_collective;

/* All collectives of a trace, by rank, device, group (the unnamed first, by stream), point to point last, then start.
 * Borrows the trace. The caller frees it with hd_collectives_free. Any thread may read it. Temporary memory is that of
 * the report "communication", what stays about 250 bytes each. Errors: MEMORY, LIMIT (2^32 slices). */
hd_status hd_collectives_new(hd_collectives **out, const hd_trace *trace, hd_error *err);
void hd_collectives_free(hd_collectives *collectives);
size_t hd_collectives_count(const hd_collectives *collectives);
/* Borrowed, as are its texts. */
const hd_collective *hd_collectives_at(const hd_collectives *collectives, size_t index);

/* Which rank arrived last at the collectives of a job, by how much, and what does not match. Needs no common clock: the
 * last to arrive does not wait, so its duration is the shortest. Collectives are one if group, is_point_to_point and
 * sequence are; unnamed groups are one if their streams are. A member is a rank and a device, or, where the rank is not
 * known, the place in the job. Where numbers were counted, what a group has in a step is compared only if all of its
 * members that have any there have as many, of the same operations and, but for AllToAll, bytes; a group that has more
 * members than its size is not compared, since it is several of one name. Durations are ns. Tables:
 *
 * `stragglers`  a row per member: `rank`, `device`; `collectives` compared, of which it was `last` (of several the
 *               lowest); `late`: sum of longest - own duration; `waited`: sum of own - shortest; `transfer`: sum of the
 *               shortest; `z`: (late / collectives - median) / (1.4826 MAD) among members, null if MAD is 0; `host`
 * `collectives` a row per collective or message that was compared: `group`, `stream`, `point_to_point`, `sequence`,
 *               `counted` (as sequence_is_counted of any), `operation`, `members`, `last_rank`, `last_device`, `late`:
 *               longest - shortest, `transfer`: shortest, `bytes`, `bus_bandwidth` in that time
 * `mismatched`  a row per defect of a collective: `group`, `stream`, `point_to_point`, `sequence`, `defect`, `rank` and
 *               `device` of the first that has it, `members` that have it. Defects: "double" (twice of one member),
 *               "untimed" and "operation" (another than the first member's), which are not compared; "missing" (members
 *               of the group that lack it), "size" and "bytes" (others than the first member's); "counted", of
 *               the first collective of a step that is not compared (`members`: that have any in it), where "missing"
 *               are those of the member that has most which others lack, whose operations and bytes tell it; and
 *               of a group, with a null sequence, "several" (more members than its size, not compared) and "fewer"
 * `last`        a row per member and group, where a job that hangs stopped: `rank`, `device`, `group`, `stream`,
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
