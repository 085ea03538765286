/* counters.h - the counters of a trace: each argument of a counter event is a series, with a track of its own
 *
 * A series is identified by process, name, id and argument key, as viewers draw it: "name key", "name[id] key". Samples
 * are numbers and numeric texts; other values are ignored. Track numbers of series follow those of async slices and of
 * instants (async.h).
 */
#ifndef HD_QUERY_TABLES_COUNTERS_H
#define HD_QUERY_TABLES_COUNTERS_H

#include "base/map.h"
#include "base/memory/arena.h"
#include "query/tables/async.h"

typedef struct query_series {
    uint32_t process; /* track; HD_NONE: unknown */
    uint32_t event_name, key;
    int64_t id;
    hd_string name;
    uint64_t samples;
} query_series;

typedef struct query_sample {
    int64_t time_ns;
    union {
        double real;
        int64_t whole; /* an integer that a double cannot represent */
    } value;
    uint32_t series : 31, is_whole : 1;
    uint32_t row; /* of the event, in the table HD_KIND_COUNTER */
} query_sample;

typedef struct query_counters {
    query_series *series;
    size_t series_count, series_capacity;
    query_sample *samples; /* by row, then by argument order */
    size_t sample_count, sample_capacity;
    hd_slots slots;
    hd_arena arena;
} query_counters;

/* source->counters. Errors: MEMORY, LIMIT (2^32 events). */
hd_status query_counters_make(query_source *source, hd_error *err);

static inline uint32_t query_series_number(const query_source *source, uint32_t series)
{
    return query_global_track_number(source) + 1 + series;
}

#endif
