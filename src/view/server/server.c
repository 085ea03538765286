/* server.c - heddle view's server: starts it, and ends it */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "heddle/analysis/job.h"
#include "view/ranks/ranks.h"
#include "view/server/impl.h"

bool hd_view_has_page(void)
{
    return view_page_files[0].path != NULL;
}

bool hd_view_has_server(void)
{
    return true;
}

/* ---- starting ---- */

static hd_status make_token(hd_view *view, hd_error *err)
{
    uint8_t random[VIEW_TOKEN_TEXT / 2];
    if (getentropy(random, sizeof random) != 0)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the system gives no random numbers");
    for (size_t i = 0; i < sizeof random; i++) snprintf(view->token + 2 * i, 3, "%02x", random[i]);
    return HD_OK;
}

static hd_status copy_names(hd_view *view, const hd_view_options *options, hd_error *err)
{
    char hostname[256];
    if (gethostname(hostname, sizeof hostname) == 0) {
        hostname[sizeof hostname - 1] = '\0';
        view->hostname = hostname[0] ? strdup(hostname) : NULL;
    }
    if (options->listen && !(view->listen = strdup(options->listen))) return HD_NOMEM(err);
    view->names.listen = view->listen;
    view->names.hostname = view->hostname;
    return HD_OK;
}

/* The process's limit of open files is shared by traces and connections. */
static unsigned connection_limit(const hd_view *view)
{
    rlim_t most = view->limits.connections;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY && files.rlim_cur / 2 < most)
        most = files.rlim_cur / 2;
    return most < 8 ? 8 : (unsigned)most;
}

/* Leaves the escapes of an address unchanged: view_target_parse decodes them. */
static size_t keep_escapes(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user;
    (void)connection;
    return strlen(text);
}

static hd_status start_daemons(hd_view *view, hd_error *err)
{
    /* Not epoll: libmicrohttpd 0.9.75 then misses the end of a connection that came together with its last bytes. */
    const unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    HD_TRY(view_microhttpd_load(err));
    view->client_limit = connection_limit(view);
    for (unsigned i = 0; i < view->socket_count; i++) {
        view->daemons[i] = MHD_start_daemon(
            flags, 0, NULL, NULL, view_answer, view, MHD_OPTION_LISTEN_SOCKET, view->sockets[i],
            MHD_OPTION_CONNECTION_LIMIT, view->client_limit, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)VIEW_CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_STRICT_FOR_CLIENT, 1,
            MHD_OPTION_URI_LOG_CALLBACK, view_answer_begin, view, MHD_OPTION_NOTIFY_COMPLETED, view_answer_end, view,
            MHD_OPTION_NOTIFY_CONNECTION, view_answer_connection, view, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
            NULL, MHD_OPTION_END);
        if (!view->daemons[i])
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the server cannot be started: %s",
                                strerror(errno));
        view->sockets[i] = -1; /* the daemon's */
        view->daemon_count++;
    }
    return HD_OK;
}

enum { OPEN_OF_JOB = 4 }; /* ranks opened together, which share memory */

/* A pipe is read only once. */
static bool is_job_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && hd_job_is_file(path);
}

/* Ranks of a job are added there, all others as traces. */
static hd_status add_paths(hd_view *view, const char *const *paths, size_t count, bool summaries, hd_error *err)
{
    uint32_t trace;
    size_t ranks = 0;
    const char **list = calloc(count + 1, sizeof *list);
    hd_status status = list ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        if (summaries || is_job_file(paths[i]))
            list[ranks++] = paths[i];
        else
            status = view_session_add(&trace, view->session, paths[i], err);
    }
    view->shows_job = ranks > 0 && !summaries;
    if (status == HD_OK) status = view_ranks_add(view_session_ranks(view->session), list, ranks, err);
    free(list);
    return status;
}

