/* error.c - the caller-owned error */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *hd_status_name(hd_status status)
{
    switch (status) {
    case HD_OK: return "ok";
    case HD_END: return "end";
    case HD_ERR_ARGUMENT: return "invalid argument";
    case HD_ERR_MEMORY: return "out of memory";
    case HD_ERR_IO: return "input/output error";
    case HD_ERR_FORMAT: return "unknown format";
    case HD_ERR_DAMAGED: return "damaged input";
    case HD_ERR_LIMIT: return "limit exceeded";
    case HD_ERR_UNSUPPORTED: return "not supported";
    case HD_ERR_INTERNAL: return "internal error";
    }
    return "unknown status";
}

void hd_error_set_path(hd_error *err, const char *path)
{
    size_t size = strlen(path);
    if (!err) return;
    const char *tail = size < sizeof err->path ? path : path + size - (sizeof err->path - 1);
    snprintf(err->path, sizeof err->path, "%s", tail);
}

hd_status hd_error_set(hd_error *err, hd_status status, const char *path, uint64_t offset, const char *format, ...)
{
    if (!err || err->status != HD_OK) return status;
    err->status = status;
    err->offset = offset;
    err->cause_count = 0;
    err->path[0] = '\0';
    if (path) hd_error_set_path(err, path);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

void hd_error_add_cause(hd_error *err, const char *format, ...)
{
    if (!err || err->status == HD_OK || err->cause_count == HD_ERROR_CAUSES) return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->causes[err->cause_count++], HD_ERROR_MESSAGE_BYTES, format, args);
    va_end(args);
}

HD_PRINTF(3, 4)
static void append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

char *hd_error_text(char *out, size_t size, const hd_error *err)
{
    bool named = !err->path[0];
    out[0] = '\0';
    for (uint32_t i = err->cause_count; i-- > 0;) {
        append(out, size, "%s: ", err->causes[i]);
        named |= strstr(err->causes[i], err->path) != NULL;
    }
    if (!named) append(out, size, "%s: ", err->path);
    if (err->offset != HD_OFFSET_NONE) append(out, size, "at byte %llu: ", (unsigned long long)err->offset);
    append(out, size, "%s", err->message[0] ? err->message : hd_status_name(err->status));
    return out;
}
