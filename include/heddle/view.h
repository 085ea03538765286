/* view.h - the viewer: a web server that shows traces to one user
 *
 *   hd_view *view;
 *   if (hd_view_start(&view, paths, count, &options, &err) != HD_OK) …
 *   printf("%s\n", hd_view_url(view));
 *   …
 *   if (hd_view_stop(view, 1000)) hd_view_free(view);
 *
 * The server has its own threads and answers while it still reads the files. docs/reference/view-protocol.md is the
 * protocol between server and web UI. It changes no file, and sends nothing to other hosts by itself. Requests briefly
 * take much memory: with glibc, `mallopt(M_ARENA_MAX, 2)` and a fixed M_MMAP_THRESHOLD, as in `heddle view`, return it
 * to the system.
 *
 * Access: by default from this machine only (127.0.0.1 and ::1). The Host header must be a name of that address, and
 * requests made by other web sites are refused. With `listen` or `token` every request must carry the token, 128 random
 * bits, which the URL contains.
 */
#ifndef HEDDLE_VIEW_H
#define HEDDLE_VIEW_H

#include "heddle/format.h"
#include "heddle/options.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HD_VIEW_PORT = 8383 };

typedef struct hd_view hd_view;

/* A file could not be read. Called from a thread of the view, for one file at a time; `why` is borrowed. */
typedef void hd_view_failed(void *user, const char *path, const hd_error *why);

/* Zero-initialised: this machine only, any free port, no token. */
typedef struct hd_view_options {
    size_t size;           /* of this struct; see "Options" in status.h */
    const char *listen;    /* address or host name to listen on instead; a token is then required. NULL: this machine */
    uint16_t port;         /* 0: any free one */
    bool next_port;        /* if `port` is taken, use the next free port above it */
    bool token;            /* require the token also on this machine, where others may have accounts */
    unsigned threads;      /* for reading, 0: one per core */
    uint64_t memory_limit; /* for reading, as in hd_read_options, for all files together; 0: 64 MiB */
    const char *binary;    /* for the files given to hd_view_start, as in hd_read_options; copied */
    hd_view_failed *failed;
    void *failed_user;
    bool summaries;     /* keep only a summary of each trace, read one after the other: the ranks of a job, which are
                           opened when they are used. .hds files are always summaries */
    const char *traces; /* folder with the traces of .hds files; NULL: the folder of the .hds file. Copied */
    bool framed; /* pages of this machine (http://localhost, 127.0.0.1, ::1 of any port, an editor's views) may show the
                    viewer in a frame, as notebooks do */
    const char *counters; /* options of the pass `counters`, from the file on, for each of these files; NULL: none.
                             Copied */
    size_t diff_before;   /* so many paths are the side before of a diff, all others the side after; 0: no diff */
    const char *engine; /* engine.html, as in hd_view_save_options, with which the web UI saves traces as one HTML file;
                             NULL: it cannot. Copied */
} hd_view_options;

/* Whether this build includes the web UI and can serve it (libmicrohttpd). Without it the server still answers
 * /api/. */
bool hd_view_has_page(void);
bool hd_view_has_server(void);

/* Start the server and reading the files: traces (several are the ranks of one run) or .hds files (job.h). options may
 * be NULL. Paths are copied. SIGPIPE must be ignored by the process. Errors: ARGUMENT: the address cannot be listened
 * on; IO: the port is taken, or the system gives no socket; UNSUPPORTED without libmicrohttpd; MEMORY. An unreadable
 * file is not an error here: `failed` and the viewer report it. */
hd_status hd_view_start(hd_view **out, const char *const *paths, size_t count, const hd_view_options *options,
                        hd_error *err);

/* "http://localhost:8383/", with "?token=…" if a token is required. Borrowed. */
const char *hd_view_url(const hd_view *view);
uint16_t hd_view_port(const hd_view *view);
/* 32 hexadecimal digits; NULL: no token is required. Borrowed. */
const char *hd_view_token(const hd_view *view);
/* Number of files that are still being read, and of files given to hd_view_start that could not be read. Files that the
 * server is asked to read later, for example by dropping one on the page, do not change these. */
size_t hd_view_reading(const hd_view *view);
size_t hd_view_failures(const hd_view *view);
/* Bytes of the traces that are being read, so far and in all; both are 0 if none is, or if no size is known. */
void hd_view_progress(uint64_t *out_done, uint64_t *out_total, const hd_view *view);

/* Stop answering and end all threads; waits for this at most so many milliseconds. false: a file is still being read
 * (reading cannot be interrupted), or a request is still running. May be called again. */
bool hd_view_stop(hd_view *view, unsigned milliseconds);
/* Stops, waits as long as needed, and frees. NULL is fine. */
void hd_view_free(hd_view *view);

/* ---- without a server ---- */

typedef struct hd_view_save_options {
    size_t size;                 /* of this struct; see "Options" in status.h */
    const char *engine;          /* engine.html, as `make wasm` builds it, of this version; required */
    hd_convert_time from, until; /* as in hd_convert_options */
    const char *tracks;          /* likewise */
    const char *anonymize;       /* likewise; files are then named by their number instead of their name. NULL: none */
    const char *salt;            /* likewise; NULL: one random key for all inputs */
    unsigned threads;            /* for reading, 0: one per core */
    uint64_t memory_limit;       /* likewise, as in hd_read_options */
    hd_progress *reading;        /* as in hd_read_options, of one input after the other. NULL: none */
    void *reading_user;
    hd_progress *writing; /* as in hd_write_options, likewise */
    void *writing_user;
} hd_view_save_options;

/* Writes one HTML file with the web UI, the engine and the traces, which opens in a browser without a server; without a
 * trace it waits for one to be dropped on it. It appears whole or not at all. Errors: ARGUMENT: no engine; UNSUPPORTED:
 * the engine is of another version; DAMAGED: it is not an engine; those of hd_convert. */
hd_status hd_view_save(const char *to, const char *const *inputs, size_t count, const hd_view_save_options *options,
                       hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
