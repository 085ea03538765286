/* pattern.h - lists of patterns that a text passes or not */
#ifndef HD_MODEL_PATTERN_PATTERN_H
#define HD_MODEL_PATTERN_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "heddle/trace.h"

typedef struct filter_pattern filter_pattern;

/* Zero-initialised passes everything. */
typedef struct filter_list {
    filter_pattern *patterns;
    size_t count, capacity;
    bool any_wanted; /* a pattern without ! */
} filter_list;

/* `option` names the list in errors: "--names". NULL list: passes everything. */
hd_status filter_list_init(filter_list *out, const char *list, const char *option, hd_error *err);
void filter_list_deinit(filter_list *list);

/* Whether one of the texts matches a wanted pattern, and none an unwanted one. */
typedef struct filter_text {
    const char *data;
    size_t size;
} filter_text;
bool filter_list_passes(filter_list *list, const filter_text *texts, size_t count);
/* The same for a track: by its name, that of its process, and both joined by a slash; without a name, by its pid or
 * tid. *failed is set when memory runs out. */
bool filter_track_passes(bool *failed, filter_list *list, const hd_trace *trace, const hd_track *track);

#endif
