/* pipeline.h - items that several threads work on, taken in the order in which they were given
 *
 *     hd_pipeline_next ──> fill it ──> hd_pipeline_give ──> work, on any thread ──> take, in order
 *
 * The ring of items is bounded, and so is memory: before it returns a free item, hd_pipeline_next takes finished ones,
 * and works itself while it waits. All callbacks except `work` run on the caller's thread and need no lock. Without
 * other threads the caller's thread does all the work.
 */
#ifndef HD_BASE_PIPELINE_H
#define HD_BASE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "heddle/status.h"

typedef struct hd_pipeline hd_pipeline;

typedef struct hd_pipeline_steps {
    size_t item_size;
    void (*work)(void *user, unsigned worker, void *item); /* one call at a time per worker; worker 0: the caller's
                                                              thread */
    hd_status (*take)(void *user, void *item, hd_error *err);
    void (*deinit)(void *item); /* NULL: nothing to do */
    void *user;
} hd_pipeline_steps;

enum { HD_PIPELINE_THREAD_LIMIT = 64 };

/* The total number of threads: `wanted`, 0: one per core; within the limit. */
unsigned hd_pipeline_threads(unsigned wanted);

/* `threads` in total, including the caller's. Items are zero at first, and keep their contents when they are reused. */
hd_status hd_pipeline_new(hd_pipeline **out, const hd_pipeline_steps *steps, unsigned threads, hd_error *err);
/* The item to fill next, which stays the same until it is given. Fails as `take` does; the item that `take` rejected,
 * and all later ones, stay in the pipeline. */
hd_status hd_pipeline_next(void **out, hd_pipeline *pipeline, hd_error *err);
void hd_pipeline_give(hd_pipeline *pipeline);
/* Takes all given items. */
hd_status hd_pipeline_drain(hd_pipeline *pipeline, hd_error *err);
/* Returns the oldest item that was not taken, NULL: none. Items that no thread has begun are not worked on. */
void *hd_pipeline_recall(hd_pipeline *pipeline);
/* Waits for the threads, which begin no new item. NULL is fine. */
void hd_pipeline_free(hd_pipeline *pipeline);

#endif
