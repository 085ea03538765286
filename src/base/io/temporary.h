/* temporary.h - temporary files, in $TMPDIR, else /tmp, or /var/tmp for large ones */
#ifndef HD_BASE_IO_TEMPORARY_H
#define HD_BASE_IO_TEMPORARY_H

#include <stdbool.h>

#include "base/error.h"

/* Make an empty file whose name ends with `suffix`, open for reading and writing, closed on exec. The caller closes
 * *out_fd, unlinks *out_path and frees it. Errors: HD_ERR_IO, HD_ERR_MEMORY; then nothing is left. */
hd_status hd_temporary_file(int *out_fd, char **out_path, const char *suffix, hd_error *err);

/* An empty file without a name, for much data: in $TMPDIR or /var/tmp, or in /tmp if that fails. The caller closes
 * *out_fd. Errors as above. */
hd_status hd_temporary_nameless(int *out_fd, hd_error *err);

/* A file or folder that hd_leftovers_remove removes, until hd_leftover_done. The path is copied. Any thread. -1: too
 * many, or no memory; fine for hd_leftover_done. */
int hd_leftover_add(const char *path, bool is_folder);
void hd_leftover_done(int leftover);
/* In a signal's handler, before the process ends. */
void hd_leftovers_remove(void);

#endif
