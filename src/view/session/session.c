/* session.c - the open traces: threads that read files, threads that lay scenes out, and the list of traces */
#include "view/session/session.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/system.h"
#include "base/text/ends.h"
#include "heddle/convert.h"
#include "model/identity/device.h"
#include "pass/crop/crop.h"
#include "trace/lazy.h"
#include "view/ranks/ranks.h"
#include "view/session/impl.h"
#include "view/sql/sql.h"

enum { CORES_A_THREAD = 4, NEWS_EVERY_MS = 100, LAYOUT_NICE = 10 };
static const uint64_t memory_default = (uint64_t)64 << 20; /* a server runs for hours next to the user's work */

/* ---- news ---- */

/* Notifies clients of news. The lock is held, and is released. */
static void publish_and_unlock(view_session *s)
{
    void (*news)(void *) = s->news;
    void *user = s->news_user;
    s->revision++;
    s->told_ms = hd_now_ms();
    s->telling += news != NULL;
    pthread_mutex_unlock(&s->lock);
    if (!news) return;
    news(user);
    pthread_mutex_lock(&s->lock);
    s->telling--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
    view_entry *entry = user;
    view_session *s = entry->session;
    pthread_mutex_lock(&s->lock);
    entry->done = done;
    entry->total = total;
    if (hd_now_ms() - s->told_ms >= NEWS_EVERY_MS)
        publish_and_unlock(s);
    else
        pthread_mutex_unlock(&s->lock);
}

static void on_scene_news(void *user, const char *what)
{
    view_entry *entry = user;
    view_session *s = entry->session;
    pthread_mutex_lock(&s->lock);
    snprintf(entry->busy, sizeof entry->busy, "%s", what);
    publish_and_unlock(s);
}

static void tell_failure(view_entry *entry, const hd_error *err)
{
    view_session *s = entry->session;
    if (!s->options.failed) return;
    pthread_mutex_lock(&s->failing);
    s->options.failed(s->options.failed_user, entry->path ? entry->path : entry->name, err);
    pthread_mutex_unlock(&s->failing);
}

/* ---- what closed traces leave ---- */

/* A scene that neither requests nor a thread use any more, taken from its entry; NULL: none. The lock is held. */
static view_scene *take_unused(view_session *s)
{
    uint64_t oldest = s->closings;
    for (const view_use *use = s->uses; use; use = use->next) {
        if (use->since < oldest) oldest = use->since;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        view_entry *entry = s->entries[i];
        if (!entry->scene || !entry->closing || entry->closing > oldest || entry->workers) continue;
        view_scene *scene = entry->scene;
        entry->scene = NULL;
        return scene;
    }
    return NULL;
}

