/* impl.h - a conversion, and the share of one rank in it */
#ifndef HD_CONVERT_IMPL_H
#define HD_CONVERT_IMPL_H

#include "format/format.h"
#include "format/out_folder.h"
#include "heddle/convert.h"
#include "pass/crop/crop.h"

/* When a rank begins and ends, on its own clock; HD_NO_TIME: nothing in it has a time. */
typedef struct convert_span {
    int64_t rank; /* HD_NO_NUMBER: unknown */
    int64_t world_size, base_ns, start_ns, end_ns;
} convert_span;

/* One rank of a job. Zero-initialised: no such. */
typedef struct convert_share {
    size_t number; /* number as in pass_merge, or unchanged: */
    bool by_place;
    const hd_crop_window *window; /* that from and until are on its clock; NULL: there is none */
    convert_span *span;           /* output: the time span to crop to, instead of writing; NULL: write */
} convert_share;

struct hd_convert_job {
    const char *const *inputs;
    size_t count;
    hd_convert_options options; /* of each rank, without those of the whole job */
    hd_option_texts shifts;
    bool by_place; /* ranks are numbered so, as all say the same */
    hd_write_options write;
    const hd_format *format;
    hd_format_clock *clocks; /* options.clocks on the clocks of parts, once these are known */
    hd_out_folder out;       /* of the process that began */
    char *folder;            /* of the parts, inside */
};

/* The error for a loss under options->strict. */
hd_status convert_refuse_loss(const char *path, uint64_t offset, const char *code, uint64_t count, hd_error *err);
/* hd_convert, but for options->apart. */
hd_status convert_inputs(hd_convert_report **out, const char *const *inputs, size_t count, const convert_share *share,
                         const char *to, const hd_convert_options *options, hd_error *err);

/* The report's misfits as notes in the ledger of the merge. */
hd_status convert_note_misfits(const hd_convert_report *report, hd_trace *merged, hd_error *err);

/* ---- job.c ---- */

/* hd_convert of one input. END: it could not be read and options->leave_out allows that; a marker is written next to
 * its part. */
hd_status convert_job_input(hd_convert_report **out, const hd_convert_job *job, size_t index,
                            const convert_share *share, const char *to, const hd_convert_options *options,
                            hd_error *err);

hd_status convert_is_left_out(bool *out, const hd_convert_job *job, size_t index, hd_error *err);
/* A file of a rank: "FOLDER/3.report". The caller frees it. */
hd_status convert_part_path(char **out, const hd_convert_job *job, size_t index, const char *what, hd_error *err);
/* The clock of a rank with origin own_ns: base times, its shift, and the measured offsets. */
void convert_part_clock(hd_format_part *part, const hd_convert_job *job, int64_t rank, int64_t shift_ns, int64_t own_ns,
                        int64_t base_ns);

/* ---- spans.c ---- */

/* Reads the time span that hd_convert_job_crop found for a rank. */
hd_status convert_read_window(hd_crop_window *out, const hd_convert_job *job, size_t index, hd_error *err);

#endif
