/* writer.h - shared by the files that write Perfetto
 *
 * Writing goes in three steps. Collecting makes an item for every event that becomes packets, and a place for every
 * track of the output. Placing walks the items in order of time, moves crossing slices to places of their own, and
 * binds flow points to slices. Emitting walks them again and makes packets.
 *
 * In: a trace. Out: packets. Begin with write.c.
 */
#ifndef HD_FORMAT_PERFETTO_WRITE_WRITER_H
#define HD_FORMAT_PERFETTO_WRITE_WRITER_H

#include "base/bytes.h"
#include "base/io/output.h"
#include "base/map.h"
#include "format/perfetto/perfetto.h"
#include "heddle/stacks.h"
#include "model/flows/bind.h"
#include "model/roles/trace_roles.h"

/* ---- packets out: packets.c ---- */

typedef struct pf_packets pf_packets;

hd_status pf_packets_new(pf_packets **out, hd_output *output, bool raw, unsigned threads, hd_error *err);
void pf_packets_free(pf_packets *packets); /* NULL is fine; waits for the threads */
/* The buffer that takes whole packets, as fields of a Trace. */
hd_bytes *pf_packets_buffer(pf_packets *packets);
/* Between packets: hands over the buffer when it is full, and replaces it. */
hd_status pf_packets_flush(pf_packets *packets, hd_error *err);
/* Writes all that is left. */
hd_status pf_packets_finish(pf_packets *packets, hd_error *err);

/* ---- places: the tracks of the output ---- */

typedef enum pf_place_kind {
    PF_PLACE_PROCESS, /* with a pid */
    PF_PLACE_GROUP,   /* a process whose pid Perfetto cannot store as a number */
    PF_PLACE_THREAD,  /* with a tid */
    PF_PLACE_ROW,     /* a stream, or a thread whose tid Perfetto cannot store as a number */
    PF_PLACE_LANE,    /* a sibling for slices that cross on another place */
    PF_PLACE_COUNTER,
    PF_PLACE_ASYNC,
} pf_place_kind;

/* Its uuid is its index + 1. */
typedef struct pf_place {
    pf_place_kind kind;
    uint32_t parent;           /* a place, or HD_NONE */
    uint32_t track;            /* of the trace, or HD_NONE */
    uint32_t name;             /* string id; counters and asynchronous ones */
    uint32_t series, category; /* string ids, counters */
    uint32_t unit;             /* of a counter's first sample, or HD_STRING_NONE */
    uint32_t id_type;          /* counters: distinguishes counters of one name, as in hd_event */
    int64_t id;
    bool is_old_async;   /* of the phases S, T, p and F */
    uint64_t key;        /* hash of the identity of counters and asynchronous places */
    uint32_t first_lane; /* the place whose lane it is, itself for others */
    uint32_t next_lane;  /* of the same track; HD_NONE: the last */
    uint32_t last_lane;  /* of a first lane */
    uint32_t lane_count; /* of a first lane */
    uint64_t events;
} pf_place;

/* ---- items ---- */

typedef enum pf_item_kind { PF_ITEM_SLICE, PF_ITEM_ASYNC, PF_ITEM_INSTANT, PF_ITEM_COUNTER } pf_item_kind;

#define PF_OPEN_END INT64_MAX /* of slices that are never closed */

typedef struct pf_item {
    int64_t start, end; /* end is start for events without a duration */
    uint32_t row;       /* of the kind's table; PF_ITEM_ASYNC: of w->async_pairs */
    uint32_t place;     /* the kind in the upper bits */
} pf_item;

enum { PF_PLACE_BITS = 30, PF_PLACE_MASK = (1 << PF_PLACE_BITS) - 1, PF_PLACE_LIMIT = PF_PLACE_MASK };

static inline pf_item_kind pf_item_kind_of(const pf_item *item)
{
    return (pf_item_kind)(item->place >> PF_PLACE_BITS);
}
static inline uint32_t pf_item_place(const pf_item *item)
{
    return item->place & PF_PLACE_MASK;
}

/* An asynchronous slice or a point of one, as rows of its table. */
typedef struct pf_async_pair {
    uint32_t begin, end; /* HD_NONE: never closed, or a point */
} pf_async_pair;

/* A flow id on an item's first packet. */
typedef struct pf_flow_link {
    uint32_t item;
    uint32_t flow : 29, ends : 1;
    uint32_t bound : 1;  /* by the slice's own bind_id */
    uint32_t turned : 1; /* from the later slice to the earlier */
} pf_flow_link;

/* A stack sample, of its table. */
typedef struct pf_sample {
    int64_t start;
    uint32_t row;
} pf_sample;

