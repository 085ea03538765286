/* pipeline.c - a ring of items under one lock: begun, done and taken in order */
#include "base/pipeline.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/system.h"
#include "base/thread.h"

struct hd_pipeline {
    hd_pipeline_steps steps;
    char *items;
    bool *done;
    size_t count;
    uint64_t given, begun, taken; /* item i is at i % count; taken <= begun <= given <= taken + count */
    pthread_t threads[HD_PIPELINE_THREAD_LIMIT];
    unsigned thread_count, started;
    bool ending;
    pthread_mutex_t lock;
    pthread_cond_t was_given, was_done;
};

static void *item_at(const hd_pipeline *p, uint64_t i)
{
    return p->items + i % p->count * p->steps.item_size;
}

/* Under the lock: works on the oldest item that no thread has begun. */
static void work_on_next(hd_pipeline *p, unsigned worker)
{
    uint64_t i = p->begun++;
    pthread_mutex_unlock(&p->lock);
    p->steps.work(p->steps.user, worker, item_at(p, i));
    pthread_mutex_lock(&p->lock);
    p->done[i % p->count] = true;
    pthread_cond_signal(&p->was_done);
}

static void *run_worker(void *user)
{
    hd_pipeline *p = user;
    pthread_mutex_lock(&p->lock);
    unsigned worker = ++p->started;
    while (!p->ending) {
        if (p->begun < p->given)
            work_on_next(p, worker);
        else
            pthread_cond_wait(&p->was_given, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

unsigned hd_pipeline_threads(unsigned wanted)
{
    unsigned count = wanted ? wanted : hd_core_count();
    return count > HD_PIPELINE_THREAD_LIMIT ? HD_PIPELINE_THREAD_LIMIT : count;
}

hd_status hd_pipeline_new(hd_pipeline **out, const hd_pipeline_steps *steps, unsigned threads, hd_error *err)
{
    *out = NULL;
    hd_pipeline *p = calloc(1, sizeof *p);
    if (!p) return HD_NOMEM(err);
    p->steps = *steps;
    p->count = threads > 1 ? (size_t)threads * 2 : 1;
    p->items = calloc(p->count, steps->item_size);
    p->done = calloc(p->count, sizeof *p->done);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->was_given, NULL);
    pthread_cond_init(&p->was_done, NULL);
    if (!p->items || !p->done) {
        hd_pipeline_free(p);
        return HD_NOMEM(err);
    }
    while (p->thread_count + 1 < threads && p->thread_count < HD_PIPELINE_THREAD_LIMIT &&
           hd_thread_start(&p->threads[p->thread_count], run_worker, p) == 0)
        p->thread_count++;
    *out = p;
    return HD_OK;
}

/* Under the lock: waits until the oldest is done; works on other items meanwhile. */
static void *await_oldest(hd_pipeline *p)
{
    while (!p->done[p->taken % p->count]) {
        if (p->begun < p->given)
            work_on_next(p, 0);
        else
            pthread_cond_wait(&p->was_done, &p->lock);
    }
    return item_at(p, p->taken);
}

static void pop_oldest(hd_pipeline *p)
{
    p->done[p->taken++ % p->count] = false;
}

static hd_status take_oldest(hd_pipeline *p, hd_error *err)
{
    void *item = await_oldest(p);
    pthread_mutex_unlock(&p->lock);
    hd_status status = p->steps.take(p->steps.user, item, err);
    pthread_mutex_lock(&p->lock);
    if (status == HD_OK) pop_oldest(p);
    return status;
}

hd_status hd_pipeline_next(void **out, hd_pipeline *p, hd_error *err)
{
    hd_status status = HD_OK;
    pthread_mutex_lock(&p->lock);
    while (status == HD_OK && p->taken < p->given && (p->given == p->taken + p->count || p->done[p->taken % p->count]))
        status = take_oldest(p, err);
    pthread_mutex_unlock(&p->lock);
    *out = status == HD_OK ? item_at(p, p->given) : NULL;
    return status;
}

void hd_pipeline_give(hd_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    p->given++;
    pthread_cond_signal(&p->was_given);
    pthread_mutex_unlock(&p->lock);
}

hd_status hd_pipeline_drain(hd_pipeline *p, hd_error *err)
{
    hd_status status = HD_OK;
    pthread_mutex_lock(&p->lock);
    while (status == HD_OK && p->taken < p->given) status = take_oldest(p, err);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void *hd_pipeline_recall(hd_pipeline *p)
{
    void *item = NULL;
    pthread_mutex_lock(&p->lock);
    while (p->begun < p->given) p->done[p->begun++ % p->count] = true;
    if (p->taken < p->given) {
        item = await_oldest(p);
        pop_oldest(p);
    }
    pthread_mutex_unlock(&p->lock);
    return item;
}

void hd_pipeline_free(hd_pipeline *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->was_given);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->thread_count; i++) pthread_join(p->threads[i], NULL);
    for (size_t i = 0; p->steps.deinit && p->items && i < p->count; i++) p->steps.deinit(item_at(p, i));
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->was_given);
    pthread_cond_destroy(&p->was_done);
    free(p->items);
    free(p->done);
    free(p);
}
