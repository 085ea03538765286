/* options.h - options of callers, which may have been built with another release ("Options" in heddle/status.h)
 *
 *     hd_status hd_thing_make(hd_thing **out, const hd_thing_options *options, hd_error *err)
 *     {
 *         HD_OWN_OPTIONS(hd_thing_options, options, err);
 *         …                                                  `options` is never NULL, and as long as ours
 */
#ifndef HD_BASE_OPTIONS_H
#define HD_BASE_OPTIONS_H

#include "base/error.h"

/* Copy a caller's options, NULL for none, into `out` of `size` bytes, zeros for what the caller does not know. `first`
 * is their size in the first release, which a caller's 0 means. Errors: ARGUMENT: something beyond `size` is not zero.
 */
hd_status hd_options_copy(void *out, size_t size, size_t first, const void *options, hd_error *err);

/* Put our own copy in the place of the parameter, or return. Whoever adds a member to a struct gives those that take it
 * hd_options_copy with the offset of that member as `first`. */
#define HD_OWN_OPTIONS(type, options, err)                                                                             \
    type options##_own;                                                                                                \
    HD_TRY(hd_options_copy(&options##_own, sizeof(type), sizeof(type), options, err));                                 \
    options = &options##_own

#endif
