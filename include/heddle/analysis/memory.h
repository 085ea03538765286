/* memory.h - allocations: what was live when, and what was never freed
 *
 * Allocations and frees are events of the trace: Kineto's instants `[memory]` (which captures of heddle have as well),
 * instants of the category `gpu_memory` (CUPTI), and the activities of TensorFlow's memory profile. In order of time,
 * each free is paired with the allocation of its address; events of equal time keep the order of the input.
 *
 * All events and bytes are accounted for, in every pool and in total:
 *     events    = allocations + frees          (events without a time or a meaning are counted separately)
 *     allocated = freed + replaced + live at the end
 * A free of an address that was not allocated in the trace is counted and frees nothing. An allocation of a live
 * address replaces the allocation there. Events without an address are summed up and not paired.
 */
#ifndef HEDDLE_MEMORY_H
#define HEDDLE_MEMORY_H

#include "heddle/format.h"
#include "heddle/stacks.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Anomalies of events. All but the last are counted in events. */
typedef enum hd_memory_anomaly {
    HD_MEMORY_FREE_UNKNOWN,   /* a free of an address that was not allocated in the trace */
    HD_MEMORY_REPLACED,       /* a live address was allocated again: a free is missing */
    HD_MEMORY_SIZE_DIFFERS,   /* a free with another size than its allocation; the allocation's size counts */
    HD_MEMORY_NO_ADDRESS,     /* an event without an address: its bytes are summed up only */
    HD_MEMORY_UNREADABLE,     /* no size, or not a number: left out */
    HD_MEMORY_NO_TIME,        /* left out */
    HD_MEMORY_RESERVED_BELOW, /* the allocator reports that it reserved less than it handed out */
    HD_MEMORY_ANOMALIES
} hd_memory_anomaly;

/* "free-unknown", "allocated-twice" …, and a description of one line. Static. */
const char *hd_memory_anomaly_name(hd_memory_anomaly anomaly);
const char *hd_memory_anomaly_meaning(hd_memory_anomaly anomaly);

typedef struct hd_memory_event {
    int64_t time_ns;
    uint64_t address, bytes;     /* bytes of a free: as the event has it; 0: not given */
    int64_t allocated, reserved; /* totals of the allocator after this event, HD_NO_NUMBER: unknown */
    uint32_t group;              /* index into groups */
    uint32_t node;               /* its stack */
    uint32_t end; /* of an allocation: the event that freed or replaced it, HD_NONE: live at the end. Of a
                     free: its allocation, HD_NONE: none */
    bool is_free, has_address, is_replaced;
} hd_memory_event;

/* Memory of one device for one process, or of one allocator. Sums saturate. */
typedef struct hd_memory_pool {
    uint32_t process;            /* track */
    int64_t device_type, device; /* as PyTorch numbers them: type 0 is the CPU; HD_NO_NUMBER: unknown */
    uint32_t allocator;          /* string id, HD_STRING_NONE: unnamed */
    uint64_t allocations, frees;
    uint64_t allocated_bytes, freed_bytes, replaced_bytes; /* freed: by frees that were paired or have no address */
    int64_t live_bytes;                                    /* at the end; below 0 where frees have no address */
    bool has_totals; /* the allocator reports its totals with every event: the level is these totals, else the live
                        bytes  */
    int64_t first_ns, last_ns;
    int64_t peak_bytes, peak_ns; /* largest level, the first time */
    uint32_t peak_event;
    int64_t peak_live_bytes;  /* allocated in the trace and live at the peak */
    int64_t peak_loose_bytes; /* of that, bytes without an address */
    int64_t loose_bytes;      /* of live_bytes, bytes without an address */
    int64_t final_bytes;      /* last level */
    bool has_reserved;        /* reserved and allocated bytes are known at some events, to which the members below refer
                                 */
    int64_t reserved_peak_bytes;
    int64_t idle_at_peak_bytes;          /* reserved minus allocated, at the peak of allocated */
    int64_t idle_max_bytes, idle_max_ns; /* its largest */
    double idle_mean_bytes;              /* its mean over time */
} hd_memory_pool;

/* The part of a pool with one category. */
typedef struct hd_memory_group {
    uint32_t pool;     /* index into pools */
    uint32_t category; /* string id, HD_STRING_NONE: no meaningful one */
    uint64_t allocations, frees;
    int64_t peak_bytes, peak_ns, live_bytes; /* of memory allocated in the trace */
} hd_memory_group;

typedef struct hd_memory {
    hd_memory_event *events; /* in the order of time */
    size_t event_count;
    hd_memory_pool *pools; /* in the order of the input */
    size_t pool_count;
    hd_memory_group *groups;
    size_t group_count;
    hd_stacks *stacks;
    uint64_t large_bytes;                          /* at this many bytes, lists of events belong in files */
    uint64_t found;                                /* event_count and the events left out */
    uint64_t anomalies[HD_MEMORY_ANOMALIES];       /* how many events */
    uint64_t anomaly_bytes[HD_MEMORY_ANOMALIES];   /* saturating */
    int64_t anomaly_first_ns[HD_MEMORY_ANOMALIES]; /* HD_NO_TIME: none */
} hd_memory;

typedef struct hd_memory_options {
    size_t size;           /* of this struct; see "Options" in status.h */
    bool no_stacks;        /* do not look for the slices around events */
    unsigned threads;      /* 0: one per core */
    hd_progress *progress; /* after each phase; units: estimated percent of the time. NULL: none */
    void *progress_user;
} hd_memory_options;

/* Find and pair the events of a trace, which must outlive the result. An event's stack is its own (`sf`) or the slices
 * around it on its thread. Expected time is linear except for sorting slices and events that are out of order. options
 * may be NULL. A trace without such events is fine. Free with hd_memory_free. Errors: MEMORY, LIMIT (2^32 - 1 events or
 * slices), DAMAGED (stackFrames is not an object). */
hd_status hd_memory_new(hd_memory **out, const hd_trace *trace, const hd_memory_options *options, hd_error *err);
void hd_memory_free(hd_memory *memory);

/* The live bytes after an event. */
typedef struct hd_memory_step {
    const hd_memory_event *event;
    uint32_t group;
    int64_t live_bytes, group_live_bytes; /* of its pool, of its group */
    uint32_t replaced_group;              /* group of the allocation that this one replaced, if it is another; HD_NONE:
                                             none */
    int64_t replaced_live_bytes;
} hd_memory_step;

/* Any status but HD_OK stops the walk and is returned. */
typedef hd_status hd_memory_sink(void *user, const hd_memory_step *step, hd_error *err);

/* Hand every event to the sink, in the order of time. Errors: MEMORY, what the sink returns. */
hd_status hd_memory_walk(const hd_memory *memory, hd_memory_sink *sink, void *user, hd_error *err);

/* A copy of the trace with counters on the process of each device: "memory cuda:0" (live, and the allocator's own
 * allocated and reserved), and "memory cuda:0, CATEGORY" (live). Nothing else changes. Free it with hd_trace_free.
 * Errors: MEMORY, LIMIT. */
hd_status hd_memory_annotate(hd_trace **out, const hd_memory *memory, const hd_trace *trace, hd_error *err);

/* "cuda:0", "cpu", or an allocator's name; written into `out`, NUL-terminated, cut where it is too long. Returns
 * `out`. */
enum { HD_MEMORY_NAME_BYTES = 96 };
const char *hd_memory_pool_name(char *out, const hd_trace *trace, const hd_memory_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
