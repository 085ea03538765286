/* reply.c - pieces of answers */
#include <stdlib.h>
#include <unistd.h>

#include "view/route/route.h"

void view_reply_deinit(view_reply *reply)
{
    if (reply->file) close(reply->file - 1);
    hd_bytes_deinit(&reply->bytes);
    free(reply->json.data);
    free(reply->file_name);
    *reply = (view_reply){0};
}

void view_json_key(hd_json_out *json, const char *key)
{
    char last = json->size ? json->data[json->size - 1] : '{';
    if (last != '{' && last != '[') hd_json_put(json, ",", 1);
    hd_json_put_string(json, key, strlen(key));
    hd_json_put(json, ":", 1);
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

void view_json_time(hd_json_out *json, const char *key, const view_scene *scene, int64_t time_ns)
{
    int64_t time, start = view_scene_start(scene);
    view_json_key(json, key);
    if (time_ns == HD_NO_TIME) {
        hd_json_put_text(json, "null");
        return;
    }
    if (__builtin_sub_overflow(time_ns, start, &time)) time = time_ns < start ? INT64_MIN : INT64_MAX;
    hd_json_put_int(json, time);
}
