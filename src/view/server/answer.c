/* answer.c - a request from its first byte to the last of its answer, as libmicrohttpd calls us */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "view/server/impl.h"

enum { FREE_PART = 20, FREE_AT_MOST = 1 << 30 }; /* of a disk stays free: a twentieth, or 1 GiB */

/* ---- connections and requests come and go ---- */

static uint64_t address_of(const struct sockaddr *from)
{
    uint32_t v4;
    uint64_t address = 0;
    if (from->sa_family == AF_INET) {
        memcpy(&v4, &((const struct sockaddr_in *)from)->sin_addr, sizeof v4);
        return v4;
    }
    if (from->sa_family != AF_INET6) return 0;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)from)->sin6_addr;
    memcpy(&address, v6->s6_addr, sizeof address);
    return address;
}

void view_answer_connection(void *user, struct MHD_Connection *connection, void **slot,
                            enum MHD_ConnectionNotificationCode what)
{
    hd_view *view = user;
    view_client *client = *slot;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *slot = client = info ? calloc(1, sizeof *client) : NULL;
        if (!client) return; /* without one every request is refused */
        client->view = view;
        client->fd = info->connect_fd;
        info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        if (info && info->client_addr) client->address = address_of(info->client_addr);
        client->deadline_ms = hd_now_ms() + view->limits.slow_ms;
        pthread_mutex_lock(&view->lock);
        client->next = view->clients;
        if (client->next) client->next->previous = client;
        view->clients = client;
        view->client_count++;
        view_client_make_room(view);
        if (!client->next) pthread_cond_signal(&view->watch);
        pthread_mutex_unlock(&view->lock);
    } else if (client) {
        pthread_mutex_lock(&view->lock);
        *(client->previous ? &client->previous->next : &view->clients) = client->next;
        if (client->next) client->next->previous = client->previous;
        view->client_count--;
        pthread_mutex_unlock(&view->lock);
        free(client);
        *slot = NULL;
    }
}

void *view_answer_begin(void *user, const char *uri, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    view_job *job = info && info->socket_context ? calloc(1, sizeof *job) : NULL;
    if (!job) return NULL;
    job->view = user;
    job->client = info->socket_context;
    job->connection = connection;
    job->body = -1;
    job->started_ms = hd_now_ms();
    view_target_parse(&job->target, uri, strlen(uri), &job->err);
    return job;
}

void view_answer_end(void *user, struct MHD_Connection *connection, void **slot, enum MHD_RequestTerminationCode why)
{
    view_job *job = *slot;
    (void)user;
    (void)connection;
    (void)why;
    if (!job) return;
    view_client_deadline(job->client, hd_now_ms() + job->view->limits.slow_ms);
    view_reply_deinit(&job->reply);
    view_target_deinit(&job->target);
    if (job->body >= 0) close(job->body);
    free(job);
    *slot = NULL;
}

/* ---- answers ---- */

static const char *header(const view_job *job, const char *name)
{
    return MHD_lookup_connection_value(job->connection, MHD_HEADER_KIND, name);
}

/* Takes the response; NULL ends the connection. */
static enum MHD_Result send_response(view_job *job, unsigned status, struct MHD_Response *response, uint64_t size)
{
    if (!response) return MHD_NO;
    if (status == 401) MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == 405) MHD_add_response_header(response, "Allow", job->route ? job->route->method : "GET, HEAD");
    if (job->state == VIEW_JOB_BODY) MHD_add_response_header(response, "Connection", "close");
    job->state = VIEW_JOB_SENT;
    view_client_deadline(job->client, hd_now_ms() + job->view->limits.slow_ms + (int64_t)(size / VIEW_SLOW_BYTES_A_MS));
    enum MHD_Result result = MHD_queue_response(job->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(view_job *job, unsigned status, const char *text)
{
    return send_response(job, status, view_error_response(text), 0);
}

static enum MHD_Result send_reply(view_job *job)
{
    unsigned status;
    uint64_t size = job->reply.bytes.size;
    if (atomic_load(&job->gone) && !job->view->stopping) return MHD_NO;
    if (!job->has_run) return refuse(job, 503, "the server is stopping");
    if (job->reply.file) size = (uint64_t)lseek(job->reply.file - 1, 0, SEEK_END);
    struct MHD_Response *response = view_job_response(job, &status);
    return send_response(job, status, response, size);
}

static enum MHD_Result send_page(view_job *job)
{
    unsigned status = 404;
    const view_page_file *file = view_page_find(job->target.path);
    if (!file)
        return refuse(job, 404,
                      hd_view_has_page() || strcmp(job->target.path, "/") != 0
                          ? "no such page"
                          : "this heddle was built without its page");
    struct MHD_Response *response = view_page_response(file, job, header(job, "If-None-Match"), &status);
    if (response && job->view->token[0] && view_target_param(&job->target, "token")) {
        char cookie[128];
        snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", job->view->cookie,
                 job->view->token);
        MHD_add_response_header(response, "Set-Cookie", cookie);
    }
    return send_response(job, status, response, file->size);
}

/* ---- who may ask ---- */

/* 0: access is allowed; else a status, and the reason. */
static unsigned look_at_client(const view_job *job, const char **why)
{
    const hd_view *view = job->view;
    const char *path = job->target.path, *host = header(job, "Host");
    bool is_page = !path || strncmp(path, "/api/", 5) != 0;
    if (!view_host_is_ours(host, &view->names)) {
        *why = "the Host header does not name this server: open it as localhost, or as what --listen was given";
        return 403;
    }
    if (!view_origin_is_ours(header(job, "Origin"), host, header(job, "Sec-Fetch-Site"), header(job, "Sec-Fetch-Mode"),
                             header(job, "Sec-Fetch-Dest"), is_page, view->framed)) {
        *why = "another web site may not ask here";
        return 403;
    }
    const char *param = path && is_page ? view_target_param(&job->target, "token") : NULL;
    if (view->token[0] &&
        !view_token_is_right(view->token, header(job, "Authorization"), header(job, "Cookie"), view->cookie, param)) {
        *why = "the token is missing or wrong: open the address that heddle view printed, with its token";
        return 401;
    }
    return 0;
}

