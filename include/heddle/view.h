/* view.h - the page: a web server for one person who looks at traces
 *
 *   hd_view *view;
 *   if (hd_view_start(&view, paths, count, &options, &err) != HD_OK) …
 *   printf("%s\n", hd_view_url(view));
 *   …
 *   if (hd_view_stop(view, 1000)) hd_view_free(view);
 *
 * The server answers from threads of its own, and reads the files while it already answers. What it says to the page is
 * docs/view-protocol.md. It changes no file, and sends nothing anywhere by itself. Requests take and free much memory
 * for a moment: with glibc, `mallopt(M_ARENA_MAX, 2)` and a fixed M_MMAP_THRESHOLD, as `heddle view` has them, give it
 * back.
 *
 * Who may ask: by default this machine alone (127.0.0.1 and ::1). The Host header must be a name of that address, and
 * requests that another web site makes are refused. With `listen` or `token` every request must carry the token, 128
 * random bits, which the URL holds.
 */
#ifndef HEDDLE_VIEW_H
#define HEDDLE_VIEW_H

#include "heddle/format.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_VIEW_PORT = 8383 };

typedef struct hd_view hd_view;

/* A file could not be read. Called from a thread of the view, for one file at a time; `why` is borrowed. */
typedef void hd_view_failed(void *user, const char *path, const hd_error *why);

/* Zero-initialised is "this machine, any free port, no token". */
typedef struct hd_view_options {
    size_t size;        /* of this struct; see "Options" in status.h */
    const char *listen; /* address or host name to listen on instead; the token is then demanded. NULL: this machine */
    uint16_t port;      /* 0: any free one */
    bool next_port;     /* where `port` is taken, the next free one above it will do */
    bool token;         /* demand the token also on this machine, where others may have accounts */
    unsigned threads;   /* of reading, 0: one per core */
    uint64_t memory_limit; /* of reading, as in hd_read_options, for all files together; 0: 64 MiB */
    const char *binary;    /* of the files given to hd_view_start, as in hd_read_options; copied */
    hd_view_failed *failed;
    void *failed_user;
    bool summaries;     /* keep but a summary of each trace, read one after the other: the ranks of a job, which are
                           opened when they are used. Files .hds are summaries in any case */
    const char *traces; /* folder of the traces that .hds files are of; NULL: where these are. Copied */
    bool framed; /* pages of this machine (http://localhost, 127.0.0.1, ::1 of any port, an editor's views) may show the
                    page in a frame, as notebooks do */
} hd_view_options;

/* Whether this build has the page, and can serve it (libmicrohttpd). Without the page the server still answers what is
 * below /api/. */
bool hd_view_has_page(void);
bool hd_view_has_server(void);

/* Start to serve, and to read the files: one trace each, several are the ranks of one run, or .hds files (job.h).
 * options may be NULL. Paths are copied. SIGPIPE must be ignored by the process. Errors: ARGUMENT for an address that
 * cannot be listened on; IO when the port is taken, or the system gives no socket; UNSUPPORTED without libmicrohttpd;
 * MEMORY. A file that cannot be read is no error here: `failed` and the viewer report it. */
hd_status hd_view_start(hd_view **out, const char *const *paths, size_t count, const hd_view_options *options,
                        hd_error *err);

/* "http://localhost:8383/", with "?token=…" where one is demanded. Borrowed. */
const char *hd_view_url(const hd_view *view);
uint16_t hd_view_port(const hd_view *view);
/* 32 hexadecimal digits; NULL: none is demanded. Borrowed. */
const char *hd_view_token(const hd_view *view);
/* Files that are still being read; and those given to hd_view_start that could not be: whoever asks the server to read
 * something else, as by dropping a file on the page, changes nothing about these. */
size_t hd_view_reading(const hd_view *view);
size_t hd_view_failures(const hd_view *view);

/* Stop answering, and end all threads; waits for that at most so many milliseconds. False: some file is still
 * being read (reading cannot be broken off), or a request still worked on. May be called again. */
bool hd_view_stop(hd_view *view, unsigned milliseconds);
/* Stops, waits for as long as that takes, and frees. NULL is fine. */
void hd_view_free(hd_view *view);

#ifdef __cplusplus
}
#endif
#endif
