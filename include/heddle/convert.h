/* convert.h - from trace files to a trace file: read, merge ranks or processes, filter, crop, repair lanes, write
 *
 * Every event is accounted for: in + added == out + removed + lost. `removed` are events that the options exclude,
 * `lost` those removed as a consequence, `added` names of new processes and lanes. The report's ledger lists what
 * readers and writers could not keep.
 */
#ifndef HEDDLE_CONVERT_H
#define HEDDLE_CONVERT_H

#include "heddle/analysis/job.h"
#include "heddle/format.h"
#include "heddle/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called with each input once it is read; may replace *trace by another trace of the same events, and frees the old one
 * then. */
typedef hd_status hd_convert_each(void *user, hd_trace **trace, size_t index, hd_error *err);
/* Called with an input that cannot be read and the reason, in the process that reads it. true leaves the input out,
 * unless no other input is left; the ledger counts it. */
typedef bool hd_convert_leave_out(void *user, size_t index, const hd_error *why);

/* The clock correction of a rank: add offset_ns + drift_ppm * (t - at_ns) / 10^6 to its time t, +- bar_ns. A clock that
 * stepped has several corrections in order of time: each is valid from first_ns to last_ns, the first one also before,
 * the last one also after; between two corrections the offset is interpolated linearly. */
typedef struct hd_convert_clock {
    int64_t rank;
    int64_t at_ns;             /* Unix time, or of a rank whose trace has no Unix time, its own time */
    int64_t first_ns, last_ns; /* likewise; not used if there is only one correction */
    int64_t offset_ns, bar_ns;
    double drift_ppm;
} hd_convert_clock;

/* Zero-initialised copies a trace as it is. */
typedef struct hd_convert_options {
    size_t size;               /* of this struct; see "Options" in status.h */
    bool ranks;                /* processes are named by rank even if there is one input; with several they always are,
                                  except with: */
    bool apart;                /* the inputs are ranks of a job, each converted on its own: see hd_convert_job */
    bool processes;            /* the inputs are processes of one run. Several captures always are, unless `ranks` is
                                  set */
    bool fix;                  /* repair lanes, see fix.h */
    int64_t snap_threshold_ps; /* as in hd_fix_options */
    hd_convert_time from, until; /* keep events that touch [from, until) */
    bool clip;                   /* cut slices at those times, instead of keeping them whole */
    const char *tracks;          /* comma-separated patterns: globs, /regex/, !excluded; NULL: everything */
    const char *names;
    const char *category;
    const char *memory_profile; /* a memory profile of TensorFlow, which is joined to the only input; NULL: none */
    bool find_memory_profiles;  /* join memory profiles found next to the inputs, where TensorFlow writes them */
    const hd_pass *const
        *passes; /* run in this order, after the passes of the options above. Passes before a `merge` run on each input;
                    without a `merge`, several inputs are merged first */
    size_t pass_count;
    const char *const *shifts; /* of ranks: "RANK=TIME", such as "3=-1.5ms", to add to the rank's times; see clocks.h */
    size_t shift_count;
    const hd_convert_clock *clocks; /* the same with drift and error bars, for ranks converted apart; NULL: no drift, no
                                       bars */
    size_t clock_count;
    bool strict;                     /* fail before the output gets its name if anything is lost; repairs are fine */
    const hd_read_options *read;     /* threads, memory, progress; the rest is set by the call. NULL: defaults */
    const hd_write_options *write;   /* all but ledger and strict. NULL: defaults */
    hd_convert_each *each;           /* NULL: none */
    hd_convert_leave_out *leave_out; /* NULL: an input that cannot be read is an error */
    void *user;                      /* of both */
    const char *anonymize; /* replace texts of these kinds, last of all: "names,paths,args,hosts" or some; NULL: none */
    const char *salt;      /* of their hash; NULL: a random one */
    hd_convert_time min_duration; /* remove slices that are shorter, and keep their number and time */
    bool keep_gpu;                /* but no GPU activities */
    hd_progress *progress; /* of the passes between reading and writing; units: events times passes. NULL: none */
    void *progress_user;
} hd_convert_options;

/* One step of the conversion: read, memory (profiles joined), merge, filter, crop, thin, fix, one for each of `passes`,
 * anonymize, write. */
typedef struct hd_convert_step {
    const char *name; /* static */
    uint64_t in, added, removed, lost, out;
} hd_convert_step;

typedef struct hd_convert_input {
    const char *path, *format, *compression;
    int64_t rank; /* HD_NO_NUMBER: unknown */
    uint64_t events, stored_bytes, input_bytes;
} hd_convert_input;

