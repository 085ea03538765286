/* impl.h - shared by session.c and write.c */
#ifndef HD_VIEW_SESSION_IMPL_H
#define HD_VIEW_SESSION_IMPL_H

#include <pthread.h>

#include "view/session/session.h"

enum {
    VIEW_THREADS_MAX = 8,
    PART_BYTES = 32,
    VIEW_EVENT_BYTES = 245, /* memory that an event takes at most in a WebAssembly module, with its layout: measured */
};

/* A trace. Its mutable members are read and written under the session's lock. */
typedef struct view_entry {
    view_session *session;
    uint32_t id;
    char *path; /* NULL: it came as a file that is open, or as a scene */
    char *name; /* what people see */
    int fd;     /* -1: none */
    view_trace_state state;
    bool is_asked;         /* opened by the web UI, not on the command line */
    uint64_t most_events;  /* 0: it is read whole */
    char part[PART_BYTES]; /* "first 1.5 s" of a trace that is not whole */
    bool is_second;        /* of a damaged store: is read all at once */
    bool is_waiting;       /* for a thread that reads it, or once it is ready lays it out */
    uint64_t done, total;
    hd_error error;
    hd_trace_facts facts;    /* once ready; texts in it belong to the trace */
    const char *device_kind; /* once ready: what its devices are called, model/identity/device.h */
    view_scene *scene;       /* NULL: none yet, or freed */
    uint64_t closing;        /* number of the closing from which on no request finds the scene; 0: not yet */
    unsigned workers; /* threads that read it or lay it out: the next one can begin before the last one is done */
    atomic_bool stop; /* of its layout */
    char busy[96];
    size_t step; /* of the layout, in a stepped session */
} view_entry;

struct view_session {
    view_session_options options;
    uint64_t memory_of_one;
    char *binary;   /* of the options */
    char *counters; /* the pass, as text; NULL: none */
    char *engine;   /* of the options */
    uint8_t id[16];
    pthread_mutex_t lock;
    pthread_mutex_t failing; /* held while `failed` is called */
    pthread_mutex_t opening; /* held by view_session_open */
    pthread_cond_t changed;
    view_entry **entries;
    uint32_t count;
    size_t capacity;
    uint64_t revision;
    int64_t told_ms; /* when it grew last */
    void (*news)(void *user);
    void *news_user;
    unsigned telling; /* calls of news that run */
    unsigned working; /* threads that read or lay out */
    view_use *uses;   /* of requests that are being answered */
    uint64_t closings;
    atomic_bool stop;
    struct view_sql *sql;
    struct view_ranks *ranks;
    pthread_t threads[2][VIEW_THREADS_MAX]; /* that read, that lay out */
    unsigned thread_counts[2];
};

#endif