/* The lock is held, and is released. */
static void free_unused_and_unlock(view_session *s)
{
    view_scene *scene = take_unused(s);
    for (; scene; scene = take_unused(s)) {
        pthread_mutex_unlock(&s->lock);
        view_scene_free(scene);
#ifdef __GLIBC__
        malloc_trim(0);
#endif
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

void view_session_enter(view_use *out, view_session *s)
{
    pthread_mutex_lock(&s->lock);
    *out = (view_use){.next = s->uses, .since = s->closings};
    if (s->uses) s->uses->previous = out;
    s->uses = out;
    pthread_mutex_unlock(&s->lock);
}

void view_session_leave(view_use *use, view_session *s)
{
    pthread_mutex_lock(&s->lock);
    *(use->previous ? &use->previous->next : &s->uses) = use->next;
    if (use->next) use->next->previous = use->previous;
    free_unused_and_unlock(s);
}

/* ---- work ---- */

static view_entry *new_entry(const char *path, const char *name);
static hd_status add_entry(uint32_t *out, view_session *s, view_entry *entry, hd_error *err);

/* Only the first seconds of a trace, which replace it; and how many they are. */
static hd_status keep_head(hd_trace **trace, char part[PART_BYTES], uint64_t most, hd_error *err)
{
    hd_trace *head;
    hd_pass_result result;
    hd_crop_window window = {.from_ns = INT64_MIN};
    hd_status status = hd_trace_head(&window.until_ns, *trace, most, err);
    if (status == HD_END) return HD_OK;
    if (status != HD_OK) {
        hd_trace_free(*trace);
        return status;
    }
    snprintf(part, PART_BYTES, "first %.3g s", (double)(window.until_ns - hd_trace_facts_of(*trace)->start_ns) / 1e9);
    status = hd_crop(&head, &result, *trace, &window, err);
    hd_trace_free(*trace);
    *trace = head;
    return status;
}

static void read_entry(view_entry *entry)
{
    view_session *s = entry->session;
    hd_error err = {0};
    hd_trace *trace = NULL;
    view_scene *scene = NULL;
    hd_trace_facts facts = entry->facts;
    const char *device_kind = NULL;
    hd_read_options options = {.lazy = !entry->is_second,
                               .threads = s->options.threads,
                               .memory_limit = s->memory_of_one,
                               .binary = entry->path ? s->binary : NULL,
                               .most_events = entry->most_events,
                               .progress = on_progress,
                               .progress_user = entry};
    char opened[32], part[sizeof entry->part] = "";
    snprintf(opened, sizeof opened, "/dev/fd/%d", entry->fd);
    hd_status status = hd_trace_read(&trace, entry->fd >= 0 ? opened : entry->path, &options, &err);
    if (status == HD_OK && entry->most_events) status = keep_head(&trace, part, entry->most_events, &err);
    if (status == HD_OK) hd_trace_keep_visited(trace);
    if (status != HD_OK && entry->fd >= 0) snprintf(err.path, sizeof err.path, "%s", entry->name);
    if (status == HD_OK && entry->path && s->counters &&
        (status = hd_convert_trace(&trace, entry->path, s->counters, &err)) != HD_OK)
        hd_trace_free(trace);
    if (status == HD_OK) {
        facts = *hd_trace_facts_of(trace);
        device_kind = hd_device_kinds(trace);
        status = view_scene_new(&scene, trace, &err);
    }
    pthread_mutex_lock(&s->lock);
    entry->state = status == HD_OK ? VIEW_READY : VIEW_FAILED;
    entry->error = err;
    entry->facts = facts;
    entry->device_kind = device_kind;
    entry->scene = scene;
    entry->is_waiting = status == HD_OK;
    memcpy(entry->part, part, sizeof part);
    if (status == HD_OK) entry->done = entry->total;
    snprintf(entry->busy, sizeof entry->busy, "%s", status == HD_OK ? "laying out tracks" : "");
    pthread_cond_broadcast(&s->changed);
    publish_and_unlock(s);
    if (status != HD_OK) tell_failure(entry, &err);
}

/* A store with unreadable blocks is read again, not lazily: then its reader leaves them out, with ledger rows. The
 * first one stays, as a failed one, since answers may be using it. */
static bool read_again(view_entry *entry)
{
    uint32_t id;
    hd_error err = {0};
    const hd_trace *trace = view_scene_trace(entry->scene);
    bool is_file = entry->path || entry->fd >= 0;
    if (!is_file || entry->is_second || !hd_trace_unloaded(trace)) return false;
    if (hd_trace_input_status(trace, NULL) == HD_ERR_IO) return false; /* it is another file by now */
    view_entry *second = new_entry(entry->path, entry->name);
    if (!second) return false;
    second->is_second = true;
    second->fd = entry->fd < 0 ? -1 : hd_descriptor_copy(entry->fd);
    return add_entry(&id, entry->session, second, &err) == HD_OK;
}

static void end_layout(view_entry *entry, hd_status status, hd_error *err)
{
    view_session *s = entry->session;
    bool is_stopped = atomic_load(&entry->stop);
    if (!is_stopped && read_again(entry)) {
        pthread_mutex_lock(&s->lock);
        entry->busy[0] = '\0';
        if (entry->state != VIEW_CLOSED) entry->state = VIEW_FAILED;
        hd_error_set(&entry->error, HD_ERR_DAMAGED, entry->path, HD_OFFSET_NONE,
                     "blocks of events cannot be read: all else that it holds is shown as one more trace of this name");
        publish_and_unlock(s);
        return;
    }
    if (status != HD_OK) hd_error_add_cause(err, "cannot lay out its tracks");
    pthread_mutex_lock(&s->lock);
    entry->busy[0] = '\0';
    if (status != HD_OK && !is_stopped) entry->error = *err;
    publish_and_unlock(s);
    if (status != HD_OK && !is_stopped) tell_failure(entry, err);
}

static void lay_out_entry(view_entry *entry)
{
    hd_error err = {0};
    end_layout(entry, view_scene_work(entry->scene, &entry->stop, on_scene_news, entry, &err), &err);
}

static void lay_out_step(view_entry *entry)
{
    hd_error err = {0};
    hd_status status = view_scene_work_step(entry->scene, entry->step++, on_scene_news, entry, &err);
    if (status == HD_OK)
        entry->is_waiting = true;
    else
        end_layout(entry, status == HD_END ? HD_OK : status, &err);
}

/* The first trace that waits for a reader (or for layout), which is the caller's from now on; NULL: none. */
static view_entry *take_entry(view_session *s, view_trace_state state)
{
    for (uint32_t i = 0; i < s->count; i++) {
        view_entry *entry = s->entries[i];
        if (!entry->is_waiting || entry->state != state) continue;
        entry->is_waiting = false;
        return entry;
    }
    return NULL;
}

static void work_on(view_session *s, view_trace_state state)
{
    pthread_mutex_lock(&s->lock);
    while (!atomic_load(&s->stop)) {
        view_entry *entry = take_entry(s, state);
        if (!entry) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        s->working++;
        entry->workers++;
        pthread_mutex_unlock(&s->lock);
        if (state == VIEW_READING)
            read_entry(entry);
        else
            lay_out_entry(entry);
        pthread_mutex_lock(&s->lock);
        entry->workers--;
        free_unused_and_unlock(s);
        pthread_mutex_lock(&s->lock);
        s->working--;
    }
    pthread_mutex_unlock(&s->lock);
}

static void *read_thread(void *session)
{
    work_on(session, VIEW_READING);
    return NULL;
}

/* Answers have priority: on Linux niceness is per thread, and inherited by threads it starts. */
static void *layout_thread(void *session)
{
#ifdef __linux__
    (void)setpriority(PRIO_PROCESS, 0, LAYOUT_NICE);
#endif
    work_on(session, VIEW_READY);
    return NULL;
}

bool view_session_step(view_session *s)
{
    view_entry *entry = take_entry(s, VIEW_READING);
    if (entry) {
        read_entry(entry);
        return true;
    }
    if (!(entry = take_entry(s, VIEW_READY))) return false;
    lay_out_step(entry);
    return true;
}

/* A thread of each kind for every new trace, until there are enough. The lock is held. */
static hd_status start_threads(view_session *s, hd_error *err)
{
    void *(*const run[])(void *) = {read_thread, layout_thread};
    unsigned cores = hd_core_count() / CORES_A_THREAD, most = cores < 1                  ? 1
                                                              : cores > VIEW_THREADS_MAX ? VIEW_THREADS_MAX
                                                                                         : cores;
    for (int kind = 0; kind < 2; kind++) {
        unsigned *count = &s->thread_counts[kind];
        if (*count < most && pthread_create(&s->threads[kind][*count], NULL, run[kind], s) == 0) (*count)++;
    }
    if (s->thread_counts[0] && s->thread_counts[1]) return HD_OK;
    return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "the system gives no more threads");
}

/* ---- a session ---- */

static void on_ranks_news(void *session)
{
    view_session_tell(session);
}

static hd_status new_ranks(view_session *s, hd_error *err)
{
    const view_ranks_options options = {.threads = s->options.threads,
                                        .memory_limit = s->memory_of_one,
                                        .traces = s->options.traces,
                                        .failed = s->options.failed,
                                        .user = s->options.failed_user,
                                        .news = on_ranks_news,
                                        .session = s};
    return view_ranks_new(&s->ranks, &options, err);
}

hd_status view_session_new(view_session **out, const view_session_options *options, hd_error *err)
{
    view_session *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s || !(s->sql = view_sql_new())) {
        free(s);
        return HD_NOMEM(err);
    }
    if (options) s->options = *options;
    s->binary = s->options.binary ? strdup(s->options.binary) : NULL;
    s->engine = s->options.engine ? strdup(s->options.engine) : NULL;
    bool has_id = getentropy(s->id, sizeof s->id) == 0;
    bool has_counters = !s->options.counters || asprintf(&s->counters, "counters:file=%s", s->options.counters) > 0;
    bool has_paths = (s->binary || !s->options.binary) && (s->engine || !s->options.engine);
    if (!has_id || !has_counters || !has_paths) {
        free(has_counters ? s->counters : NULL);
        view_sql_free(s->sql);
        free(s->binary);
        free(s->engine);
        free(s);
        return has_id ? HD_NOMEM(err)
                      : hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the system gives no random numbers");
    }
    uint64_t all = s->options.memory_limit ? s->options.memory_limit : memory_default;
    s->memory_of_one = all / (s->options.expected ? s->options.expected : 1);
    if (!s->memory_of_one) s->memory_of_one = 1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->failing, NULL);
    pthread_mutex_init(&s->opening, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->revision = 1;
    hd_status status = new_ranks(s, err);
    if (status == HD_OK)
        *out = s;
    else
        view_session_free(s);
    return status;
}

