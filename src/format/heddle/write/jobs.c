/* jobs.c - encodes with several threads, and writes in the order of the jobs */
#include "format/heddle/write/jobs.h"

#include <stdlib.h>

#include "base/pipeline.h"
#include "trace/event.h"

struct store_jobs {
    store_sections *sections;
    store_encoder *encoders[HD_PIPELINE_THREAD_LIMIT]; /* of each worker */
    hd_pipeline *pipeline;
};

/* ---- encoding ---- */

/* Keeps a sorted list of tracks. */
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

static void encode(void *user, unsigned worker, void *item)
{
    store_encoder *encoder = ((store_jobs *)user)->encoders[worker];
    store_job *job = item;
    job->status = HD_OK;
    job->error = (hd_error){0};
    if (job->type == STORE_BLOCK)
        job->status = encode_block(job, encoder, &job->error);
    else if (job->type == STORE_STRINGS)
        job->status = store_strings_encode(&job->body, encoder, job->strings, job->string_count, &job->error);
    else if (job->type == STORE_ORDER)
        job->status = store_ints_encode(&job->body, encoder, job->order, job->order_count, &job->error);
}

static hd_status write_job(void *user, void *item, hd_error *err)
{
    store_job *job = item;
    if (job->status == HD_OK)
        return store_sections_add(((store_jobs *)user)->sections, job->type, job->flags, &job->head, &job->body, err);
    if (err && err->status == HD_OK) *err = job->error;
    return job->status;
}

static void deinit_job(void *item)
{
    store_job *job = item;
    store_gathered_deinit(&job->block);
    free(job->strings);
    free(job->order);
    hd_bytes_deinit(&job->head);
    hd_bytes_deinit(&job->body);
}

/* ---- the line of jobs ---- */

hd_status store_jobs_new(store_jobs **out, store_sections *sections, unsigned threads, int level, hd_error *err)
{
    store_jobs *jobs = *out = calloc(1, sizeof *jobs);
    if (!jobs) return HD_NOMEM(err);
    jobs->sections = sections;
    threads = hd_pipeline_threads(threads);
    for (unsigned i = 0; i < threads; i++) HD_TRY(store_encoder_new(&jobs->encoders[i], level, err));
    const hd_pipeline_steps steps = {sizeof(store_job), encode, write_job, deinit_job, jobs};
    return hd_pipeline_new(&jobs->pipeline, &steps, threads, err);
}

hd_status store_jobs_next(store_job **out, store_jobs *jobs, store_type type, hd_error *err)
{
    void *item;
    HD_TRY(hd_pipeline_next(&item, jobs->pipeline, err));
    store_job *job = *out = item;
    job->type = type;
    job->flags = 0;
    job->head.size = job->body.size = 0;
    return HD_OK;
}

void store_jobs_give(store_jobs *jobs)
{
    hd_pipeline_give(jobs->pipeline);
}

hd_status store_jobs_drain(store_jobs *jobs, hd_error *err)
{
    return hd_pipeline_drain(jobs->pipeline, err);
}

void store_jobs_free(store_jobs *jobs)
{
    if (!jobs) return;
    hd_pipeline_free(jobs->pipeline);
    for (unsigned i = 0; i < HD_PIPELINE_THREAD_LIMIT; i++) store_encoder_free(jobs->encoders[i]);
    free(jobs);
}
