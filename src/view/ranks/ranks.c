/* ranks.c - the summaries of a job: a thread that reads them, or the open traces that they are made from, and the
 * picture */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory/vector.h"
#include "base/text/ends.h"
#include "base/thread.h"
#include "view/ranks/impl.h"
#include "view/session/session.h"
#include "view/write/json.h"

enum { NEWS_EVERY_MS = 1000, LOST_TOLD = 5 };

/* ---- a list of summaries ---- */

hd_status view_ranks_new(view_ranks **out, const view_ranks_options *options, hd_error *err)
{
    view_ranks *r = *out = calloc(1, sizeof *r);
    if (!r) return HD_NOMEM(err);
    r->options = *options;
    pthread_mutex_init(&r->lock, NULL);
    pthread_rwlock_init(&r->pictures, NULL);
    pthread_mutex_init(&r->lateness, NULL);
    pthread_mutex_init(&r->open_lock, NULL);
    pthread_mutex_init(&r->clock_lock, NULL);
    return HD_OK;
}

void view_ranks_stop(view_ranks *r)
{
    atomic_store(&r->stop, true);
}

void view_ranks_free(view_ranks *r)
{
    if (!r) return;
    view_ranks_stop(r);
    if (r->has_thread) pthread_join(r->thread, NULL);
    ranks_open_free(r);
    ranks_picture_free(r->picture);
    for (size_t i = 0; i < r->source_count; i++) {
        hd_job_free(r->sources[i].job);
        free(r->sources[i].path);
    }
    for (size_t i = 0; i < r->queue_count; i++) free(r->queue[i]);
    for (size_t i = 0; i < r->folder_count; i++) free(r->folders[i]);
    free(r->sources);
    free(r->shown);
    free(r->queue);
    free(r->folders);
    free(r->lost.data);
    pthread_mutex_destroy(&r->clock_lock);
    pthread_mutex_destroy(&r->open_lock);
    pthread_mutex_destroy(&r->lateness);
    pthread_rwlock_destroy(&r->pictures);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void ranks_add_lost(hd_json_out *lost, const char *name, size_t size, const hd_error *err)
{
    size_t lines = 0;
    for (size_t i = 0; i < lost->size; i++) lines += lost->data[i] == '\n';
    if (lines > LOST_TOLD) return;
    if (lines) lost->size--; /* its NUL */
    if (lines == LOST_TOLD) {
        hd_json_put(lost, "and others\n", sizeof "and others\n");
        return;
    }
    hd_json_put(lost, name, size);
    hd_json_put_text(lost, " is left out: ");
    hd_json_put_text(lost, err->message[0] ? err->message : hd_status_name(err->status));
    hd_json_put(lost, "\n", 2);
}

/* Takes the job. The lock is held. */
static bool add_source(view_ranks *r, hd_job *job, const char *path, int64_t trace)
{
    ranks_source source = {.job = job, .path = path ? strdup(path) : NULL, .trace = trace};
    void *list = r->sources;
    bool fine = (!path || source.path) && hd_grow(&list, &r->source_capacity, r->source_count, sizeof source);
    r->sources = list;
    if (fine) {
        r->sources[r->source_count++] = source;
        return true;
    }
    hd_job_free(job);
    free(source.path);
    return false;
}

void view_ranks_drop(view_ranks *r, uint32_t trace)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->source_count; i++) {
        if (r->sources[i].trace != (int64_t)trace || r->sources[i].is_dropped) continue;
        r->sources[i].is_dropped = true; /* not freed: pictures that are in use have it */
        r->drops++;
    }
    pthread_mutex_unlock(&r->lock);
    ranks_open_drop(r, trace);
}

/* The summary of one trace as a job of its own; NULL: none, see *err. */
static hd_job *summarize(const hd_trace *trace, const char *path, hd_error *err)
{
    hd_job *job = NULL;
    hd_status status = hd_job_new(&job, err);
    if (status == HD_OK) status = hd_job_add_trace(job, trace, path, err);
    if (status == HD_OK) status = hd_job_finish(job, err);
    if (status == HD_OK) return job;
    hd_job_free(job);
    return NULL;
}

/* ---- the thread ---- */

