/* impl.h - a conversion, and the share of one rank in it */
#ifndef HD_CONVERT_IMPL_H
#define HD_CONVERT_IMPL_H

#include "heddle/convert.h"

/* hd_convert, but for options->apart. share: as of pass_merge. */
hd_status convert_inputs(hd_convert_report **out, const char *const *inputs, size_t count, size_t share, const char *to,
                         const hd_convert_options *options, hd_error *err);

/* The report's misfits as notes in the ledger of the merge. */
hd_status convert_note_misfits(const hd_convert_report *report, hd_trace *merged, hd_error *err);

#endif
