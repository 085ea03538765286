/* pipeline.h - items that several threads work on, taken in the order in which they were given
 *
 *     hd_pipeline_next ──> fill it ──> hd_pipeline_give ──> work, on any thread ──> take, in order
 *
 * The ring of items is bounded, so memory is: whoever asks for the next item takes what is done first, and works too
 * while he waits. All but `work` happens on the caller's thread, so nothing else needs a lock. With no other thread, or
 * where none can be had, the caller's does it all.
 */
#ifndef HD_BASE_PIPELINE_H
#define HD_BASE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "heddle/status.h"

typedef struct hd_pipeline hd_pipeline;

typedef struct hd_pipeline_steps {
    size_t item_size;
    void (*work)(void *user, unsigned worker, void *item); /* one call at a time for each worker; 0: the caller's */
    hd_status (*take)(void *user, void *item, hd_error *err);
    void (*deinit)(void *item); /* NULL: nothing to do */
    void *user;
} hd_pipeline_steps;

enum { HD_PIPELINE_THREAD_LIMIT = 64 };

/* How many threads there should be in all: `wanted`, 0: one per core; within the limit. */
unsigned hd_pipeline_threads(unsigned wanted);

/* `threads` in all, the caller's among them. Items are zero at first, and keep what they hold when they come again. */
hd_status hd_pipeline_new(hd_pipeline **out, const hd_pipeline_steps *steps, unsigned threads, hd_error *err);
/* The item to fill next, which stays the same until it is given. Fails as `take` does; what it refused, and all behind
 * it, is still there. */
hd_status hd_pipeline_next(void **out, hd_pipeline *pipeline, hd_error *err);
void hd_pipeline_give(hd_pipeline *pipeline);
/* Take all that was given. */
hd_status hd_pipeline_drain(hd_pipeline *pipeline, hd_error *err);
/* Give the oldest item back that was not taken, NULL: there is none. Work that has not begun does not. */
void *hd_pipeline_recall(hd_pipeline *pipeline);
/* Waits for the threads, which begin nothing more. NULL is fine. */
void hd_pipeline_free(hd_pipeline *pipeline);

#endif
