/* keep.h - moves large immutable arrays from memory to mapped temporary files, whose pages the system may drop and read
 * again */
#ifndef HD_VIEW_ROWS_KEEP_H
#define HD_VIEW_ROWS_KEEP_H

#include <stdbool.h>
#include <stddef.h>

/* A mapped piece; zero-initialise. */
typedef struct view_kept {
    void *data; /* NULL: no file */
    size_t size;
} view_kept;

typedef struct view_array {
    void **data; /* malloc'ed */
    size_t size; /* bytes */
} view_array;

/* Moves arrays to one file: the old ones are freed and the pointers set. false: unchanged, since they are small, or the
 * file cannot be created. */
bool view_keep(view_kept *out, const view_array *arrays, size_t count);
void view_kept_free(view_kept *kept);

#endif
