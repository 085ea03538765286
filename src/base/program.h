/* program.h - another program, run to its end */
#ifndef HD_BASE_PROGRAM_H
#define HD_BASE_PROGRAM_H

#include "heddle/status.h"

/* Runs words[0], searched on PATH; words ends with NULL. Without input, its output goes to standard error. Errors:
 * UNSUPPORTED: not found; IO: it did not end with status 0. */
hd_status hd_program_run(const char *const *words, hd_error *err);

#endif
