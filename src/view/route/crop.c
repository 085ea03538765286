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
#include "pass/filter/filter.h"
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

/* What is written: a range of time, and which tracks. */
typedef struct crop_question {
    const view_scene *scene;
    hd_crop_window window;
    const char *extension;
    uint8_t *wanted; /* by track of the scene; NULL: all */
} crop_question;

static bool is_wanted(const void *user, hd_kind kind, uint64_t row)
{
    const crop_question *q = user;
    uint32_t track = view_scene_track_of_event(q->scene, kind, row);
    return track != HD_NONE && q->wanted[track];
}

/* Between the steps it checks whether the client is still connected. */
static hd_status crop(int *out_fd, const view_request *request, const crop_question *q, hd_error *err)
{
    hd_trace *cropped = NULL, *chosen = NULL;
    hd_pass_result result;
    hd_filter filter = {.stays = is_wanted, .user = q};
    const hd_trace *trace = view_scene_trace(q->scene);
    if (view_request_gone(request)) return gone(err);
    if (q->wanted) HD_TRY(hd_filter_trace(&chosen, &result, trace, &filter, err));
    hd_status status = hd_crop(&cropped, &result, chosen ? chosen : trace, &q->window, err);
    hd_trace_free(chosen);
    if (status == HD_OK)
        status = view_request_gone(request) ? gone(err) : write_nameless(out_fd, cropped, q->extension, err);
    hd_trace_free(cropped);
    return status;
}

static hd_status answer(view_reply *reply, const view_request *request, const crop_question *q, const char *name,
                        hd_error *err)
{
    view_queries *queries = view_scene_queries(q->scene);
    char plain[NAME_BYTES];
    int fd = -1;
    pthread_mutex_lock(&queries->lock_crop);
    hd_status status = crop(&fd, request, q, err);
    pthread_mutex_unlock(&queries->lock_crop);
    if (status != HD_OK) return status;
    plain_name(plain, name);
    int64_t start = view_scene_start(q->scene);
    if (asprintf(&reply->file_name, "%s-crop-%" PRId64 "-%" PRId64 ".%s", plain, view_length(start, q->window.from_ns),
                 view_length(start, q->window.until_ns), q->extension) < 0) {
        reply->file_name = NULL;
        close(fd);
        return HD_NOMEM(err);
    }
    reply->file = fd + 1;
    reply->is_packed = strcmp(q->extension, "json") != 0;
    reply->type = strcmp(q->extension, "json") == 0 ? "application/json" : "application/octet-stream";
    return HD_OK;
}

static hd_status read_tracks(crop_question *q, view_reply *reply, const view_request *request, hd_error *err)
{
    uint32_t *tracks;
    size_t count;
    if (!view_param_text(request, "tracks")) return HD_OK;
    HD_TRY(view_param_tracks(&tracks, &count, reply, request, q->scene, err));
    q->wanted = calloc((size_t)view_scene_track_count(q->scene) + 1, 1);
    for (size_t i = 0; i < count && q->wanted; i++) q->wanted[tracks[i]] = 1;
    free(tracks);
    return q->wanted ? HD_OK : HD_NOMEM(err);
}

hd_status view_route_crop(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    unsigned format;
    int64_t clip, trace;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    crop_question q = {.scene = scene};
    HD_TRY(view_param_int(&trace, request, "trace", 0, UINT32_MAX, err));
    HD_TRY(view_param_word(&format, request, "format", formats, err));
    HD_TRY(view_param_int_or(&clip, request, "clip", 0, 1, 0, err));
    HD_TRY(view_param_range(&q.window.from_ns, &q.window.until_ns, request, scene, err));
    if (q.window.from_ns >= q.window.until_ns)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "until: is not after from, so there is nothing to crop");
    HD_TRY(read_tracks(&q, reply, request, err));
    q.window.clip = clip == 1;
    q.extension = formats[format];
    const char *name = view_session_name(request->session, (uint32_t)trace);
    hd_status status = answer(reply, request, &q, name ? name : "trace", err);
    free(q.wanted);
    return status;
}
