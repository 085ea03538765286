/* convert.h - from trace files to a trace file: read, merge ranks or processes, filter, crop, repair lanes, write
 *
 * Every event is accounted for: in + added == out + removed + lost, where `removed` is what the options exclude,
 * `lost` what was removed as a consequence, and `added` are names of new processes and lanes. The ledger of the report
 * has what readers and writers could not keep.
 */
#ifndef HEDDLE_CONVERT_H
#define HEDDLE_CONVERT_H

#include "heddle/format.h"
#include "heddle/job.h"
#include "heddle/pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called with each input once it is read; may put another trace of the same events in its place, and frees the old one
 * then. */
typedef hd_status hd_convert_each(void *user, hd_trace **trace, size_t index, hd_error *err);
/* Called with an input that cannot be read, and why, in the process that reads it; true leaves it out, unless no other
 * is left. The ledger counts it. */
typedef bool hd_convert_leave_out(void *user, size_t index, const hd_error *why);

/* What the clock of a rank is off: to its time t offset_ns + drift_ppm * (t - at_ns) / 10^6 is to be added, +- bar_ns.
 * Of a clock that was set there are several, behind each other and by time: each holds from first_ns to last_ns, the
 * first before as well and the last behind; between two the offset goes from one to the other in a line. */
typedef struct hd_convert_clock {
    int64_t rank;
    int64_t at_ns;             /* Unix time, or of a rank whose trace has no Unix time, its own time */
    int64_t first_ns, last_ns; /* so are these; not looked at where there is one only */
    int64_t offset_ns, bar_ns;
    double drift_ppm;
} hd_convert_clock;

/* Zero-initialised copies a trace as it is. */
typedef struct hd_convert_options {
    size_t size;               /* of this struct; see "Options" in status.h */
    bool ranks;                /* put even one input under processes named by its rank; several always are, but for: */
    bool apart;                /* the inputs are ranks of a job, each converted by itself: see hd_convert_job */
    bool processes;            /* inputs are processes of one run. So are several captures, unless `ranks` is set */
    bool fix;                  /* repair lanes, see fix.h */
    int64_t snap_threshold_ps; /* as in hd_fix_options */
    hd_convert_time from, until; /* keep what touches [from, until) */
    bool clip;                   /* cut slices at those times, instead of keeping them whole */
    const char *tracks; /* lists of patterns, separated by commas: globs, /regex/, !left out; NULL: everything */
    const char *names;
    const char *category;
    const char *memory_profile; /* of TensorFlow: joined to the input, of which there is one then; NULL: none */
    bool find_memory_profiles;  /* join those that lie next to the inputs, where TensorFlow writes them */
    const hd_pass *const
        *passes; /* run in this order, behind those that the options above stand for. What stands before
                    a `merge` runs on each input; several inputs are merged first if none is here */
    size_t pass_count;
    const char *const *shifts; /* of ranks: "RANK=TIME", "3=-1.5ms", of each one, to add to its times; see clocks.h */
    size_t shift_count;
    const hd_convert_clock *clocks; /* the same in whole, of ranks converted apart; NULL: no drift, no bars */
    size_t clock_count;
    bool strict;                     /* fail before the output gets its name if anything is lost; repairs are fine */
    const hd_read_options *read;     /* threads, memory, progress; the rest is set by the call. NULL: defaults */
    const hd_write_options *write;   /* all but ledger and strict. NULL: defaults */
    hd_convert_each *each;           /* NULL: none */
    hd_convert_leave_out *leave_out; /* NULL: an input that cannot be read is an error */
    void *user;                      /* of both */
} hd_convert_options;

/* One line of the way: read, memory (profiles joined), merge, filter, crop, fix, a line for each of `passes`, write. */
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
    hd_convert_input *inputs;       /* as they were named, and behind them the memory profiles */
    const char *format;             /* that was written */
    uint64_t events_in, events_out; /* events_out: that the output holds */
    uint64_t added, removed, lost;  /* sums of the steps */
    size_t step_count;
    hd_convert_step *steps;
    bool ranks_by_place; /* no input said its rank, or all the same */
    bool processes;      /* several inputs were taken as processes of one run */
    size_t misfit_count; /* of several ranks; they are notes in the ledger as well */
    hd_misfit *misfits;
    uint64_t new_lanes, moved_slices, snapped_crossings;
    size_t ledger_count; /* of reading, of the steps and of writing */
    hd_ledger_row *ledger;
    uint64_t repairs, losses; /* sums of the ledger */
    uint64_t unheld;          /* of losses: what the output's format cannot hold */
    bool written;
} hd_convert_report;

void hd_convert_report_free(hd_convert_report *report);

/* inputs[0 … count) into the file `to`, which may be one of them: it appears whole or not at all. "-" is standard
 * input, output. A folder is its OTF2 archive, or else the only *.trace.json in it. options NULL: copy; out may be
 * NULL, else the caller frees *out. After a failure *out is NULL, or holds what was known by then, so that its ledger
 * tells what strict refused. Errors: as of hd_trace_read and hd_trace_write; ARGUMENT for patterns, times, a rank
 * that is unknown, and an invalid memory profile; DAMAGED or UNSUPPORTED when strict. */
hd_status hd_convert(hd_convert_report **out, const char *const *inputs, size_t count, const char *to,
                     const hd_convert_options *options, hd_error *err);

/* ---- the ranks of a job as one OTF2 archive, each converted by itself: in one process no more than one is in memory,
 * several processes share them ---- */

/* What hd_convert does if options->apart: make a job, convert each rank, finish.
 *
 * Times stay those of each rank's clock. What is to be added to them so that they are on one clock is listed
 * separately, in ClockOffset records: base times, options->shifts, and drift and bars of options->clocks. Ids of flows
 * and async slices are rank * 10^10 + id, what is longer is "rank 3: id". */
typedef struct hd_convert_job hd_convert_job;

/* parts NULL: makes the folder of the parts, next to `to`. Other processes name the folder of that one, and see the
 * same files. inputs and options must outlive it. Free it with hd_convert_job_free(), which removes what is left of a
 * folder that it made. Errors: ARGUMENT: the format is not OTF2, passes or what else needs all ranks together; IO. */
hd_status hd_convert_job_new(hd_convert_job **out, const char *const *inputs, size_t count, const char *to,
                             const char *parts, const hd_convert_options *options, hd_error *err);
void hd_convert_job_free(hd_convert_job *job);
/* Of the parts; borrowed. */
const char *hd_convert_job_folder(const hd_convert_job *job);
/* Whether options->from or until are set. Then all inputs are looked at for when they begin and end, each in any
 * process; after that one process finds what from and until are on the clock of each; then they are converted, all cut
 * at the same time. Errors: as of hd_convert. */
bool hd_convert_job_crops(const hd_convert_job *job);
hd_status hd_convert_job_look(hd_convert_job *job, size_t index, hd_error *err);
hd_status hd_convert_job_crop(hd_convert_job *job, hd_error *err);
/* Convert one input, in any process; one that options->leave_out leaves out is no error. Errors: as of hd_convert. */
hd_status hd_convert_job_rank(hd_convert_job *job, size_t index, hd_error *err);
/* Join all, in the process that made the folder, once they are converted: then the archive is there. `out` may be NULL,
 * else the caller frees *out; NULL after a failure. Errors: DAMAGED: not all are converted; as of hd_convert. */
hd_status hd_convert_job_finish(hd_convert_report **out, hd_convert_job *job, hd_error *err);

/* Only look at the options. */
hd_status hd_convert_options_valid(const hd_convert_options *options, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