void view_session_stop(view_session *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->stop, true);
    for (uint32_t i = 0; i < s->count; i++) atomic_store(&s->entries[i]->stop, true);
    if (s->ranks) view_ranks_stop(s->ranks);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

bool view_session_is_idle(view_session *s)
{
    pthread_mutex_lock(&s->lock);
    bool idle = s->working == 0 && view_ranks_is_idle(s->ranks);
    pthread_mutex_unlock(&s->lock);
    return idle;
}

static void free_entry(view_entry *entry)
{
    if (entry->fd >= 0) close(entry->fd);
    view_scene_free(entry->scene);
    free(entry->path);
    free(entry->name);
    free(entry);
}

void view_session_free(view_session *s)
{
    if (!s) return;
    view_session_stop(s);
    for (int kind = 0; kind < 2; kind++) {
        for (unsigned i = 0; i < s->thread_counts[kind]; i++) pthread_join(s->threads[kind][i], NULL);
    }
    view_ranks_free(s->ranks);
    view_sql_free(s->sql);
    for (uint32_t i = 0; i < s->count; i++) free_entry(s->entries[i]);
    free(s->entries);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->opening);
    pthread_mutex_destroy(&s->failing);
    pthread_mutex_destroy(&s->lock);
    free(s->counters);
    free(s->binary);
    free(s->engine);
    free(s);
}

