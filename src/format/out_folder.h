/* out_folder.h - a folder that appears whole or not at all
 *
 * Output goes into .NAME.XXXXXX/new next to the target, which is renamed at the end. An existing folder is replaced
 * only with options->clean, and only if it contains nothing else: foreign files are never deleted.
 */
#ifndef HD_FORMAT_OUT_FOLDER_H
#define HD_FORMAT_OUT_FOLDER_H

#include <stdbool.h>

#include "heddle/format.h"

typedef struct hd_out_folder_kind {
    const char *title;  /* "an OTF2 archive" */
    const char *anchor; /* a file that is always in it; a path may name it instead of the folder */
    bool (*is_part)(const char *name);
} hd_out_folder_kind;

typedef struct hd_out_folder {
    const hd_out_folder_kind *kind;
    char *target, *temporary;
    int leftover; /* temporary */
    char *folder; /* where to write: inside temporary */
} hd_out_folder;

/* Ends with commit or abort. Errors: IO: something else exists there; ARGUMENT: not a path of a folder; MEMORY. */
hd_status hd_out_folder_create(hd_out_folder *out, const char *path, const hd_out_folder_kind *kind,
                               const hd_write_options *options, hd_error *err);
hd_status hd_out_folder_commit(hd_out_folder *folder, const hd_write_options *options, hd_error *err);
void hd_out_folder_abort(hd_out_folder *folder);

#endif
