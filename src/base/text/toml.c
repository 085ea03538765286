/* toml.c - a strict reader of a subset of TOML */
#include "base/text/toml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/text/utf8.h"

hd_status hd_toml_refuse(const hd_toml *t, const char *at, const char *form, ...)
{
    char what[HD_ERROR_MESSAGE_BYTES];
    size_t line = 1;
    va_list arguments;
    for (const char *p = t->text; p < at; p++) line += *p == '\n';
    va_start(arguments, form);
    vsnprintf(what, sizeof what, form, arguments);
    va_end(arguments);
    return hd_error_set(t->err, HD_ERR_FORMAT, t->name, HD_OFFSET_NONE, "line %zu: %.220s", line, what);
}

static hd_status check_bytes(const hd_toml *t)
{
    if (!hd_utf8_valid(t->text, (size_t)(t->end - t->text), false))
        return hd_error_set(t->err, HD_ERR_FORMAT, t->name, HD_OFFSET_NONE, "this is not text in UTF-8");
    for (const char *p = t->text; p < t->end; p++) {
        bool ends_line = *p == '\n' || (*p == '\r' && p[1] == '\n');
        if (!ends_line && *p != '\t' && ((unsigned char)*p < ' ' || *p == 0x7f))
            return hd_toml_refuse(t, p, "a control character (%u)", (unsigned)*p);
    }
    return HD_OK;
}

hd_status hd_toml_open(hd_toml *out, const char *text, size_t size, const char *name, hd_arena *texts, hd_error *err)
{
    if (size > HD_TOML_BYTES)
        return hd_error_set(err, HD_ERR_LIMIT, name, HD_OFFSET_NONE, "more than %d bytes", HD_TOML_BYTES);
    char *copy = calloc(1, size + HD_JSON_PADDING);
    if (!copy) return HD_NOMEM(err);
    if (size) memcpy(copy, text, size);
    *out = (hd_toml){.text = copy, .p = copy, .end = copy + size, .name = name, .texts = texts, .err = err};
    hd_status status = check_bytes(out);
    if (status != HD_OK) hd_toml_close(out);
    return status;
}

void hd_toml_close(hd_toml *t)
{
    free((char *)(uintptr_t)t->text);
    t->text = NULL;
}

static void skip_blanks(hd_toml *t)
{
    while (*t->p == ' ' || *t->p == '\t') t->p++;
}

bool hd_toml_more(hd_toml *t)
{
    for (;; t->p++) {
        if (*t->p == '#') t->p += strcspn(t->p, "\n");
        if (!hd_json_is_space(*t->p)) return t->p < t->end;
    }
}

hd_status hd_toml_end_line(hd_toml *t)
{
    skip_blanks(t);
    if (*t->p == '#') t->p += strcspn(t->p, "\n");
    if (*t->p == '\r') t->p++;
    if (t->p == t->end || *t->p == '\n') return HD_OK;
    int size = (int)strcspn(t->p, "\r\n");
    return hd_toml_refuse(t, t->p, "'%.*s' stands where only a comment may", size < 40 ? size : 40, t->p);
}

size_t hd_toml_key_size(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
}

hd_status hd_toml_head(hd_json_span *out, hd_toml *t)
{
    size_t size = strncmp(t->p, "[[", 2) == 0 ? hd_toml_key_size(t->p + 2) : 0;
    *out = (hd_json_span){t->p + 2, size};
    if (!size || strncmp(t->p + 2 + size, "]]", 2) != 0) *out = (hd_json_span){"", 0};
    if (out->size) t->p += size + 4;
    return HD_OK;
}

hd_status hd_toml_key(hd_json_span *out, hd_toml *t)
{
    *out = (hd_json_span){t->p, hd_toml_key_size(t->p)};
    t->p += out->size;
    skip_blanks(t);
    if (*t->p != '=') return hd_toml_refuse(t, t->p, "a key is followed by =");
    t->p++;
    skip_blanks(t);
    return HD_OK;
}

hd_status hd_toml_string(hd_json_span *out, hd_toml *t, const char *form)
{
    const char *start = t->p + 1;
    char *text = *t->p == '"' ? hd_arena_alloc(t->texts, strcspn(start, "\n") + 1) : NULL;
    size_t size = 0;
    if (*t->p != '"') return hd_toml_refuse(t, t->p, "%s", form);
    if (!text) return HD_NOMEM(t->err);
    for (t->p++; *t->p != '"'; t->p++) {
        if (*t->p == '\\' && t->p[1] != '"' && t->p[1] != '\\')
            return hd_toml_refuse(t, t->p, "of escapes only \\\" and \\\\ are known");
        t->p += *t->p == '\\';
        if (t->p == t->end || *t->p == '\n' || *t->p == '\r')
            return hd_toml_refuse(t, start, "a string without its end");
        text[size++] = *t->p;
    }
    t->p++;
    text[size] = '\0';
    *out = (hd_json_span){text, size};
    return size ? HD_OK : hd_toml_refuse(t, start, "a name is empty");
}

hd_status hd_toml_strings(hd_toml *t, const char *form, hd_status (*add)(void *user, hd_json_span text, const char *at),
                          void *user)
{
    hd_json_span text;
    if (*t->p != '[') return hd_toml_refuse(t, t->p, "%s", form);
    t->p++;
    hd_toml_more(t);
    do {
        const char *at = t->p;
        HD_TRY(hd_toml_string(&text, t, form));
        HD_TRY(add(user, text, at));
        hd_toml_more(t);
        bool more = *t->p == ',';
        t->p += more;
        hd_toml_more(t);
        if (!more && *t->p != ']')
            return hd_toml_refuse(t, t->p, "a name is followed by a comma, or by the ] that ends the array");
    } while (*t->p != ']');
    t->p++;
    return HD_OK;
}

/* ---- files ---- */

/* Up to HD_TOML_BYTES + 1 bytes. */
static hd_status read_input(char *text, size_t *size, hd_input *input, hd_error *err)
{
    size_t more;
    hd_status status = HD_OK;
    *size = 0;
    while (*size <= HD_TOML_BYTES && status == HD_OK) {
        status = hd_input_next(input, text + *size, HD_TOML_BYTES + 1 - *size, &more, err);
        if (status == HD_OK) *size += more;
    }
    if (status != HD_END) return status;
    const hd_input_damage *damage = hd_input_damage_at(input, 0);
    if (!damage) return HD_OK;
    return hd_error_set(err, HD_ERR_DAMAGED, hd_input_path(input), damage->offset, "%s", damage->code);
}

hd_status hd_toml_read_file(char **out, size_t *out_size, const char *path, hd_error *err)
{
    hd_input *input;
    HD_TRY(hd_input_open(&input, path, NULL, err));
    *out = malloc(HD_TOML_BYTES + 1);
    hd_status status = *out ? read_input(*out, out_size, input, err) : HD_NOMEM(err);
    hd_input_close(input);
    if (status == HD_OK) return HD_OK;
    free(*out);
    *out = NULL;
    return status;
}