void view_session_on_news(view_session *s, void (*news)(void *user), void *user)
{
    pthread_mutex_lock(&s->lock);
    s->news = news;
    s->news_user = user;
    while (!news && s->telling) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

uint32_t view_session_diff(uint32_t *out_before, const view_session *s)
{
    *out_before = s->options.diff_before;
    return s->options.diff_before ? s->options.diff_count : 0;
}

/* ---- adding ---- */

/* Takes the entry. */
static hd_status add_entry(uint32_t *out, view_session *s, view_entry *entry, hd_error *err)
{
    hd_status status = HD_OK;
    void *list = s->entries;
    entry->session = s;
    pthread_mutex_lock(&s->lock);
    if (!hd_grow(&list, &s->capacity, s->count, sizeof *s->entries)) status = HD_NOMEM(err);
    s->entries = list;
    if (status == HD_OK && !entry->scene && !s->options.is_stepped) status = start_threads(s, err);
    if (status != HD_OK) {
        pthread_mutex_unlock(&s->lock);
        free_entry(entry);
        return status;
    }
    *out = entry->id = s->count;
    s->entries[s->count++] = entry;
    pthread_cond_broadcast(&s->changed);
    publish_and_unlock(s);
    return HD_OK;
}

static view_entry *new_entry(const char *path, const char *name)
{
    view_entry *entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->fd = -1;
    entry->facts.rank = HD_NO_NUMBER;
    entry->facts.base_ns = HD_NO_TIME;
    entry->is_waiting = true;
    entry->path = path ? strdup(path) : NULL;
    entry->name = strdup(name);
    if (entry->name && (entry->path || !path)) return entry;
    free_entry(entry);
    return NULL;
}

hd_status view_session_add(uint32_t *out, view_session *s, const char *path, hd_error *err)
{
    return view_session_add_head(out, s, path, 0, err);
}

hd_status view_session_add_head(uint32_t *out, view_session *s, const char *path, uint64_t memory, hd_error *err)
{
    view_entry *entry = new_entry(path, strcmp(path, "-") == 0 ? "standard input" : hd_base_name(path));
    if (!entry) return HD_NOMEM(err);
    entry->most_events = memory / VIEW_EVENT_BYTES;
    return add_entry(out, s, entry, err);
}

hd_status view_session_open(uint32_t *out, view_session *s, const char *path, hd_error *err)
{
    pthread_mutex_lock(&s->opening); /* two that ask at once get the same */
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = s->count; i > 0 && !found; i--) {
        const view_entry *entry = s->entries[ *out = i - 1];
        bool is_there = entry->state == VIEW_READING || entry->state == VIEW_READY;
        found = entry->path && is_there && strcmp(entry->path, path) == 0;
    }
    pthread_mutex_unlock(&s->lock);
    view_entry *entry = found ? NULL : new_entry(path, hd_base_name(path));
    if (entry) entry->is_asked = true;
    hd_status status = found ? HD_OK : entry ? add_entry(out, s, entry, err) : HD_NOMEM(err);
    pthread_mutex_unlock(&s->opening);
    return status;
}

