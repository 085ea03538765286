/* engine.c - answers requests of the web UI without a server */
#include "view/engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/read_at.h"
#include "base/io/temporary.h"
#include "base/system.h"
#include "view/route/route.h"
#include "view/server/http.h"
#include "view/server/run.h"
#include "view/session/session.h"

struct hd_engine {
    view_session *session;
    view_reply reply;
};

void *hd_engine_room(size_t size)
{
    return malloc(size ? size : 1);
}

void hd_engine_give(void *room)
{
    free(room);
}

hd_engine *hd_engine_begin(double memory_limit)
{
    hd_engine *engine = calloc(1, sizeof *engine);
    const view_session_options options = {.threads = 1, .memory_limit = (uint64_t)memory_limit, .is_stepped = true};
    if (engine && view_session_new(&engine->session, &options, NULL) == HD_OK) return engine;
    free(engine);
    return NULL;
}

void hd_engine_end(hd_engine *engine)
{
    if (!engine) return;
    view_reply_deinit(&engine->reply);
    view_session_free(engine->session);
    free(engine);
}

int hd_engine_open(hd_engine *engine, const char *path, double memory)
{
    uint32_t id;
    return view_session_add_head(&id, engine->session, path, (uint64_t)memory, NULL) == HD_OK ? (int)id : -1;
}

void hd_engine_on_news(hd_engine *engine, void (*news)(void *user), void *user)
{
    view_session_on_news(engine->session, news, user);
}

int hd_engine_step(hd_engine *engine)
{
    return view_session_step(engine->session);
}

/* ---- requests ---- */

/* Routes read a body from a file. */
static hd_status put_body(int *out_fd, const void *body, size_t size, hd_error *err)
{
    HD_TRY(hd_temporary_nameless(out_fd, err));
    return hd_write_at(*out_fd, body, size, 0) ? HD_OK : HD_NOMEM(err);
}

/* A body that is a file becomes bytes. */
static bool take_file(view_reply *reply)
{
    int fd = reply->file - 1;
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *room = size >= 0 ? hd_bytes_room(&reply->bytes, (size_t)size + 1) : NULL;
    bool fine = room && hd_read_at(fd, room, (size_t)size, 0) == size;
    close(fd);
    reply->file = 0;
    reply->bytes.size = fine ? (size_t)size : 0;
    return fine;
}

static void refuse(view_reply *reply, unsigned status, const char *why)
{
    hd_json_out json = {0};
    view_reply_deinit(reply);
    view_put_error(&json, why);
    *reply = (view_reply){.status = status, .type = "application/json"};
    reply->bytes = (hd_bytes){.data = (uint8_t *)json.data, .size = json.size, .capacity = json.capacity};
}

static void answer(hd_engine *engine, const char *method, const view_target *target, int body)
{
    view_reply *reply = &engine->reply;
    const view_route *route = view_find_route(view_routes, target->path);
    const view_request request = {.session = engine->session,
                                  .path = target->path,
                                  .params = target->params,
                                  .param_count = target->param_count,
                                  .body = body + 1};
    if (!route) return refuse(reply, 404, "no such path");
    if (strcmp(method, route->method) != 0) return refuse(reply, 405, "no such method here");
    view_reply_run(reply, route, &request);
    if (reply->file && !take_file(reply)) refuse(reply, 503, "not enough memory for the answer");
}

int hd_engine_ask(hd_engine *engine, const char *method, const char *uri, const void *body, size_t body_size)
{
    view_reply *reply = &engine->reply;
    view_target target = {0};
    hd_error err = {0};
    int fd = -1;
    view_reply_deinit(reply);
    *reply = (view_reply){0};
    hd_status status = view_target_parse(&target, uri, strlen(uri), &err);
    if (status == HD_OK && body) status = put_body(&fd, body, body_size, &err);
    if (status == HD_OK)
        answer(engine, method, &target, fd);
    else
        refuse(reply, status == HD_ERR_ARGUMENT ? 400 : 503, err.message);
    if (fd >= 0) close(fd);
    view_target_deinit(&target);
    return (int)(reply->status ? reply->status : 200);
}

const void *hd_engine_data(const hd_engine *engine)
{
    return engine->reply.bytes.data;
}

size_t hd_engine_size(const hd_engine *engine)
{
    return engine->reply.bytes.size;
}

const char *hd_engine_type(const hd_engine *engine)
{
    return engine->reply.type ? engine->reply.type : "application/json";
}

const char *hd_engine_file_name(const hd_engine *engine)
{
    return engine->reply.file_name ? engine->reply.file_name : "";
}