/* Strings and lists belong to the report. */
typedef struct hd_convert_report {
    size_t input_count;
    hd_convert_input *inputs;       /* as they were named, then the memory profiles */
    const char *format;             /* that was written */
    uint64_t events_in, events_out; /* events_out: events of the output */
    uint64_t added, removed, lost;  /* sums of the steps */
    size_t step_count;
    hd_convert_step *steps;
    bool ranks_by_place; /* no input has a rank, or all have the same one */
    bool processes;      /* several inputs were taken as processes of one run */
    size_t misfit_count; /* of several ranks; misfits are also notes in the ledger */
    hd_misfit *misfits;
    uint64_t new_lanes, moved_slices, snapped_crossings;
    size_t ledger_count; /* of reading, of the steps and of writing */
    hd_ledger_row *ledger;
    uint64_t repairs, losses; /* sums of the ledger */
    uint64_t unheld;          /* those of the losses that the output's format causes */
    bool written;
} hd_convert_report;

void hd_convert_report_free(hd_convert_report *report);

/* Converts inputs[0 … count) into the file `to`, which may be one of them; the file appears whole or not at all. "-" is
 * standard input, output. A folder is its OTF2 archive, or else the only *.trace.json in it. options NULL: copy; out
 * may be NULL, else the caller frees *out. After a failure *out is NULL, or the report so far, whose ledger shows what
 * strict refused. Errors: as of hd_trace_read and hd_trace_write; ARGUMENT for patterns, times, a rank that is unknown,
 * and an invalid memory profile; DAMAGED or UNSUPPORTED when strict. */
hd_status hd_convert(hd_convert_report **out, const char *const *inputs, size_t count, const char *to,
                     const hd_convert_options *options, hd_error *err);

/* ---- the ranks of a job as one OTF2 archive, each converted by itself: in one process no more than one is in memory,
 * several processes share them ---- */

/* What hd_convert does if options->apart: make a job, convert each rank, finish.
 *
 * Times stay those of each rank's clock. Their corrections to a common clock are stored separately, as ClockOffset
 * records: base times, options->shifts, and drift and error bars of options->clocks. Ids of flows and async slices
 * become rank * 10^10 + id; ids that are too long become "rank 3: id". */
typedef struct hd_convert_job hd_convert_job;

/* parts NULL: create the folder of the parts, next to `to`. Other processes pass the name of that folder, on a file
 * system they share. inputs and options must outlive the job. Free it with hd_convert_job_free(), which removes the
 * rest of a folder that this job created. Errors: ARGUMENT: the format is not OTF2, or a pass or option needs all ranks
 * together; IO. */
hd_status hd_convert_job_new(hd_convert_job **out, const char *const *inputs, size_t count, const char *to,
                             const char *parts, const hd_convert_options *options, hd_error *err);
void hd_convert_job_free(hd_convert_job *job);
/* The folder of the parts; borrowed. */
const char *hd_convert_job_folder(const hd_convert_job *job);
/* Whether options->from or until are set. Then three phases: the span of each input is determined, each in any process;
 * one process computes from and until on each input's clock; then the inputs are converted, all cut at the same time.
 * Errors: as of hd_convert. */
bool hd_convert_job_crops(const hd_convert_job *job);
hd_status hd_convert_job_look(hd_convert_job *job, size_t index, hd_error *err);
hd_status hd_convert_job_crop(hd_convert_job *job, hd_error *err);
/* Convert one input, in any process; an input that options->leave_out leaves out is not an error. Errors: as of
 * hd_convert. */
hd_status hd_convert_job_rank(hd_convert_job *job, size_t index, hd_error *err);
/* Join all parts into the archive, in the process that created the folder, once all are converted. `out` may be NULL,
 * else the caller frees *out; NULL after a failure. Errors: DAMAGED: not all are converted; as of hd_convert. */
hd_status hd_convert_job_finish(hd_convert_report **out, hd_convert_job *job, hd_error *err);

/* Runs a pass, such as "counters:file=smi.csv,zone=UTC", on a trace, which the result replaces; after a failure *trace
 * is as before. path: of the trace, for messages; may be NULL. Errors: of hd_pass_new, hd_trace_read and the pass. */
hd_status hd_convert_trace(hd_trace **trace, const char *path, const char *pass, hd_error *err);

/* Validate the options only. */
hd_status hd_convert_options_valid(const hd_convert_options *options, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