hd_status view_session_add_file(uint32_t *out, view_session *s, int fd, const char *name, hd_error *err)
{
    view_entry *entry = new_entry(NULL, hd_base_name(name));
    if (!entry) {
        close(fd);
        return HD_NOMEM(err);
    }
    entry->fd = fd;
    entry->is_asked = true;
    return add_entry(out, s, entry, err);
}

hd_status view_session_add_scene(uint32_t *out, view_session *s, view_scene *scene, const char *name, hd_error *err)
{
    view_entry *entry = new_entry(NULL, name);
    if (!entry) {
        view_scene_free(scene);
        return HD_NOMEM(err);
    }
    entry->scene = scene;
    entry->facts = *hd_trace_facts_of(view_scene_trace(scene));
    entry->device_kind = hd_device_kinds(view_scene_trace(scene));
    entry->state = VIEW_READY;
    entry->is_waiting = false;
    return add_entry(out, s, entry, err);
}

/* ---- closing ---- */

hd_status view_session_close(view_session *s, uint32_t trace, hd_error *err)
{
    pthread_mutex_lock(&s->lock);
    view_entry *entry = s->entries[trace];
    bool is_side = s->options.diff_before && trace < s->options.diff_count;
    const char *why = is_side                        ? "is a side of the comparison"
                      : entry->state == VIEW_READING ? "is still being read"
                      : entry->state == VIEW_CLOSED  ? "is closed already"
                                                     : NULL;
    if (why) {
        pthread_mutex_unlock(&s->lock);
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "trace %u %s", trace, why);
    }
    entry->state = VIEW_CLOSED;
    atomic_store(&entry->stop, true);
    publish_and_unlock(s);
    view_ranks_drop(s->ranks, trace);
    view_sql_drop(s->sql);
    pthread_mutex_lock(&s->lock);
    entry->closing = ++s->closings;
    free_unused_and_unlock(s);
    return HD_OK;
}

/* ---- asking ---- */

uint32_t view_session_count(view_session *s)
{
    pthread_mutex_lock(&s->lock);
    uint32_t count = s->count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

size_t view_session_count_of(view_session *s, view_trace_state state)
{
    size_t count = 0;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->count; i++) count += s->entries[i]->state == state;
    pthread_mutex_unlock(&s->lock);
    return count;
}

void view_session_progress(uint64_t *out_done, uint64_t *out_total, view_session *s)
{
    *out_done = *out_total = 0;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->count; i++) {
        const view_entry *entry = s->entries[i];
        if (entry->state != VIEW_READING) continue;
        *out_done += entry->done;
        *out_total += entry->total;
    }
    pthread_mutex_unlock(&s->lock);
}

size_t view_session_failures(view_session *s)
{
    size_t count = 0;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->count; i++) {
        const view_entry *entry = s->entries[i];
        count += entry->state == VIEW_FAILED && entry->path && !entry->is_asked;
    }
    pthread_mutex_unlock(&s->lock);
    return count;
}

const char *view_session_name(view_session *s, uint32_t trace)
{
    pthread_mutex_lock(&s->lock);
    const char *name = trace < s->count ? s->entries[trace]->name : NULL;
    pthread_mutex_unlock(&s->lock);
    return name;
}

const char *view_session_path(view_session *s, uint32_t trace)
{
    pthread_mutex_lock(&s->lock);
    const char *path = trace < s->count ? s->entries[trace]->path : NULL;
    pthread_mutex_unlock(&s->lock);
    return path;
}

view_trace_state view_session_scene(view_scene **out, view_session *s, uint32_t trace)
{
    pthread_mutex_lock(&s->lock);
    const view_entry *entry = s->entries[trace];
    view_trace_state state = entry->state;
    *out = state == VIEW_READY ? entry->scene : NULL;
    pthread_mutex_unlock(&s->lock);
    return state;
}

view_scene *view_session_scene_again(view_session *s, uint32_t trace)
{
    pthread_mutex_lock(&s->lock);
    view_scene *scene = s->entries[trace]->scene;
    pthread_mutex_unlock(&s->lock);
    return scene;
}

struct view_ranks *view_session_ranks(view_session *s)
{
    return s->ranks;
}

struct view_sql *view_session_sql(view_session *s)
{
    return s->sql;
}

const char *view_session_engine(const view_session *s)
{
    return s->engine;
}

void view_session_tell(view_session *s)
{
    pthread_mutex_lock(&s->lock);
    publish_and_unlock(s);
}

uint64_t view_session_revision(view_session *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t revision = s->revision;
    pthread_mutex_unlock(&s->lock);
    return revision;
}
