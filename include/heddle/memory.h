/* memory.h - what was allocated, what was live when, and what never was freed
 *
 * Allocations and frees are events of the trace: Kineto's instants `[memory]` (which captures of heddle have as well),
 * instants of the category `gpu_memory` (CUPTI), and the activities of TensorFlow's memory profile. In the order of
 * time each free is paired with the allocation of its address; events of one time keep the order of the input.
 *
 * Everything is accounted for: for every pool and as a whole
 *     events    = allocations + frees          (what has no time or no meaning is counted apart)
 *     allocated = freed + replaced + live at the end
 * where a free of an address that was not allocated in the trace is counted, and frees nothing, and an allocation of an
 * address that is live replaces what was there. Events without an address are summed up, and paired with nothing.
 */
#ifndef HEDDLE_MEMORY_H
#define HEDDLE_MEMORY_H

#include "heddle/stacks.h"
#include "heddle/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is odd about events. All but the last are counted in events. */
typedef enum hd_memory_oddity {
    HD_MEMORY_FREE_UNKNOWN,   /* a free of what was not allocated in the trace */
    HD_MEMORY_REPLACED,       /* an address was allocated that was live: a free is missing */
    HD_MEMORY_SIZE_DIFFERS,   /* a free of another size than the allocation's, which counts */
    HD_MEMORY_NO_ADDRESS,     /* an event without an address: its bytes are summed up only */
    HD_MEMORY_UNREADABLE,     /* no size, or no number: left out */
    HD_MEMORY_NO_TIME,        /* left out */
    HD_MEMORY_RESERVED_BELOW, /* the allocator says that it reserved less than it handed out */
    HD_MEMORY_ODDITIES
} hd_memory_oddity;

/* "free-unknown", "allocated-twice" …, and a line about it. Static. */
const char *hd_memory_oddity_name(hd_memory_oddity oddity);
const char *hd_memory_oddity_meaning(hd_memory_oddity oddity);

typedef struct hd_memory_event {
    int64_t time_ns;
    uint64_t address, bytes;     /* bytes of a free: what it says; 0: nothing */
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
    uint32_t allocator;          /* string id, HD_STRING_NONE: none is named */
    uint64_t allocations, frees;
    uint64_t allocated_bytes, freed_bytes, replaced_bytes; /* freed: by frees that were paired or have no address */
    int64_t live_bytes;                                    /* at the end; below 0 where frees have no address */
    bool has_totals; /* the allocator reports its totals with every event: they are the level, else what is live is */
    int64_t first_ns, last_ns;
    int64_t peak_bytes, peak_ns; /* largest level, the first time */
    uint32_t peak_event;
    int64_t peak_live_bytes;  /* allocated in the trace and live then */
    int64_t peak_loose_bytes; /* of that, what has no address */
    int64_t loose_bytes;      /* of live_bytes, what has no address */
    int64_t final_bytes;      /* last level */
    bool has_reserved;        /* reserved and allocated are known somewhere: what follows is of where they are */
    int64_t reserved_peak_bytes;
    int64_t idle_at_peak_bytes;          /* reserved less allocated, at the peak of what is allocated */
    int64_t idle_max_bytes, idle_max_ns; /* its largest */
    double idle_mean_bytes;              /* its mean over time */
} hd_memory_pool;

/* What a pool holds of one category. */
typedef struct hd_memory_group {
    uint32_t pool;     /* index into pools */
    uint32_t category; /* string id, HD_STRING_NONE: none that says something */
    uint64_t allocations, frees;
    int64_t peak_bytes, peak_ns, live_bytes; /* of what was allocated in the trace */
} hd_memory_group;

typedef struct hd_memory {
    hd_memory_event *events; /* in the order of time */
    size_t event_count;
    hd_memory_pool *pools; /* in the order of the input */
    size_t pool_count;
    hd_memory_group *groups;
    size_t group_count;
    hd_stacks *stacks;
    uint64_t large_bytes;                     /* from so many on, lists of events belong into files */
    uint64_t found;                           /* event_count and what was left out */
    uint64_t oddities[HD_MEMORY_ODDITIES];    /* how many events */
    uint64_t odd_bytes[HD_MEMORY_ODDITIES];   /* saturating */
    int64_t odd_first_ns[HD_MEMORY_ODDITIES]; /* HD_NO_TIME: none */
} hd_memory;

typedef struct hd_memory_options {
    size_t size;      /* of this struct; see "Options" in status.h */
    bool no_stacks;   /* do not look for the slices around events */
    unsigned threads; /* 0: one per core */
} hd_memory_options;

/* Find and pair the events of a trace, which must outlive the result. An event's stack is its own (`sf`) or the slices
 * around it on its thread. Expected time linear but for the sort of what is out of order and of slices. options may be
 * NULL. A trace without such events is fine. Free with hd_memory_free. Errors: MEMORY, LIMIT (2^32 - 1 events or
 * slices), DAMAGED (stackFrames is no object). */
hd_status hd_memory_new(hd_memory **out, const hd_trace *trace, const hd_memory_options *options, hd_error *err);
void hd_memory_free(hd_memory *memory);

/* What is live behind an event. */
typedef struct hd_memory_step {
    const hd_memory_event *event;
    uint32_t group;
    int64_t live_bytes, group_live_bytes; /* of its pool, of its group */
    uint32_t replaced_group;              /* another group, of what its allocation replaced; HD_NONE: none */
    int64_t replaced_live_bytes;
} hd_memory_step;

/* Anything but HD_OK stops the walk and is returned. */
typedef hd_status hd_memory_sink(void *user, const hd_memory_step *step, hd_error *err);

/* Hand every event to the sink, in the order of time. Errors: MEMORY, what the sink returns. */
hd_status hd_memory_walk(const hd_memory *memory, hd_memory_sink *sink, void *user, hd_error *err);

/* The trace again, with counters on the process of each device: "memory cuda:0" (live, and what the allocator reports:
 * allocated, reserved), and "memory cuda:0, CATEGORY" (live). Nothing else changes. Free it with hd_trace_free. Errors:
 * MEMORY, LIMIT. */
hd_status hd_memory_annotate(hd_trace **out, const hd_memory *memory, const hd_trace *trace, hd_error *err);

/* "cuda:0", "cpu", an allocator's name; into `out`, terminated, and cut where it is too long. Returns it. */
enum { HD_MEMORY_NAME_BYTES = 96 };
const char *hd_memory_pool_name(char *out, const hd_trace *trace, const hd_memory_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
