/* stand_in.c - what scene.c, params.c and reply.c will hold, as far as the server cannot be linked without it; goes
 * when they come */
#include <stdlib.h>

#include "base/error.h"
#include "view/route.h"

void view_reply_deinit(view_reply *reply)
{
    hd_bytes_deinit(&reply->bytes);
    free(reply->json.data);
    free(reply->file_name);
    *reply = (view_reply){0};
}

const char *view_param_text(const view_request *request, const char *name)
{
    for (size_t i = 0; i < request->param_count; i++) {
        if (strcmp(request->params[i].name, name) == 0) return request->params[i].value;
    }
    return NULL;
}

hd_status view_param_int(int64_t *out, const view_request *request, const char *name, int64_t min, int64_t max,
                         hd_error *err)
{
    const char *text = view_param_text(request, name);
    char *end;
    if (text) *out = strtoll(text, &end, 10);
    if (!text || !*text || *end || *out < min || *out > max)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "parameter %s is missing or no number", name);
    return HD_OK;
}

hd_status view_param_int_or(int64_t *out, const view_request *request, const char *name, int64_t min, int64_t max,
                            int64_t otherwise, hd_error *err)
{
    *out = otherwise;
    return view_param_text(request, name) ? view_param_int(out, request, name, min, max, err) : HD_OK;
}

void view_json_key(hd_json_out *json, const char *key)
{
    if (json->size && json->data[json->size - 1] != '{' && json->data[json->size - 1] != '[')
        hd_json_put_text(json, ",");
    hd_json_put_string(json, key, strlen(key));
    hd_json_put_text(json, ":");
}

void view_json_text(hd_json_out *json, const char *key, hd_string text)
{
    view_json_key(json, key);
    hd_json_put_string(json, text.data, text.size);
}

void view_json_int(hd_json_out *json, const char *key, int64_t value)
{
    view_json_key(json, key);
    hd_json_put_int(json, value);
}

struct view_scene {
    hd_trace *trace;
};

hd_status view_scene_new(view_scene **out, hd_trace *trace, hd_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return HD_NOMEM(err);
    (*out)->trace = trace;
    return HD_OK;
}

void view_scene_free(view_scene *scene)
{
    if (scene) hd_trace_free(scene->trace);
    free(scene);
}

hd_status view_scene_work(view_scene *scene, const atomic_bool *stop, view_scene_news *news, void *user, hd_error *err)
{
    (void)scene;
    (void)stop;
    (void)err;
    news(user, "");
    return HD_OK;
}

const hd_trace *view_scene_trace(const view_scene *scene)
{
    return scene->trace;
}

int64_t view_scene_start(const view_scene *scene)
{
    int64_t start = hd_trace_facts_of(scene->trace)->start_ns;
    return start == HD_NO_TIME ? 0 : start;
}

int64_t view_scene_span(const view_scene *scene)
{
    int64_t end = hd_trace_facts_of(scene->trace)->end_ns;
    return end == HD_NO_TIME || end <= view_scene_start(scene) ? 1 : end - view_scene_start(scene);
}

uint32_t view_scene_revision(const view_scene *scene)
{
    (void)scene;
    return 1;
}