typedef struct pf_flow_point {
    uint64_t key; /* hash of the flow's identity */
    int64_t time;
    uint32_t row, place;
    uint32_t item; /* it is bound to, HD_NONE: none */
    uint32_t next; /* in a list of those held on one place */
    char phase;
    bool enclosing, named; /* named: it has a name or category */
    bool bound;            /* a slice with a bind_id, and no event by itself */
} pf_flow_point;

/* ---- accounts: every event is written or counted in one of these ---- */

typedef enum pf_note {
    PF_NOTE_NO_TIME,
    PF_NOTE_BEYOND_TIME,
    PF_NOTE_END_UNMATCHED,
    PF_NOTE_ASYNC_UNMATCHED,
    PF_NOTE_FLOW_UNBOUND,
    PF_NOTE_FLOW_WITHOUT_START,
    PF_NOTE_COUNTER_EMPTY,
    PF_NOTE_SAMPLE,
    PF_NOTE_OBJECT,
    PF_NOTE_META,
    PF_NOTE_OTHER,
    /* The above count whole events, the below values. */
    PF_NOTE_COUNTER_VALUE,
    PF_NOTE_COUNTER_ROUNDED,
    PF_NOTE_COUNTER_UNIT,
    PF_NOTE_SAMPLE_VALUES,
    PF_NOTE_FLOW_NAME,
    PF_NOTE_END_NAME,
    PF_NOTE_METADATA,
    PF_NOTE_NEGATIVE_DURATION,
    PF_NOTE_PICOSECONDS,
    PF_NOTE_FLOW_BACKWARD,
    PF_NOTE_SHIFTED,
    PF_NOTE_CROSSING,
    PF_NOTE_NUMBER_TEXT,
    PF_NOTE_NUMBER_MADE,
    PF_NOTE_IDS_MERGED,
    PF_NOTE_COUNT
} pf_note;

/* ---- the writer ---- */

enum { PF_SPACE_NAME, PF_SPACE_CATEGORY, PF_SPACE_KEY, PF_SPACE_VALUE, PF_SPACE_COUNT };

typedef struct pf_text_entry { /* for strings without an id in the trace */
    size_t offset;
    uint32_t size, iid;
} pf_text_entry;

typedef struct pf_intern {
    uint32_t *iids[PF_SPACE_COUNT]; /* by string id of the trace, 0: not written yet */
    uint32_t next[PF_SPACE_COUNT];
    hd_bytes texts;
    hd_slots slots; /* the hash includes the kind of string */
    pf_text_entry *entries;
    size_t entry_count, entry_capacity;
    uint64_t *memo; /* by string id: position of its encoded JSON, + 1; 0: none */
    hd_bytes memos;
} pf_intern;

/* Of render stages; iids of queues are those of their places + 1, those of stages follow. */
typedef struct pf_stages {
    hd_roles roles;
    bool *queues;   /* by place: interned */
    uint32_t *iids; /* by string id of a name, 0: not interned */
    uint32_t queue_count, stage_count, event_count;
    uint32_t correlation_key; /* HD_NONE: no event has it */
} pf_stages;

typedef struct pf_writer {
    const hd_trace *trace;
    const hd_write_options *options;
    uint64_t large; /* hd_trace_large_bytes: items, points of flows, samples and async slices lie in files beyond */
    pf_packets *packets;
    uint64_t notes[PF_NOTE_COUNT];
    uint64_t written; /* events */

    pf_place *places;
    size_t place_count, place_capacity;
    uint32_t *track_places; /* by track of the trace */
    int32_t *made_numbers;  /* by track: its pid or tid, where that of the trace is not a number; 0: not needed */
    uint8_t *untold;        /* by track: hd_conventions_untold */
    uint32_t no_track;      /* the place of events without pid and tid, HD_NONE: not needed yet */
    hd_slots place_slots;   /* of counters and asynchronous places */

    pf_item *items;
    size_t item_count, item_capacity;
    pf_async_pair *async_pairs;
    size_t async_pair_count, async_pair_capacity;
    pf_flow_point *points;
    size_t point_count, point_capacity;
    uint32_t point_rows; /* of flow points, followed by those of slices with a bind_id */
    hd_slice_flow_keys flow_keys;
    uint32_t unit_key; /* "unit", HD_NONE: no event has it */
    pf_flow_link *links;
    size_t link_count, link_capacity;

    hd_trace_stacks *stacks; /* NULL: no samples */
    pf_sample *samples;      /* by time */
    size_t sample_count, sample_capacity;
    uint8_t *sample_nodes, *sample_names; /* by node and name: interned */
    bool has_mapping;

    pf_stages stages; /* with options->typed_gpu */
    pf_intern intern;
    hd_bytes event, interned; /* of the packet that is being made */
    hd_bytes json;            /* padded text that is being parsed */
    int64_t shift;            /* added to all times, so that none is below 0 */
    int64_t last_time;        /* of the last packet */
    uint32_t default_place;
} pf_writer;