static void tell(view_ranks *r, bool now)
{
    pthread_mutex_lock(&r->lock);
    bool due = now || hd_now_ms() - r->told_ms >= NEWS_EVERY_MS;
    if (due) {
        r->revision++;
        r->told_ms = hd_now_ms();
    }
    pthread_mutex_unlock(&r->lock);
    if (due && r->options.news) r->options.news(r->options.session);
}

static void fail(view_ranks *r, const char *path, const hd_error *err)
{
    const char *name = hd_base_name(path);
    pthread_mutex_lock(&r->lock);
    r->failures++;
    ranks_add_lost(&r->lost, name, strlen(name), err);
    pthread_mutex_unlock(&r->lock);
    if (r->options.failed) r->options.failed(r->options.user, path, err);
}

static void read_trace(view_ranks *r, const char *path)
{
    hd_error err = {0};
    hd_trace *trace;
    hd_read_options options = {.threads = r->options.threads, .memory_limit = r->options.memory_limit};
    if (hd_trace_read(&trace, path, &options, &err) != HD_OK) {
        fail(r, path, &err);
        return;
    }
    hd_job *job = summarize(trace, path, &err);
    hd_trace_free(trace);
    pthread_mutex_lock(&r->lock);
    bool fine = job && add_source(r, job, path, -1);
    pthread_mutex_unlock(&r->lock);
    if (!fine) fail(r, path, &err);
}

/* The first `size` bytes of a path. */
static bool add_folder(view_ranks *r, const char *path, size_t size)
{
    char *folder = strndup(path, size);
    bool fine = folder != NULL;
    for (size_t i = 0; fine && i < r->folder_count; i++) {
        if (strcmp(r->folders[i], folder) != 0) continue;
        free(folder);
        return true;
    }
    void *list = r->folders;
    fine = fine && hd_grow(&list, &r->folder_capacity, r->folder_count, sizeof *r->folders);
    r->folders = list;
    if (fine)
        r->folders[r->folder_count++] = folder;
    else
        free(folder);
    return fine;
}

/* All .hds files as one job, with duplicates removed. They come first in the queue then. */
static void read_files(view_ranks *r)
{
    hd_error err = {0};
    hd_job *job = NULL;
    size_t count = 0;
    hd_status status = hd_job_new(&job, &err);
    for (size_t i = 0; status == HD_OK && i < r->queue_count && !atomic_load(&r->stop); i++) {
        hd_error own = {0};
        char *path = r->queue[i];
        if (!hd_job_is_file(path)) continue;
        r->queue[i] = r->queue[count];
        r->queue[count++] = path;
        if (hd_job_add_file(job, path, &own) != HD_OK) fail(r, path, &own);
    }
    if (status == HD_OK) status = hd_job_finish(job, &err);
    pthread_mutex_lock(&r->lock);
    if (status != HD_OK || hd_job_count(job) == 0)
        hd_job_free(job);
    else if (!add_source(r, job, NULL, -1))
        status = HD_NOMEM(&err);
    r->done = count;
    pthread_mutex_unlock(&r->lock);
    if (status != HD_OK) fail(r, r->queue[0], &err);
}

static void prepare_picture(view_ranks *r)
{
    const view_picture *picture;
    if (view_ranks_take(&picture, r, NULL, NULL) == HD_OK) view_ranks_give(r);
}

static void *work(void *user)
{
    view_ranks *r = user;
    read_files(r);
    prepare_picture(r);
    tell(r, true);
    for (size_t i = r->done; i < r->queue_count && !atomic_load(&r->stop); i++) {
        read_trace(r, r->queue[i]);
        pthread_mutex_lock(&r->lock);
        r->done = i + 1;
        pthread_mutex_unlock(&r->lock);
        tell(r, i + 1 == r->queue_count);
    }
    pthread_mutex_lock(&r->lock);
    r->is_idle = true;
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

hd_status view_ranks_add(view_ranks *r, const char *const *paths, size_t count, hd_error *err)
{
    if (count == 0) return HD_OK;
    r->queue = calloc(count, sizeof *r->queue);
    if (!r->queue || (r->options.traces && !add_folder(r, r->options.traces, strlen(r->options.traces))))
        return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        if (!(r->queue[r->queue_count++] = strdup(paths[i]))) return HD_NOMEM(err);
        if (!r->options.traces && !add_folder(r, paths[i], (size_t)(hd_base_name(paths[i]) - paths[i])))
            return HD_NOMEM(err);
    }
    r->has_thread = hd_thread_start(&r->thread, work, r) == 0;
    return r->has_thread ? HD_OK
                         : hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "the system gives no more threads");
}

