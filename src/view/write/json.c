/* json.c - members of objects */
#include "view/write/json.h"
#include "base/text/double.h"

#include <math.h>
#include <string.h>

#include "heddle/names.h"

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

void view_json_digits(hd_json_out *json, const char *key, int64_t value)
{
    view_json_key(json, key);
    hd_json_put_text(json, "\"");
    hd_json_put_int(json, value);
    hd_json_put_text(json, "\"");
}

void view_json_double(hd_json_out *json, const char *key, double value)
{
    char text[HD_DOUBLE_BYTES];
    view_json_key(json, key);
    hd_json_put_text(json, isfinite(value) ? hd_double_text(text, value) : "null");
}

void view_json_bool(hd_json_out *json, const char *key, bool value)
{
    view_json_key(json, key);
    hd_json_put_text(json, value ? "true" : "false");
}

void view_json_short(hd_json_out *json, const char *key, hd_string name)
{
    char text[HD_NAME_BYTES];
    size_t size = hd_name_label(text, hd_name_plain(name));
    if (size == name.size && memcmp(text, name.data, size) == 0) return;
    view_json_text(json, key, (hd_string){text, size});
}
