/* options.h - options of callers, which may have been built with another release ("Options" in heddle/status.h)
 *
 *     hd_status hd_thing_make(hd_thing **out, const hd_thing_options *options, hd_error *err)
 *     {
 *         HD_OWN_OPTIONS(hd_thing_options, options, err);
 *         …                                                  `options` is never NULL, and of this library's size
 */
#ifndef HD_BASE_OPTIONS_H
#define HD_BASE_OPTIONS_H

#include "base/error.h"

/* Copies a caller's options, NULL for none, into `out` of `size` bytes; members that the caller does not know are 0.
 * `first` is their size in the first release, which a caller's 0 means. Errors: ARGUMENT: a byte beyond `size` is not
 * zero.
 */
hd_status hd_options_copy(void *out, size_t size, size_t first, const void *options, hd_error *err);

/* Replaces the parameter by the library's own copy, or returns. After adding a member to a struct, call hd_options_copy
 * with the offset of that member as `first`. */
#define HD_OWN_OPTIONS(type, options, err)                                                                             \
    type options##_own;                                                                                                \
    HD_TRY(hd_options_copy(&options##_own, sizeof(type), sizeof(type), options, err));                                 \
    options = &options##_own

#endif