/* ---- asking ---- */

bool view_ranks_is_idle(view_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    bool idle = !r->has_thread || r->is_idle;
    pthread_mutex_unlock(&r->lock);
    return idle;
}

size_t view_ranks_waiting(view_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    size_t count = r->queue_count - r->done;
    pthread_mutex_unlock(&r->lock);
    return count;
}

size_t view_ranks_failures(view_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    size_t count = r->failures;
    pthread_mutex_unlock(&r->lock);
    return count;
}

bool view_ranks_lacks(view_ranks *r, uint64_t revision)
{
    pthread_mutex_lock(&r->lock);
    bool lacks = r->queue_count > 0 && r->revision < revision;
    pthread_mutex_unlock(&r->lock);
    return lacks;
}

void view_ranks_write(hd_json_out *out, view_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    if (!r->queue_count) {
        hd_json_put_text(out, "null");
    } else {
        hd_json_put_text(out, "{");
        view_json_int(out, "revision", (int64_t)r->revision);
        view_json_int(out, "files", (int64_t)r->queue_count);
        view_json_int(out, "done", (int64_t)r->done);
        hd_json_put_text(out, "}");
    }
    pthread_mutex_unlock(&r->lock);
}

hd_status view_ranks_file(char **out, const view_ranks *r, const view_picture_row *row, hd_error *err)
{
    const ranks_source *source = &r->shown[row->source];
    const hd_string file = row->about->file;
    *out = NULL;
    if (source->path) return (*out = strdup(source->path)) ? HD_OK : HD_NOMEM(err);
    bool is_name = file.size && !memchr(file.data, '/', file.size) && !memchr(file.data, '\0', file.size);
    for (size_t i = 0; is_name && i < r->folder_count; i++) {
        const char *folder = r->folders[i];
        bool ends = !*folder || folder[strlen(folder) - 1] == '/';
        if (asprintf(out, "%s%s%.*s", folder, ends ? "" : "/", (int)file.size, file.data) < 0) {
            *out = NULL;
            return HD_NOMEM(err);
        }
        if (access(*out, R_OK) == 0) return HD_OK;
        free(*out);
        *out = NULL;
    }
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
                        "its trace %.*s is not next to the summaries: give its folder as --traces",
                        (int)(file.size < 200 ? file.size : 200), file.size ? file.data : "");
}

/* ---- pictures ---- */

typedef struct open_traces {
    view_ranks *ranks;
    view_session *session;
    uint32_t *list;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
} open_traces;

/* A trace that cannot be summarised gets an empty job, and is reported. */
static void summarize_open(open_traces *open, size_t i)
{
    view_scene *scene;
    hd_error err = {0};
    const char *name = view_session_name(open->session, open->list[i]);
    view_session_scene(&scene, open->session, open->list[i]);
    hd_job *job = scene ? summarize(view_scene_trace(scene), name, &err) : NULL;
    bool has_job = job != NULL;
    bool fine = has_job || (hd_job_new(&job, NULL) == HD_OK && hd_job_finish(job, NULL) == HD_OK);
    pthread_mutex_lock(&open->ranks->lock);
    if (!has_job && scene) ranks_add_lost(&open->ranks->lost, name, strlen(name), &err);
    fine = fine && add_source(open->ranks, job, NULL, open->list[i]);
    pthread_mutex_unlock(&open->ranks->lock);
    if (!fine) atomic_store(&open->failed, true);
    bool is_closed = view_session_scene(&scene, open->session, open->list[i]) == VIEW_CLOSED; /* meanwhile */
    if (is_closed) view_ranks_drop(open->ranks, open->list[i]);
}

static void summarize_all(void *state)
{
    open_traces *open = state;
    for (size_t i; (i = atomic_fetch_add(&open->next, 1)) < open->count;) summarize_open(open, i);
}

