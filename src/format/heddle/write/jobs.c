/* jobs.c - encoding by several threads, written in the order in which it was asked for */
#include "format/heddle/write/jobs.h"

#include <pthread.h>
#include <stdlib.h>

#include "trace/event.h"

enum { THREAD_LIMIT = 64, JOB_LIMIT = 2 * THREAD_LIMIT + 2 };

struct store_jobs {
    store_sections *sections;
    store_job list[JOB_LIMIT]; /* a ring: oldest … oldest + pending - 1 are on their way */
    unsigned count, oldest, pending;
    store_encoder *own; /* of the caller's thread */
    store_encoder *encoders[THREAD_LIMIT];
    pthread_t threads[THREAD_LIMIT];
    unsigned thread_count, started;
    bool ending;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* ---- encoding ---- */

/* Keep a sorted list of those met. */
static bool add_track(store_block_head *head, uint32_t track)
{
    uint32_t at = head->track_count;
    while (at && head->tracks[at - 1] > track) at--;
    if (at && head->tracks[at - 1] == track) return true;
    if (head->track_count == STORE_BLOCK_TRACKS) return false;
    memmove(&head->tracks[at + 1], &head->tracks[at], (head->track_count - at) * sizeof *head->tracks);
    head->tracks[at] = track;
    head->track_count++;
    return true;
}

static void find_tracks(store_block_head *head, const store_rows *rows)
{
    const int64_t *tracks = rows->columns[HD_COL_TRACK];
    bool listed = true;
    int64_t last = HD_NONE;
    head->first_track = head->last_track = HD_NONE;
    for (uint32_t i = 0; i < rows->row_count; i++) {
        if (tracks[i] == last || tracks[i] == HD_NONE) continue;
        uint32_t track = (uint32_t)(last = tracks[i]);
        if (head->first_track == HD_NONE || track < head->first_track) head->first_track = track;
        if (head->last_track == HD_NONE || track > head->last_track) head->last_track = track;
        listed = listed && add_track(head, track);
    }
    if (!listed) head->track_count = 0;
}

static hd_status encode_block(store_job *job, store_encoder *encoder, hd_error *err)
{
    const store_rows *rows = &job->block.rows;
    store_block_head head = {.kind = (uint8_t)rows->kind,
                             .row_count = rows->row_count,
                             .first_row = rows->first_row,
                             .string_count = job->string_limit};
    hd_span_find(&head.start_ns, &head.end_ns, rows->columns[HD_COL_START], rows->columns[HD_COL_DURATION],
                 rows->row_count);
    find_tracks(&head, rows);
    store_put_block_head(&job->head, &head);
    return store_block_encode(&job->body, encoder, rows, err);
}

static void encode(store_job *job, store_encoder *encoder)
{
    job->status = HD_OK;
    job->error = (hd_error){0};
    if (job->type == STORE_BLOCK)
        job->status = encode_block(job, encoder, &job->error);
    else if (job->type == STORE_STRINGS)
        job->status = store_strings_encode(&job->body, encoder, job->strings, job->string_count, &job->error);
    else if (job->type == STORE_ORDER)
        job->status = store_ints_encode(&job->body, encoder, job->order, job->order_count, &job->error);
}

/* The oldest that nobody has taken; under the lock. */
static store_job *next_ready(store_jobs *jobs)
{
    for (unsigned i = 0; i < jobs->pending; i++) {
        store_job *job = &jobs->list[(jobs->oldest + i) % jobs->count];
        if (job->state == STORE_JOB_READY) return job;
    }
    return NULL;
}

static void run_job(store_jobs *jobs, store_job *job, store_encoder *encoder)
{
    job->state = STORE_JOB_TAKEN;
    pthread_mutex_unlock(&jobs->lock);
    encode(job, encoder);
    pthread_mutex_lock(&jobs->lock);
    job->state = STORE_JOB_DONE;
    pthread_cond_broadcast(&jobs->changed);
}

static void *work(void *argument)
{
    store_jobs *jobs = argument;
    pthread_mutex_lock(&jobs->lock);
    store_encoder *encoder = jobs->encoders[jobs->started++];
    while (!jobs->ending) {
        store_job *job = next_ready(jobs);
        if (job)
            run_job(jobs, job, encoder);
        else
            pthread_cond_wait(&jobs->changed, &jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

/* ---- the ring ---- */

hd_status store_jobs_new(store_jobs **out, store_sections *sections, unsigned threads, int level, hd_error *err)
{
    store_jobs *jobs = *out = calloc(1, sizeof *jobs);
    if (!jobs) return HD_NOMEM(err);
    jobs->sections = sections;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, NULL);
    if (threads > THREAD_LIMIT) threads = THREAD_LIMIT;
    HD_TRY(store_encoder_new(&jobs->own, level, err));
    while (jobs->thread_count < threads) {
        HD_TRY(store_encoder_new(&jobs->encoders[jobs->thread_count], level, err));
        if (pthread_create(&jobs->threads[jobs->thread_count], NULL, work, jobs) != 0) { /* with fewer, then */
            store_encoder_free(jobs->encoders[jobs->thread_count]);
            jobs->encoders[jobs->thread_count] = NULL;
            break;
        }
        jobs->thread_count++;
    }
    jobs->count = jobs->thread_count ? 2 * jobs->thread_count + 2 : 1;
    return HD_OK;
}

/* Wait for the oldest and write it. With nothing else to do, help. Under the lock. */
static hd_status write_oldest(store_jobs *jobs, hd_error *err)
{
    store_job *job = &jobs->list[jobs->oldest], *other;
    while (job->state != STORE_JOB_DONE) {
        if ((other = next_ready(jobs)))
            run_job(jobs, other, jobs->own);
        else
            pthread_cond_wait(&jobs->changed, &jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    hd_status status = job->status;
    if (status != HD_OK && err && err->status == HD_OK) *err = job->error;
    if (status == HD_OK)
        status = store_sections_add(jobs->sections, job->type, job->flags, &job->head, &job->body, err);
    pthread_mutex_lock(&jobs->lock);
    job->state = STORE_JOB_FREE;
    jobs->oldest = (jobs->oldest + 1) % jobs->count;
    jobs->pending--;
    return status;
}

hd_status store_jobs_get(store_job **out, store_jobs *jobs, store_type type, hd_error *err)
{
    hd_status status = HD_OK;
    pthread_mutex_lock(&jobs->lock);
    if (jobs->pending == jobs->count) status = write_oldest(jobs, err);
    while (status == HD_OK && jobs->pending && jobs->list[jobs->oldest].state == STORE_JOB_DONE)
        status = write_oldest(jobs, err);
    store_job *job = &jobs->list[(jobs->oldest + jobs->pending) % jobs->count];
    pthread_mutex_unlock(&jobs->lock);
    job->type = type;
    job->flags = 0;
    job->head.size = job->body.size = 0;
    *out = job;
    return status;
}

hd_status store_jobs_give(store_jobs *jobs, store_job *job, hd_error *err)
{
    bool made = job->type != STORE_BLOCK && job->type != STORE_STRINGS && job->type != STORE_ORDER;
    pthread_mutex_lock(&jobs->lock);
    job->status = HD_OK;
    job->state = made ? STORE_JOB_DONE : STORE_JOB_READY;
    jobs->pending++;
    pthread_cond_broadcast(&jobs->changed);
    hd_status status = jobs->thread_count ? HD_OK : write_oldest(jobs, err);
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

hd_status store_jobs_drain(store_jobs *jobs, hd_error *err)
{
    hd_status status = HD_OK;
    pthread_mutex_lock(&jobs->lock);
    while (status == HD_OK && jobs->pending) status = write_oldest(jobs, err);
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

void store_jobs_free(store_jobs *jobs)
{
    if (!jobs) return;
    pthread_mutex_lock(&jobs->lock);
    jobs->ending = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    for (unsigned i = 0; i < jobs->thread_count; i++) pthread_join(jobs->threads[i], NULL);
    for (unsigned i = 0; i < THREAD_LIMIT; i++) store_encoder_free(jobs->encoders[i]);
    store_encoder_free(jobs->own);
    for (unsigned i = 0; i < JOB_LIMIT; i++) {
        store_job *job = &jobs->list[i];
        store_gathered_deinit(&job->block);
        free(job->strings);
        free(job->order);
        hd_bytes_deinit(&job->head);
        hd_bytes_deinit(&job->body);
    }
    pthread_mutex_destroy(&jobs->lock);
    pthread_cond_destroy(&jobs->changed);
    free(jobs);
}
