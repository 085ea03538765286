/* crop.c - a piece of a trace as a download
 *
 * The cropped trace is written by the formats' own writers, by way of /dev/fd, to a file without a name, which is the
 * answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/temporary.h"
#include "heddle/format.h"
#include "pass/crop/crop.h"
#include "view/queries/queries.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"
#include "view/session/session.h"

enum { NAME_BYTES = 100 };

static const char *const formats[] = {"heddle", "json", "json.gz", "pftrace", NULL};

/* To an unnamed file: so nothing is left on the disk when the server ends in between. */
static hd_status write_nameless(int *out_fd, const hd_trace *trace, const char *format, hd_error *err)
{
    char path[32];
    hd_write_options options = {.gzip = strcmp(format, "json.gz") == 0};
    options.format = strncmp(format, "json", 4) == 0 ? "chrome" : strcmp(format, "pftrace") == 0 ? "perfetto" : format;
    HD_TRY(hd_temporary_nameless(out_fd, err));
    snprintf(path, sizeof path, "/dev/fd/%d", *out_fd);
    hd_status status = hd_trace_write(trace, path, &options, err);
    if (status == HD_OK && lseek(*out_fd, 0, SEEK_SET) == 0) return HD_OK;
    if (status == HD_OK)
        status =
            hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "cannot read what was written: %s", strerror(errno));
    close(*out_fd);
    return status;
}

/* "mtia_rank_0.json.gz" -> "mtia_rank_0", without characters that are invalid in a file name. */
static void plain_name(char out[NAME_BYTES], const char *name)
{
    static const char *const extensions[] = {".gz", ".zst", ".json", ".heddle", ".pftrace", NULL};
    const char *slash = strrchr(name, '/');
    size_t size = 0;
    for (const char *p = slash ? slash + 1 : name; *p && size + 1 < NAME_BYTES; p++) {
        bool fine = (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') ||
                    (strchr("._-", *p) && size > 0);
        out[size++] = fine ? *p : '_';
    }
    for (int i = 0; extensions[i]; i++) {
        size_t length = strlen(extensions[i]);
        if (size > length && memcmp(out + size - length, extensions[i], length) == 0) size -= length;
    }
    out[size] = '\0';
    if (size == 0) snprintf(out, NAME_BYTES, "trace");
}

static hd_status gone(hd_error *err)
{
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
}

/* Between the steps it checks whether the client is still connected. */
static hd_status crop(int *out_fd, const view_request *request, const view_scene *scene, const hd_crop_window *window,
                      const char *extension, hd_error *err)
{
    hd_trace *cropped;
    hd_pass_result result;
    if (view_request_gone(request)) return gone(err);
    HD_TRY(hd_crop(&cropped, &result, view_scene_trace(scene), window, err));
    hd_status status = view_request_gone(request) ? gone(err) : write_nameless(out_fd, cropped, extension, err);
    hd_trace_free(cropped);
    return status;
}

static hd_status answer(view_reply *reply, const view_request *request, const view_scene *scene,
                        const hd_crop_window *window, const char *name, const char *extension, hd_error *err)
{
    view_queries *queries = view_scene_queries(scene);
    char plain[NAME_BYTES];
    int fd = -1;
    pthread_mutex_lock(&queries->lock_crop);
    hd_status status = crop(&fd, request, scene, window, extension, err);
    pthread_mutex_unlock(&queries->lock_crop);
    if (status != HD_OK) return status;
    plain_name(plain, name);
    if (asprintf(&reply->file_name, "%s-crop-%" PRId64 "-%" PRId64 ".%s", plain,
                 view_length(view_scene_start(scene), window->from_ns),
                 view_length(view_scene_start(scene), window->until_ns), extension) < 0) {
        reply->file_name = NULL;
        close(fd);
        return HD_NOMEM(err);
    }
    reply->file = fd + 1;
    reply->is_packed = strcmp(extension, "json") != 0;
    reply->type = strcmp(extension, "json") == 0 ? "application/json" : "application/octet-stream";
    return HD_OK;
}

hd_status view_route_crop(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    hd_crop_window window = {0};
    unsigned format;
    int64_t clip, trace;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_int(&trace, request, "trace", 0, UINT32_MAX, err));
    HD_TRY(view_param_word(&format, request, "format", formats, err));
    HD_TRY(view_param_int_or(&clip, request, "clip", 0, 1, 0, err));
    HD_TRY(view_param_range(&window.from_ns, &window.until_ns, request, scene, err));
    if (window.from_ns >= window.until_ns)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "until: is not behind from, so there is nothing to crop");
    window.clip = clip == 1;
    const char *name = view_session_name(request->session, (uint32_t)trace);
    return answer(reply, request, scene, &window, name ? name : "trace", formats[format], err);
}
