/* impl.h - the parts of the NVTX tool
 *
 *     program ──> nvtx.c (the functions that NVTX calls) ──> session
 *                   names.c    texts, domains, categories, arguments -> ids of the session
 *                   thread.c   ranges pushed on this thread, and which of them are in the trace
 *                   ranges.c   ranges that may end on another thread, each on a lane of its own while it lasts
 *
 * NVTX's functions have no user pointer, so the tool has one state per process, and one per thread.
 *
 * Begin with nvtx.c.
 */
#ifndef HD_CAPTURE_CUDA_NVTX_IMPL_H
#define HD_CAPTURE_CUDA_NVTX_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/map.h"
#include "capture/cuda/nvtx/abi.h"
#include "heddle/session.h"

enum {
    NVTX_TEXT_BYTES = HD_SESSION_NAME_BYTES,
    NVTX_DOMAINS_MAX = 4096,
    NVTX_DEPTH_MAX = 1 << 16,   /* pushed on a thread at once */
    NVTX_LANES_MAX = 4096,      /* ranges that are of no thread, at once */
    NVTX_ARGS_MAX = 1 << 20,    /* sets of arguments; beyond, payloads are left out */
    NVTX_LANE_TID = 2000000000, /* lanes are threads with ids from here on, beyond all ids of the system */
    NVTX_CACHE = 128,           /* names and arguments that a thread remembers */
    NVTX_CACHE_TEXT = 56,       /* longer names are looked up in the session each time */
};

/* Events that could not be shown unchanged, each a row of the ledger. */
typedef enum nvtx_count {
    NVTX_SPLIT,      /* in two parts: ranges of several domains crossed on one thread */
    NVTX_UNMATCHED,  /* a pop or an end without its beginning */
    NVTX_OVER,       /* deeper, or more at once, than the limits, or there was no memory */
    NVTX_NESTED,     /* from a signal handler that interrupted another call */
    NVTX_BAD_HANDLE, /* a domain or a string that was never returned */
    NVTX_NO_PAYLOAD, /* of a type that we do not know, or beyond NVTX_ARGS_MAX */
    NVTX_COUNTS
} nvtx_count;

/* A push that is not popped. */
typedef struct nvtx_open {
    uint32_t domain;
    uint32_t below; /* index + 1 of the next outer one of this domain */
    uint32_t level;
    uint32_t name, args;
    bool is_shown;  /* its beginning is in the trace */
    bool is_closed; /* popped, though others above it are open */
    bool is_step;   /* window_step_begins said so */
} nvtx_open;

typedef struct nvtx_name_slot {
    uint32_t size, id;
    char text[NVTX_CACHE_TEXT];
} nvtx_name_slot;

typedef struct nvtx_args_slot {
    uint64_t payload;
    uint32_t domain, category, colour, version; /* version: of the names of categories */
    uint8_t payload_type;
    bool has_colour, is_used;
    uint32_t id;
} nvtx_args_slot;

typedef struct nvtx_thread {
    nvtx_open *open;
    uint32_t count, capacity;
    uint32_t over;  /* pushed beyond the limit, not popped */
    uint32_t *tops; /* of each domain: index + 1 of the innermost */
    uint32_t top_count;
    unsigned forks; /* as nvtx_tool.forks when this thread was last here */
    nvtx_name_slot names[NVTX_CACHE];
    nvtx_args_slot args[NVTX_CACHE];
} nvtx_thread;

typedef struct nvtx_category {
    uint32_t number;
    char *name;
} nvtx_category;

typedef struct nvtx_domain_info {
    char *name; /* "": the default one */
    nvtx_category *categories;
    uint32_t category_count, category_capacity;
} nvtx_domain_info;

typedef struct nvtx_lane {
    uint64_t serial; /* of the range on it, 0: free */
    int64_t end_ns;  /* of the last range on it */
    uint32_t track;
    bool is_shown, is_step;
} nvtx_lane;

typedef struct nvtx_state {
    struct cuda_tracer *tracer;
    hd_session *session;
    bool shows; /* ranges go to the trace; else they only count as steps */
    uint32_t category, unnamed;
    atomic_uint forks;
    atomic_uint_least64_t counts[NVTX_COUNTS];
    atomic_uint category_version;
    atomic_bool args_full;
    pthread_mutex_t lock;      /* of all below */
    nvtx_domain_info *domains; /* preallocated: they are never moved */
    _Atomic uint32_t domain_count;
    hd_map steps; /* texts by id */
    nvtx_lane *lanes;
    uint32_t lane_count;
    uint32_t *free_lanes; /* a heap, the lowest first */
    uint32_t free_count;
    uint64_t serial;
} nvtx_state;

extern nvtx_state nvtx_tool __attribute__((visibility("hidden")));

/* A text of the program. */
typedef struct nvtx_text {
    const char *data; /* terminated; NULL: none */
    size_t size;
    uint32_t id;  /* of a registered string, 0: none */
    bool is_step; /* of a registered string */
    char room[NVTX_TEXT_BYTES + 8];
} nvtx_text;

/* nvtx.c */
void nvtx_tell(nvtx_count what, uint64_t count);
void nvtx_timed(uint32_t number, int64_t start_ns); /* a call of this thread, by its number, is over */

/* names.c */
hd_status nvtx_names_prepare(void); /* once a process */
void nvtx_text_ascii(nvtx_text *out, const char *text);
void nvtx_text_wide(nvtx_text *out, const wchar_t *text);
void nvtx_text_of(nvtx_text *out, const nvtx_event *event);
uint32_t nvtx_name(nvtx_thread *here, const nvtx_text *text);
void *nvtx_register(const nvtx_text *text);
nvtx_domain nvtx_domain_make(const nvtx_text *name);
uint32_t nvtx_domain_of(nvtx_domain domain);
void nvtx_name_category(uint32_t domain, uint32_t number, const nvtx_text *name);
uint32_t nvtx_args(nvtx_thread *here, uint32_t domain, const nvtx_event *event); /* event NULL: the domain alone */

/* thread.c: enter returns NULL if a call must be ignored. Each successful one has its leave. */
hd_status nvtx_threads_prepare(void); /* once a process */
nvtx_thread *nvtx_enter(void);
void nvtx_leave(void);
int nvtx_push(nvtx_thread *here, const nvtx_open *what); /* the level from 0, below 0: unknown */
int nvtx_pop(nvtx_thread *here, uint32_t domain);

/* ranges.c */
nvtx_range nvtx_range_begin(const nvtx_open *what);
void nvtx_range_finish(nvtx_range range);
void nvtx_ranges_forked(void); /* in the child, under the lock */

#endif
