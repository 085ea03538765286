/* reply.c - the answer of a route as it is sent: status, compression, headers */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "view/server/impl.h"

enum { WORTH_PACKING = 1024 };

static const char cache_for_ever[] = "private, max-age=31536000, immutable";

/* ---- running a route (on a worker) ---- */

static void pack(view_job *job, hd_compressor *compressor)
{
    view_reply *reply = &job->reply;
    hd_bytes packed = {0};
    hd_status status = HD_ERR_UNSUPPORTED;
    if (reply->is_packed || reply->bytes.size < WORTH_PACKING || atomic_load(&job->gone)) return;
    if (job->zstd && compressor) {
        job->encoding = "zstd";
        status = hd_compress(&packed, compressor, reply->bytes.data, reply->bytes.size, NULL);
    } else if (job->gzip) {
        job->encoding = "gzip";
        status = hd_gzip_compress(&packed, reply->bytes.data, reply->bytes.size, NULL);
    }
    if (status == HD_OK && packed.size < reply->bytes.size) {
        hd_bytes_deinit(&reply->bytes);
        reply->bytes = packed;
        return;
    }
    job->encoding = NULL;
    hd_bytes_deinit(&packed);
}

void view_job_run(view_job *job, hd_compressor *compressor)
{
    view_reply *reply = &job->reply;
    view_reply_run(reply, job->route, &job->request);
    job->has_run = true;
    if (reply->file) return;
    pack(job, compressor);
}

/* ---- responses ---- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    MHD_add_response_header(response, name, value);
}

/* Headers of every answer. The web UI may load only its own files, and no other site may show or use them, except, with
 * `framed`, pages of this machine. */
static struct MHD_Response *guard(struct MHD_Response *response, bool framed)
{
#define POLICY(ancestors)                                                                                              \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "        \
    "worker-src 'self'; base-uri 'none'; frame-ancestors " ancestors "; form-action 'none'"
    if (!response) return NULL;
    add_header(response, "Content-Security-Policy",
               framed ? POLICY("http://localhost:* http://127.0.0.1:* http://[::1]:* vscode-webview:")
                      : POLICY("'none'"));
#undef POLICY
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "Referrer-Policy", "no-referrer");
    add_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    return response;
}

struct MHD_Response *view_error_response(const char *text)
{
    hd_json_out json = {0};
    view_put_error(&json, text);
    if (json.failed) {
        free(json.data);
        return NULL;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(json.size, json.data, MHD_RESPMEM_MUST_FREE);
    if (!response) free(json.data);
    if (response) {
        add_header(response, "Content-Type", "application/json");
        add_header(response, "Cache-Control", "no-store");
    }
    return guard(response, false);
}

/* attachment; with the name in plain letters for old programs, and as it is in UTF-8. */
static void add_file_name(struct MHD_Response *response, const char *name)
{
    hd_json_out plain = {0};
    char escaped[4];
    hd_json_put_text(&plain, "attachment; filename=\"");
    for (const char *c = name; *c; c++) {
        bool safe = isascii((unsigned char)*c) && (isalnum((unsigned char)*c) || strchr("-_. ", *c));
        hd_json_put(&plain, safe ? c : "_", 1);
    }
    hd_json_put_text(&plain, "\"; filename*=UTF-8''");
    for (const char *c = name; *c; c++) {
        bool safe = isascii((unsigned char)*c) && (isalnum((unsigned char)*c) || strchr("-_.", *c));
        snprintf(escaped, sizeof escaped, "%%%02X", (unsigned char)*c);
        hd_json_put(&plain, safe ? c : escaped, safe ? 1 : 3);
    }
    hd_json_put(&plain, "", 1);
    if (!plain.failed) add_header(response, "Content-Disposition", plain.data);
    free(plain.data);
}

static struct MHD_Response *body_of(view_reply *reply)
{
    struct MHD_Response *response;
    if (reply->file) {
        struct stat about;
        if (fstat(reply->file - 1, &about) != 0) return NULL;
        response = MHD_create_response_from_fd64((uint64_t)about.st_size, reply->file - 1);
        if (response) reply->file = 0;
        return response;
    }
    response = MHD_create_response_from_buffer(reply->bytes.size, reply->bytes.data ? (void *)reply->bytes.data : "",
                                               reply->bytes.data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response) reply->bytes = (hd_bytes){0};
    return response;
}

struct MHD_Response *view_job_response(view_job *job, unsigned *out_status)
{
    view_reply *reply = &job->reply;
    *out_status = reply->status ? reply->status : 200;
    struct MHD_Response *response = body_of(reply);
    if (!response) return NULL;
    add_header(response, "Content-Type", reply->type ? reply->type : "application/json");
    add_header(response, "Cache-Control", reply->immutable && *out_status == 200 ? cache_for_ever : "no-store");
    add_header(response, "Vary", "Accept-Encoding");
    if (job->encoding) add_header(response, "Content-Encoding", job->encoding);
    if (reply->file_name) add_file_name(response, reply->file_name);
    return guard(response, false);
}

static struct MHD_Response *page_body(const view_page_file *file, bool packed)
{
    hd_bytes plain = {0};
    if (!file->gzip || packed)
        return MHD_create_response_from_buffer(file->size, (void *)(uintptr_t)file->data, MHD_RESPMEM_PERSISTENT);
    if (hd_gzip_decompress(&plain, file->data, file->size, SIZE_MAX / 2, NULL) != HD_OK) {
        hd_bytes_deinit(&plain);
        return NULL;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(plain.size, plain.data, MHD_RESPMEM_MUST_FREE);
    if (!response) hd_bytes_deinit(&plain);
    return response;
}

struct MHD_Response *view_page_response(const view_page_file *file, const view_job *job, const char *if_none_match,
                                        unsigned *out_status)
{
    char etag[32];
    bool packed = file->gzip && job->gzip;
    snprintf(etag, sizeof etag, "\"%016llx%s\"", (unsigned long long)hd_checksum(file->data, file->size),
             packed ? "z" : "");
    bool same = view_etag_matches(if_none_match, etag);
    struct MHD_Response *response =
        same ? MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT) : page_body(file, packed);
    if (!response) return NULL;
    *out_status = same ? 304 : 200;
    if (!same) add_header(response, "Content-Type", file->type);
    if (!same && packed) add_header(response, "Content-Encoding", "gzip");
    add_header(response, "ETag", etag);
    add_header(response, "Vary", "Accept-Encoding");
    add_header(response, "Cache-Control", "private, no-cache");
    if (job->view->shows_job &&
        strcmp(file->path, "/index.html") == 0) /* the browser requests it before the script runs */
        add_header(response, "Link", "<api/job?revision=1&figures=time>; rel=preload; as=fetch; crossorigin=anonymous");
    return guard(response, job->view->framed);
}
