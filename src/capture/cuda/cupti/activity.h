/* activity.h - CUPTI's records -> events of the session
 *
 *     activity.c        buffers: every record is checked and counted, times become the session's
 *     activity_rows.c   the conversion of each kind of record
 *     activity_ids.c    ids of names, arguments and tracks, cached so that the session is called once
 *     activity_names.c  names as Kineto writes them
 *
 * All of it belongs to the tracer's thread (helper.c).
 *
 * Begin with activity.c.
 */
#ifndef HD_CAPTURE_CUDA_CUPTI_ACTIVITY_H
#define HD_CAPTURE_CUDA_CUPTI_ACTIVITY_H

#include "capture/cuda/clock.h"
#include "capture/cuda/cupti/load.h"
#include "capture/cuda/impl.h"

enum {
    ACTIVITY_CACHE = 1024,
    ACTIVITY_CONTEXTS = 256,
    ACTIVITY_DEVICES = 64,
    ACTIVITY_STREAMS = 256,
    ACTIVITY_GRAPHS = 4096, /* graphs that run at once */
    ACTIVITY_CALLS = 1024,  /* numbers of calls are below */
};

typedef enum activity_category {
    ACTIVITY_KERNEL,
    ACTIVITY_COPY,
    ACTIVITY_SET,
    ACTIVITY_RUNTIME,
    ACTIVITY_DRIVER,
    ACTIVITY_SYNC,
    ACTIVITY_OVERHEAD,
    ACTIVITY_GRAPH,
    ACTIVITY_CATEGORIES
} activity_category;

/* Counts of records. records = shown + facts + filtered + unknown + bad. */
typedef struct activity_counts {
    uint64_t buffers, bytes, records;
    uint64_t shown;      /* events, those with bad times too */
    uint64_t facts;      /* devices, contexts, streams, names, external ids, memory outside of the window */
    uint64_t filtered;   /* untraced calls, of a CUPTI that cannot disable them */
    uint64_t calls;      /* shown or not */
    uint64_t kernels;    /* that a call launched */
    uint64_t unknown;    /* of a kind that was not requested */
    uint64_t bad;        /* cut off */
    uint64_t bad_times;  /* shown as instants */
    uint64_t dropped;    /* by CUPTI */
    uint64_t threadless; /* of threads with an unknown system id */
    uint64_t unlisted;   /* streams beyond ACTIVITY_STREAMS */
    uint64_t unmapped;   /* in contexts of an unknown device */
} activity_counts;

/* The contents of arguments, all of which is compared. */
typedef struct activity_args {
    uint32_t what; /* kind of record */
    uint32_t device, context, stream;
    uint32_t words[12];
} activity_args;

typedef struct activity_device {
    uint32_t id;
    char *json;
} activity_device;

typedef struct cuda_activity {
    cuda_tracer *tracer;
    hd_session *session;
    const cuda_cupti *cupti;
    cuda_clock clock;
    activity_counts counts;
    uint32_t since_flush;
    int64_t now_ns;                           /* when the buffer was begun */
    int64_t last_ns;                          /* of the last good record */
    uint32_t graph_launches[ACTIVITY_GRAPHS]; /* correlation of the last that had an activity, by its low bits */
    uint32_t categories[ACTIVITY_CATEGORIES];
    struct {
        const char *pointer;
        char *text;
        uint32_t id;
    } names[ACTIVITY_CACHE];
    struct {
        activity_args key;
        uint32_t id;
    } args[ACTIVITY_CACHE];
    struct {
        uint32_t kind, device; /* kind 0: free */
        uint64_t number;
        uint32_t id;
    } tracks[ACTIVITY_CACHE];
    uint32_t call_names[2][ACTIVITY_CALLS];
    struct {
        uint32_t context, device;
        bool is_known;
    } contexts[ACTIVITY_CONTEXTS];
    activity_device devices[ACTIVITY_DEVICES];
    uint32_t device_count;
    bool has_told_mps;
    struct {
        uint32_t context, stream;
        int32_t priority;
    } streams[ACTIVITY_STREAMS]; /* with data from the program */
    uint32_t stream_count;
} cuda_activity;

void cuda_activity_init(cuda_activity *activity, cuda_tracer *tracer);

/* All records of a buffer. */
void cuda_activity_read(cuda_activity *activity, uint8_t *data, size_t valid);
/* The number of records that CUPTI dropped since the last call, which follows each buffer. */
void cuda_activity_count_dropped(cuda_activity *activity);

/* ---- activity_rows.c: false: a kind that is not known. The record is whole. */
bool activity_row(cuda_activity *activity, const cupti_record *record);
/* The bytes that activity_row reads of a record of that kind; 0: unknown. */
size_t activity_row_bytes(uint32_t kind, uint32_t version);

/* ---- activity.c: times are CUPTI's. Bad ones turn the record into an instant, and are counted. */
void activity_emit(cuda_activity *activity, hd_session_record *record, uint64_t start, uint64_t end);
void activity_push(cuda_activity *activity, const hd_session_record *record);
/* On the session's clock; 0: not a time. */
int64_t activity_time(const cuda_activity *activity, uint64_t time);

/* ---- activity_ids.c */
uint32_t activity_name(cuda_activity *activity, const char *name);
uint32_t activity_args_id(cuda_activity *activity, const activity_args *args);
uint32_t activity_track(cuda_activity *activity, hd_session_track_kind kind, uint32_t device, uint64_t number);
void activity_learn_context(cuda_activity *activity, uint32_t context, uint32_t device);
uint32_t activity_device_of(cuda_activity *activity, uint32_t context);

/* ---- activity_names.c */
const char *cuda_name_memory(uint32_t kind);
void cuda_name_copy(char *out, size_t capacity, uint32_t copy, uint32_t from, uint32_t to);
void cuda_name_set(char *out, size_t capacity, uint32_t memory);
const char *cuda_name_wait(uint32_t type);
const char *cuda_name_overhead(uint32_t kind);

#endif