static hd_status start(hd_view *view, const char *const *paths, size_t count, const hd_view_options *options,
                       hd_error *err)
{
    bool is_job = count > 0 && (options->summaries || is_job_file(paths[0]));
    const view_session_options session = {.threads = options->threads,
                                          .memory_limit = options->memory_limit,
                                          .expected = is_job ? OPEN_OF_JOB : count,
                                          .binary = options->binary,
                                          .counters = options->counters,
                                          .traces = options->traces,
                                          .engine = options->engine,
                                          .diff_before = (uint32_t)options->diff_before,
                                          .diff_count = options->diff_before ? (uint32_t)count : 0,
                                          .failed = options->failed,
                                          .failed_user = options->failed_user};
    HD_TRY(view_session_new(&view->session, &session, err));
    HD_TRY(copy_names(view, options, err));
    view->framed = options->framed;
    if (options->listen || options->token) HD_TRY(make_token(view, err));
    HD_TRY(view_listen(view, options, err));
    HD_TRY(view_jobs_start(view, err));
    view_session_on_news(view->session, view_jobs_news, view);
    HD_TRY(start_daemons(view, err));
    return add_paths(view, paths, count, options->summaries, err);
}

/* The threads of the view get no signals: they are for the program. */
hd_status view_start(hd_view **out, const char *const *paths, size_t count, const hd_view_options *options,
                     const view_limits *limits, hd_error *err)
{
    const hd_view_options none = {0};
    sigset_t all, before;
    hd_view *view = calloc(1, sizeof *view);
    *out = NULL;
    if (!view) return HD_NOMEM(err);
    view->limits = *limits;
    view->sockets[0] = view->sockets[1] = -1;
    pthread_mutex_init(&view->lock, NULL);
    view_condition_init(&view->work);
    view_condition_init(&view->watch);
    view_condition_init(&view->idle);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    hd_status status = start(view, paths, count, options ? options : &none, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != HD_OK) {
        hd_view_free(view);
        return status;
    }
    *out = view;
    return HD_OK;
}

hd_status hd_view_start(hd_view **out, const char *const *paths, size_t count, const hd_view_options *options,
                        hd_error *err)
{
    const view_limits limits = VIEW_LIMITS;
    *out = NULL;
    HD_OWN_OPTIONS(hd_view_options, options, err);
    return view_start(out, paths, count, options, &limits, err);
}

/* ---- asking ---- */

const char *hd_view_url(const hd_view *view)
{
    return view->url;
}

uint16_t hd_view_port(const hd_view *view)
{
    return view->port;
}

const char *hd_view_token(const hd_view *view)
{
    return view->token[0] ? view->token : NULL;
}

size_t hd_view_reading(const hd_view *view)
{
    return view_session_count_of(view->session, VIEW_READING) + view_ranks_waiting(view_session_ranks(view->session));
}

size_t hd_view_failures(const hd_view *view)
{
    return view_session_failures(view->session) + view_ranks_failures(view_session_ranks(view->session));
}

void hd_view_progress(uint64_t *out_done, uint64_t *out_total, const hd_view *view)
{
    view_session_progress(out_done, out_total, view->session);
}

/* ---- stopping ---- */

/* New connections are refused; existing ones get an answer, or are closed. */
static bool stop_serving(hd_view *view, unsigned milliseconds)
{
    for (unsigned i = 0; i < view->daemon_count && !view->is_quiet; i++) {
        MHD_socket socket = MHD_quiesce_daemon(view->daemons[i]);
        if (socket != MHD_INVALID_SOCKET) close(socket);
    }
    view->is_quiet = true;
    if (!view_jobs_stop(view, milliseconds)) return false;
    while (view->daemon_count) MHD_stop_daemon(view->daemons[--view->daemon_count]);
    for (unsigned i = 0; i < 2; i++) {
        if (view->sockets[i] >= 0) close(view->sockets[i]);
        view->sockets[i] = -1;
    }
    return true;
}

bool hd_view_stop(hd_view *view, unsigned milliseconds)
{
    const struct timespec tick = {.tv_nsec = 5000000};
    int64_t until = hd_now_ms() + milliseconds;
    if (view->session) view_session_stop(view->session);
    if (!view->is_stopped) view->is_stopped = stop_serving(view, milliseconds);
    if (!view->is_stopped) return false;
    while (view->session && !view_session_is_idle(view->session)) {
        if (hd_now_ms() >= until) return false;
        nanosleep(&tick, NULL);
    }
    return true;
}

void hd_view_free(hd_view *view)
{
    if (!view) return;
    while (!hd_view_stop(view, 1000)) continue;
    if (view->session) view_session_on_news(view->session, NULL, NULL);
    view_session_free(view->session);
    pthread_cond_destroy(&view->idle);
    pthread_cond_destroy(&view->watch);
    pthread_cond_destroy(&view->work);
    pthread_mutex_destroy(&view->lock);
    free(view->hostname);
    free(view->listen);
    free(view->url);
    free(view);
}