/* places.c */
hd_status pf_places_init(pf_writer *w, hd_error *err);
void pf_places_deinit(pf_writer *w);
/* HD_NONE: no memory. */
uint32_t pf_place_of_track(pf_writer *w, uint32_t track);
/* The numbers by which samples name it; false: there are none. */
bool pf_numbers_of_track(uint32_t *out_pid, uint32_t *out_tid, const pf_writer *w, uint32_t track);
/* The text of a counter's unit; HD_STRING_NONE. */
uint32_t pf_counter_unit(const pf_writer *w, const hd_event *event);
/* The place of the process that a track belongs to, or of the track itself. */
uint32_t pf_place_counter(pf_writer *w, const hd_event *event, uint32_t series);
/* key: common to all points of one async slice. */
uint32_t pf_place_async(pf_writer *w, const hd_event *event, uint64_t key, bool is_old);
/* One more lane of a place. */
uint32_t pf_place_add_lane(pf_writer *w, uint32_t first);
hd_status pf_emit_places(pf_writer *w, hd_error *err);
/* The name of a track without a descriptor of its kind; HD_NONE: no track. */
void pf_put_track_name(pf_writer *w, hd_bytes *out, uint32_t field, uint32_t track);

/* collect.c, async.c: items, sorted by time. */
hd_status pf_collect(pf_writer *w, hd_error *err);
hd_status pf_collect_async(pf_writer *w, hd_error *err);
/* false with HD_OK: lost, and counted. */
bool pf_time_fits(int64_t time); /* range that Perfetto can represent */
bool pf_check_time(pf_writer *w, int64_t start, int64_t end);
hd_status pf_add_item(pf_writer *w, pf_item_kind kind, uint32_t place, uint32_t row, int64_t start, int64_t end,
                      hd_error *err);
/* The event that an item begins with. */
hd_event pf_item_event(const pf_writer *w, const pf_item *item);
/* A decimal or 0x hexadecimal number is hashed by value; any other text by its bytes: equal ids have equal hashes. */
uint64_t pf_id_hash(const hd_trace *trace, uint32_t id_type, int64_t id);

/* samples.c */
hd_status pf_collect_samples(pf_writer *w, hd_error *err);
void pf_samples_deinit(pf_writer *w);
/* The sample into w->event, and its stack, the first time, into w->interned. */
void pf_put_sample(pf_writer *w, const hd_event *event);

/* lanes.c */
hd_status pf_lanes(pf_writer *w, hd_error *err);

/* flows.c */
hd_status pf_flows_collect(pf_writer *w, hd_error *err);
hd_status pf_flows_join(pf_writer *w, hd_error *err);

/* args.c: annotations into w->event, the interned data they need into w->interned */
hd_status pf_intern_init(pf_writer *w, hd_error *err);
void pf_intern_deinit(pf_writer *w);
uint32_t pf_intern_string(pf_writer *w, unsigned space, uint32_t id);
/* bound: the slice's bind_id has become flows, and is not an argument. */
void pf_put_args(pf_writer *w, const hd_event *event, bool bound);
/* Whether the key of a counter is its unit. */
bool pf_is_unit(const pf_writer *w, const hd_arg_key *key);
void pf_put_id_arg(pf_writer *w, const hd_event *event);
/* Of an asynchronous event: event.track, the uuid of its thread's, unless it is begin_track, and event.dur, in ns. */
void pf_put_async(pf_writer *w, const hd_event *event, uint32_t begin_track);
/* An argument event.dur without a value: a slice that ends where it began, since its end is unknown. */
void pf_put_no_duration(pf_writer *w);
/* A counter's value; false: it is not a number. */
bool pf_put_counter_value(pf_writer *w, unsigned type, int64_t bits);
/* The digits of a decimal (HD_ARG_DECIMAL); returns the size. */
enum { PF_DECIMAL_BYTES = 64 };
size_t pf_decimal_text(char out[PF_DECIMAL_BYTES], int64_t packed);

/* stages.c: after all places are there. */
hd_status pf_stages_init(pf_writer *w, hd_error *err);
void pf_stages_deinit(pf_writer *w);
/* A render stage of a slice into w->event, and what it refers to into w->interned. false: it is no GPU activity. */
bool pf_put_stage(pf_writer *w, const hd_event *event, const pf_item *item);

/* emit.c */
hd_status pf_emit(pf_writer *w, hd_error *err);

#endif