/* Whether the method fits the resource; 0, or a status, and the reason. */
static unsigned look_at_request(view_job *job, const char *method, const char **why)
{
    if (job->err.status != HD_OK || !job->target.path) {
        *why = job->err.message;
        return job->err.status == HD_ERR_MEMORY ? 503 : 400;
    }
    job->route = view_find_route(job->view->limits.routes, job->target.path);
    bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    bool wants_get = !job->route || strcmp(job->route->method, "GET") == 0;
    if (wants_get ? !is_get : strcmp(method, job->route->method) != 0) {
        *why = "no such method here";
        return 405;
    }
    const char *length = header(job, "Content-Length");
    if (wants_get && ((length && strcmp(length, "0") != 0) || header(job, "Transfer-Encoding"))) {
        *why = "a GET has no body";
        return 400;
    }
    if (!job->route && strncmp(job->target.path, "/api/", 5) == 0) {
        *why = "no such path";
        return 404;
    }
    return 0;
}

/* ---- bodies ---- */

static uint64_t room_at(int fd)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0) return UINT64_MAX;
    uint64_t all = (uint64_t)disk.f_blocks * disk.f_frsize, room = (uint64_t)disk.f_bavail * disk.f_frsize;
    uint64_t kept = all / FREE_PART < FREE_AT_MOST ? all / FREE_PART : FREE_AT_MOST;
    return room > kept ? room - kept : 0;
}

static enum MHD_Result too_large(view_job *job)
{
    return refuse(job, 413,
                  "the file is larger than the room for temporary files: set TMPDIR to a folder with more, or "
                  "open it with heddle view");
}

static enum MHD_Result begin_body(view_job *job)
{
    job->state = VIEW_JOB_BODY;
    const char *length = header(job, "Content-Length");
    if (hd_temporary_nameless(&job->body, &job->err) != HD_OK) {
        job->body = -1;
        return refuse(job, 503, job->err.message);
    }
    job->body_room = room_at(job->body);
    if (job->body_room > job->view->limits.body_room) job->body_room = job->view->limits.body_room;
    if (length && strtoull(length, NULL, 10) > job->body_room) return too_large(job);
    return MHD_YES;
}

/* How much of a piece could be written. */
static size_t write_body(const view_job *job, const char *data, size_t size)
{
    size_t done = 0;
    if (job->body_size + size > job->body_room) return 0;
    while (done < size) {
        ssize_t now = write(job->body, data + done, size - done);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) break;
        done += (size_t)now;
    }
    return done;
}

/* A part of the body. Clients that send less than 16 kB/s are disconnected. */
static enum MHD_Result take_body(view_job *job, const char *data, size_t *size)
{
    int64_t soon = hd_now_ms() + job->view->limits.slow_ms;
    size_t done = job->body_lost ? 0 : write_body(job, data, *size);
    job->body_size += done;
    job->body_lost += *size - done;
    *size = 0;
    if (job->body_lost > VIEW_LOST_BYTES) return MHD_NO;
    int64_t late = job->started_ms + job->view->limits.slow_ms +
                   (int64_t)((job->body_size + job->body_lost) / VIEW_SLOW_BYTES_A_MS);
    view_client_deadline(job->client, late < soon ? late : soon);
    return MHD_YES;
}

/* ---- a request ---- */

static enum MHD_Result begin(view_job *job, const char *method)
{
    const char *why = NULL, *encodings = header(job, "Accept-Encoding");
    unsigned status = look_at_client(job, &why);
    if (!status) status = look_at_request(job, method, &why);
    bool has_body = job->route && strcmp(job->route->method, "POST") == 0;
    job->gzip = view_accepts(encodings, "gzip");
    job->zstd = view_accepts(encodings, "zstd");
    if (status) {
        job->state = VIEW_JOB_BODY; /* so that the connection ends with the answer, without reading the rest */
        return refuse(job, status, why);
    }
    return has_body ? begin_body(job) : MHD_YES;
}

static enum MHD_Result answer_job(view_job *job)
{
    if (!job->route) return send_page(job);
    if (job->body_lost) return too_large(job);
    job->request = (view_request){.session = job->view->session,
                                  .path = job->target.path,
                                  .params = job->target.params,
                                  .param_count = job->target.param_count,
                                  .gone = &job->gone,
                                  .body = job->body_size ? job->body + 1 : 0};
    return view_job_queue(job) ? MHD_YES : refuse(job, 503, "the server is stopping");
}

enum MHD_Result view_answer(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *upload_data, size_t *upload_data_size, void **slot)
{
    view_job *job = *slot;
    (void)user;
    (void)connection;
    (void)url;
    (void)version;
    if (!job) return MHD_NO;
    switch (job->state) {
    case VIEW_JOB_NEW:
        if (!job->is_begun) {
            job->is_begun = true;
            return begin(job, method);
        }
        return answer_job(job);
    case VIEW_JOB_BODY: return *upload_data_size ? take_body(job, upload_data, upload_data_size) : answer_job(job);
    case VIEW_JOB_DONE: return send_reply(job);
    default: *upload_data_size = 0; return MHD_YES; /* bytes after an answer are ignored */
    }
}
