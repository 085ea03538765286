/* temporary.h - files of our own, in $TMPDIR, or else /tmp and for large ones /var/tmp */
#ifndef HD_BASE_IO_TEMPORARY_H
#define HD_BASE_IO_TEMPORARY_H

#include "base/error.h"

/* Make an empty file whose name ends with `suffix`, open for reading and writing, closed on exec. The caller closes
 * *out_fd, unlinks *out_path and frees it. Errors: HD_ERR_IO, HD_ERR_MEMORY; then nothing is left. */
hd_status hd_temporary_file(int *out_fd, char **out_path, const char *suffix, hd_error *err);

/* An empty file without a name, for much data: in $TMPDIR or /var/tmp. The caller closes *out_fd. Errors as above. */
hd_status hd_temporary_nameless(int *out_fd, hd_error *err);

#endif
