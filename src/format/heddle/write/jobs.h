/* jobs.h - encodes with several threads, and writes in the order of the jobs
 *
 * One thread fills jobs and writes results; others encode (base/pipeline.h).
 *
 * In: a trace. Out: a store. Begin with write.c.
 */
#ifndef HD_FORMAT_HEDDLE_WRITE_JOBS_H
#define HD_FORMAT_HEDDLE_WRITE_JOBS_H

#include "format/heddle/write/gather.h"
#include "format/heddle/write/sections.h"

typedef struct store_job {
    store_type type; /* BLOCK, STRINGS, ORDER, or another, of which the body is there already */
    unsigned flags;
    store_gathered block;
    uint32_t string_limit; /* of the block: ids given so far */
    hd_string *strings;
    size_t string_count, string_capacity;
    int64_t *order;
    size_t order_count, order_capacity;
    hd_bytes head, body;
    hd_status status;
    hd_error error;
} store_job;

typedef struct store_jobs store_jobs;

/* threads: in all, 0: one per core. */
hd_status store_jobs_new(store_jobs **out, store_sections *sections, unsigned threads, int level, hd_error *err);
/* The next job to fill, with empty head and body. */
hd_status store_jobs_next(store_job **out, store_jobs *jobs, store_type type, hd_error *err);
/* Done with filling it. */
void store_jobs_give(store_jobs *jobs);
/* Write all that is there. */
hd_status store_jobs_drain(store_jobs *jobs, hd_error *err);
void store_jobs_free(store_jobs *jobs);

#endif
