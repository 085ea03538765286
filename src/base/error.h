/* error.h - forwarding of failures inside the library */
#ifndef HD_BASE_ERROR_H
#define HD_BASE_ERROR_H

#include "heddle/status.h"

#define HD_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        hd_status hd_try_status_ = (expr);                                                                             \
        if (hd_try_status_ != HD_OK) return hd_try_status_;                                                            \
    } while (0)

/* Sets the file of an error if the level that set the error did not know it. NULL is fine. */
void hd_error_set_path(hd_error *err, const char *path);

/* Out of memory, said the same way everywhere. */
#define HD_NOMEM(err) hd_error_set((err), HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory")

#endif