/* The open traces without a summary, if no files were given; false: no memory. */
static bool find_open(open_traces *out, view_ranks *r, view_session *session)
{
    uint32_t count = r->queue_count ? 0 : view_session_count(session);
    *out = (open_traces){r, session, malloc((count + 1) * sizeof *out->list), 0, 0, false};
    if (!out->list) return false;
    for (uint32_t trace = 0; trace < count; trace++) {
        view_scene *scene;
        bool known = view_session_scene(&scene, session, trace) != VIEW_READY;
        pthread_mutex_lock(&r->lock); /* never while holding the session's lock, which is held while it is written */
        for (size_t i = 0; i < r->source_count && !known; i++) known = r->sources[i].trace == (int64_t)trace;
        pthread_mutex_unlock(&r->lock);
        if (!known) out->list[out->count++] = trace;
    }
    return true;
}

/* Who makes a picture has the write lock. */
static hd_status make_picture(view_ranks *r, open_traces *open, hd_error *err)
{
    view_picture *picture;
    hd_threads_run(summarize_all, open, 0, hd_thread_count(0, open->count));
    if (atomic_load(&open->failed)) return HD_NOMEM(err);
    pthread_mutex_lock(&r->lock);
    size_t count = 0, drops = r->drops;
    ranks_source *sources = malloc((r->source_count + 1) * sizeof *sources);
    for (size_t i = 0; sources && i < r->source_count; i++) {
        if (!r->sources[i].is_dropped) sources[count++] = r->sources[i];
    }
    pthread_mutex_unlock(&r->lock);
    if (!sources) return HD_NOMEM(err);
    hd_status status = ranks_picture_new(&picture, sources, count, err);
    if (status != HD_OK) {
        free(sources);
        return status;
    }
    picture->number = r->picture ? r->picture->number + 1 : 1;
    ranks_picture_free(r->picture);
    free(r->shown);
    r->picture = picture;
    r->shown = sources;
    r->shown_count = count;
    r->shown_drops = drops;
    return HD_OK;
}

static bool is_current(view_ranks *r, const open_traces *open)
{
    pthread_mutex_lock(&r->lock);
    bool is = r->picture && open->count == 0 && r->shown_count + r->shown_drops == r->source_count &&
              r->shown_drops == r->drops;
    pthread_mutex_unlock(&r->lock);
    return is;
}

/* Tries under the shared lock, then under the exclusive one, where it may make another picture. */
hd_status view_ranks_take(const view_picture **out, view_ranks *r, view_session *session, hd_error *err)
{
    hd_status status = HD_OK;
    bool is_made = false;
    for (bool alone = false; status == HD_OK && !is_made; alone = !alone) {
        open_traces open;
        if (alone)
            pthread_rwlock_wrlock(&r->pictures);
        else
            pthread_rwlock_rdlock(&r->pictures);
        if (!find_open(&open, r, session)) status = HD_NOMEM(err);
        is_made = status == HD_OK && !alone && is_current(r, &open);
        if (status == HD_OK && alone && !is_current(r, &open)) status = make_picture(r, &open, err);
        free(open.list);
        *out = r->picture;
        if (!is_made) pthread_rwlock_unlock(&r->pictures);
    }
    return status;
}

void view_ranks_give(view_ranks *r)
{
    pthread_rwlock_unlock(&r->pictures);
}

hd_status view_ranks_late(view_ranks *r, hd_error *err)
{
    pthread_mutex_lock(&r->lateness);
    hd_status status = r->picture->late ? HD_OK : ranks_late(r->picture, r->shown, r->shown_count, err);
    pthread_mutex_unlock(&r->lateness);
    return status;
}

hd_status view_ranks_job(const hd_job **out, view_ranks *r, hd_error *err)
{
    hd_status status = HD_OK;
    if (r->shown_count == 1) {
        *out = r->shown[0].job;
        return HD_OK;
    }
    pthread_mutex_lock(&r->lateness);
    if (!r->picture->whole) status = ranks_whole(r->picture, r->shown, r->shown_count, err);
    *out = r->picture->whole;
    pthread_mutex_unlock(&r->lateness);
    return status;
}

void view_ranks_lost(hd_json_out *out, view_ranks *r)
{
    pthread_mutex_lock(&r->lock);
    hd_json_put_text(out, r->lost.data ? r->lost.data : "");
    pthread_mutex_unlock(&r->lock);
}
