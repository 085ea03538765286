/* pass.h - passes: a trace in, a trace out, every event accounted for
 *
 *     hd_pass *crop;
 *     hd_pass_input input = {.trace = trace};
 *     hd_pass_report report;
 *     if (hd_pass_new(&crop, "crop:from=10%,until=1.5s,clip", NULL, 0, &err) == HD_OK) {
 *         status = hd_pass_run(&made, &report, crop, &input, 1, NULL, &err);
 *         hd_pass_free(crop);
 *     }
 *
 * A pass is a descriptor: a name, its options as a table, and a function. hd_pass_at lists those of libheddle;
 * other libraries have more (hd_symbolize_pass). `heddle passes` prints the tables, `heddle convert --pass` runs
 * chains.
 *
 * The text of a pass is NAME or NAME:OPTION,OPTION…, where an option is KEY=VALUE, or KEY alone for a flag. A comma of
 * a value is written `\,`, a backslash before a comma or a backslash `\\`. Any number of threads may run one pass.
 */
#ifndef HEDDLE_PASS_H
#define HEDDLE_PASS_H

#include "heddle/options.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- descriptors ---- */

typedef struct hd_pass_input {
    hd_trace *trace;
    const char *path; /* for messages, and as a source of the rank; may be NULL */
    int64_t rank;     /* set by `merge`, together with: */
    int64_t shift_ns; /* added to all times as requested, in addition to the clocks' base times */
    bool take;        /* the pass frees the trace as soon as it no longer needs it, at the latest when it succeeds, and
                         sets this to NULL */
} hd_pass_input;

/* in + added == out + removed + lost. Lost events have a LOSS row in the ledger of the new trace. */
typedef struct hd_pass_report {
    uint64_t in, added, removed, lost, out;
    uint64_t new_lanes, moved_slices, snapped_crossings; /* of `lanes` */
    bool ranks_by_place;                                 /* `merge`: no input has a rank, or all have the same one */
    bool processes;                                      /* `merge`: the inputs were taken as processes of one run */
} hd_pass_report;

typedef struct hd_pass_about {
    const char *name;
    const char *summary;            /* one line */
    const hd_option_about *options; /* ends with {0} */
    size_t options_size;            /* size of the struct with the options; may be 0 if no option has a `fallback` */
    bool merges;                    /* takes any number of inputs */
    /* Validates the combination of options; NULL: every combination is valid. Error: ARGUMENT, with the reason. */
    hd_status (*check)(const void *options, hd_error *err);
    /* Sets `added`, `removed` and `lost` of *report, and what is specific to this pass. */
    hd_status (*run)(hd_trace **out, hd_pass_report *report, const void *options, hd_pass_input *inputs, size_t count,
                     const hd_pass_input *second, hd_error *err);
} hd_pass_about;

/* The passes of libheddle: lanes, crop, filter, merge, attribution, memory, counters, anonymize, thin. */
size_t hd_pass_count(void);
const hd_pass_about *hd_pass_at(size_t index);

/* ---- passes with their options ---- */

typedef struct hd_pass hd_pass;

/* `more` are descriptors that may be named in addition to those of hd_pass_at. Errors: ARGUMENT, with the fault in the
 * text and the known names; MEMORY. */
hd_status hd_pass_new(hd_pass **out, const char *text, const hd_pass_about *const *more, size_t more_count,
                      hd_error *err);
void hd_pass_free(hd_pass *pass);
const hd_pass_about *hd_pass_about_of(const hd_pass *pass);
/* The path in the pass's option of kind TRACE; NULL: none. */
const char *hd_pass_second(const hd_pass *pass);

/* Run the pass on inputs[0 … count). The caller frees *out; count is 1 unless the pass merges. second: the trace that
 * an option of kind TRACE names; NULL: none. libheddle's passes read no files. report may be NULL. Errors: of the pass;
 * ARGUMENT: a wrong number of inputs, or a second trace missing or not expected; MEMORY. */
hd_status hd_pass_run(hd_trace **out, hd_pass_report *report, const hd_pass *pass, hd_pass_input *inputs, size_t count,
                      const hd_pass_input *second, hd_error *err);

/* Computes [*from_ns, *until_ns) on the trace's clock. *any is false if no time was requested or no event has one; the
 * window is then all of time. `path` is for the message. Errors: ARGUMENT if nothing would be left. */
hd_status hd_crop_window_find(int64_t *from_ns, int64_t *until_ns, bool *any, const hd_trace *trace,
                              hd_convert_time from, hd_convert_time until, const char *path, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
