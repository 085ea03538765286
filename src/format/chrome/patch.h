/* patch.h - the text of a Chrome JSON trace, copied with some events changed */
#ifndef HD_FORMAT_CHROME_PATCH_H
#define HD_FORMAT_CHROME_PATCH_H

#include "base/json/write.h"
#include "format/patch.h"

hd_patch_file chrome_patch; /* patch.c */

/* patch_lanes.c: appends the metadata events of the patch's lanes, each after a comma and the white space between
 * events of the input, which is read for it. Returns their offset, after the last event. */
uint64_t chrome_put_lanes(hd_json_out *out, hd_input *input, const hd_trace *trace, const hd_patch *patch);

#endif
