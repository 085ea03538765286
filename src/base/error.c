/* error.c - the caller-owned error */
#include "base/error.h"

#include <stdarg.h>
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
    }
    return "unknown status";
}

void hd_error_set_path(hd_error *err, const char *path)
{
    size_t size = strlen(path);
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
