/* write.h - shared by the files of the OTF2 writer
 *
 * Plan     every event becomes an item of a place: a track's own lane, its counters, or its async slices of one
 *          category. The items of a place are sorted and distributed to lanes on which slices nest; each lane is a
 *          location
 * Events   are written location by location; strings, attributes and regions are defined at first use
 * Ends     system tree, groups of locations, locations with their counts, communicators, metrics
 *
 * In: a trace. Out: an archive. Begin with write.c.
 */
#ifndef HD_FORMAT_OTF2_WRITE_WRITE_H
#define HD_FORMAT_OTF2_WRITE_WRITE_H

#include <errno.h>
#include <otf2/otf2.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/memory/arena.h"
#include "format/otf2/otf2.h"

/* ---- a map from two integers to a small one ---- */

/* The value of a key, plus 1. A new key gets the number of keys so far, and *created is true. NULL: no memory. */
uint32_t *ow_map_get(hd_map *map, uint64_t a, uint64_t b, bool *created);

/* Series per metric: the library counts them in a byte. */
enum { OW_SERIES_MAX = 255 };

/* ---- the plan ---- */

typedef enum ow_what {
    OW_SLICE,
    OW_ASYNC, /* row: index into pairs */
    OW_SEND,  /* row: index into messages */
    OW_RECEIVE,
    OW_MEMORY, /* the metric of a "[memory]" instant */
    OW_METRIC,
    OW_POINT, /* a region without extent; kind says of which table */
} ow_what;

typedef struct ow_item {
    int64_t start, end;
    uint32_t row;
    uint16_t lane;
    uint8_t what, kind;
} ow_item;

typedef struct ow_message {
    uint32_t from_row, to_row; /* of the flow table */
    uint32_t from, to;         /* locations */
} ow_message;

typedef struct ow_pair {
    uint32_t begin, end; /* of the async table; end HD_NONE: never ended */
} ow_pair;

typedef enum ow_place_type { OW_PLACE_ROW, OW_PLACE_METRICS, OW_PLACE_ASYNC } ow_place_type;

typedef struct ow_place {
    uint32_t track, category; /* category: of async slices */
    ow_place_type type;
    size_t first, count; /* items */
    uint32_t first_location, lane_count;
    uint32_t group;
} ow_place;

typedef struct ow_location {
    uint32_t place, lane;
    size_t first, count; /* items */
    uint64_t records;
    uint64_t checksum;    /* of its file of events, when that is written; */
    bool has_checksum;    /* without events there is no file */
    uint32_t rank;        /* among the locations of streams and threads */
    uint32_t collectives; /* rank among the locations with collectives, plus 1; 0: it has none */
} ow_location;

/* A location group: the threads of a process, or the streams of one of its devices. */
typedef struct ow_group {
    uint32_t process; /* track */
    int64_t device;   /* HD_NO_NUMBER: a process */
    int64_t rank;
    uint64_t slices, launches;
    uint32_t main_location; /* of a process: the one with most slices; HD_NONE */
    uint32_t creator;       /* of a device: group, or HD_NONE */
    uint32_t ref;           /* of its definition: processes first, since a device refers to the process that created it
                               */
} ow_group;

/* How an argument of a shape is written. */
typedef struct ow_arg {
    uint32_t main, text; /* attribute refs plus 1: of its own type, of its text */
    bool twice;          /* a later one has the same name: this one is left out */
} ow_arg;

typedef struct ow_shape {
    ow_arg *args;
    uint32_t count; /* no more than a record takes */
    bool seen;
} ow_shape;

/* Arguments that the writer uses, by the string ids of their keys. */
typedef struct ow_keys {
    uint32_t bytes, collective, in_elements, out_elements, dtype, group_name, group_description, group_ranks, root,
        source, destination, memory, allocated, reserved, device_type, device_id;
} ow_keys;

typedef enum ow_copy { OW_COPY_NONE, OW_COPY_GET_HOST, OW_COPY_GET_DEVICE, OW_COPY_PUT_HOST } ow_copy;

typedef struct ow_region {
    uint8_t role, paradigm;
    uint8_t copy;       /* ow_copy */
    bool communicates;  /* a kernel of a collective, or of point-to-point */
    uint8_t collective; /* by its name: OTF2_CollectiveOp + 1, or 0 */
} ow_region;

/* A metric class, or an instance of one. */
typedef struct ow_metric {
    uint32_t name, category, shape;
    uint32_t class_ref; /* HD_NONE: this is a class */
    uint32_t place;
    uint32_t memory_member; /* first of its members, plus 1; 0: it is a counter of the trace */
    uint32_t scope;         /* group */
} ow_metric;

/* One series of a counter. */
typedef struct ow_member {
    uint32_t name, key;
    bool is_double;
    bool is_memory; /* of a device, made from instants */
    int64_t device_type, device;
} ow_member;

typedef struct ow_comm {
    uint32_t name; /* OTF2 string */
    bool is_collective;
    bool is_flow;
    uint32_t flow_name, flow_category; /* strings of the trace */
    bool is_pair;                      /* messages between two ranks; is_collective as well */
    bool is_whole;                     /* both are in the archive, or may be in the one that it will be joined into */
    uint32_t pair[2];                  /* location of the lower, the higher rank; HD_NONE: none has sent or received */
    uint64_t *members;                 /* of a collective one: ranks among the locations with collectives, ascending */
    size_t member_count, member_capacity;
} ow_comm;

/* Losses and changes, each a row of the ledger. */
typedef enum ow_note {
    OW_NO_TIME,
    OW_OUTSIDE,
    OW_PICOSECONDS,
    OW_NO_END,
    OW_NEGATIVE,
    OW_CLAMPED,
    OW_FLOW_UNMATCHED,
    OW_ASYNC_OPEN,
    OW_META_LOST,
    OW_ARGS_LOST,
    OW_ARG_TWICE,
    OW_STRING_CUT,
    OW_STRING_NUL,
    OW_LANES,
    OW_TRACKS_EMPTY,
    OW_SHIFTED,
    OW_BYTES_LOST,
    OW_NOTE_COUNT
} ow_note;

typedef struct ow_writer {
    const hd_trace *trace;
    const hd_write_options *options;
    uint64_t large; /* hd_trace_large_bytes: items, messages and pairs lie in files beyond */
    hd_error *err;
    const char *path;
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *defs;
    OTF2_AttributeList *attributes;

    /* plan */
    ow_item *items;
    size_t item_count;
    ow_place *places;
    size_t place_count, place_capacity;
    uint32_t *row_place, *metric_place; /* by track, HD_NONE */
    hd_map async_places;
    ow_location *locations;
    size_t location_count, location_capacity;
    ow_group *groups;
    size_t group_count, group_capacity;
    hd_map group_of;
    uint8_t *flow_written; /* by row of the flow table: a record represents the point */
    ow_message *messages;
    size_t message_count, message_capacity;
    ow_pair *pairs;
    size_t pair_count, pair_capacity;
    uint8_t *has_series;     /* by shape: it has a number among its arguments */
    int64_t low_ns, high_ns; /* span of the items */
    int64_t clamp_low;       /* times before are written there */
    uint64_t shift;          /* added to every time */
    bool is_hip;
    OTF2_Paradigm accelerator;

    /* definitions */
    uint32_t *string_refs; /* by trace string, plus 1 */
    uint32_t string_count;
    hd_bytes text;
    uint32_t attribute_count;
    hd_map launches; /* by group of a process and correlation id: location */
    hd_map literals, attribute_of, region_of, frames, metric_members, counter_shapes, metric_classes, metric_instances,
        memory_classes, memory_instances, flow_comms, process_groups, rank_pairs;
    ow_shape *shapes;
    ow_region *regions;
    size_t region_capacity;
    ow_metric *metrics;
    size_t metric_count, metric_capacity;
    ow_comm *comms;
    size_t comm_count, comm_capacity;
    ow_member *members;
    size_t member_count, member_capacity;
    ow_keys keys;
    uint32_t kind_attribute, phase_attribute, time_attribute, duration_attribute, category_attribute; /* refs plus 1 */
    uint32_t name_attribute, track_attribute;                                                         /* likewise */
    uint32_t phase_texts[256];                                                                        /* refs plus 1 */
    uint32_t collective_locations;
    uint64_t rma_count;
    bool has_window;
    uint32_t window_comm;
    uint64_t written;
    uint64_t notes[OW_NOTE_COUNT];
    hd_arena arena;
} ow_writer;

#define OW_TRY(w, call)                                                                                                \
    do {                                                                                                               \
        OTF2_ErrorCode ow_code_ = (errno = 0, call);                                                                   \
        if (ow_code_ != OTF2_SUCCESS) return ow_error((w), ow_code_);                                                  \
    } while (0)

/* write.c */
hd_status ow_error(ow_writer *w, OTF2_ErrorCode code);
hd_status ow_open_archive(ow_writer *w, const char *folder);
hd_status ow_close_archive(ow_writer *w, const char *folder);
hd_status ow_write_clock(ow_writer *w); /* of low_ns, high_ns, shift */
hd_status ow_copy_file(ow_writer *w, const char *from, const char *to);
/* Frees its memory. */
void ow_deinit(ow_writer *w);

/* collect.c, pairs.c, lanes.c */
hd_status ow_collect(ow_writer *w);
hd_status ow_find_messages(ow_writer *w);
hd_status ow_find_async(ow_writer *w);
hd_status ow_deal_lanes(ow_writer *w, uint32_t place);
/* The place of a track's rows, counters or async slices; HD_NONE: no memory. */
uint32_t ow_place_of(ow_writer *w, ow_place_type type, uint32_t track, uint32_t category);
/* Times outside the trace's own span are written at its near end; true if it was so. */
bool ow_clamp(const ow_writer *w, int64_t *ns);

/* strings.c: references of definitions, which are written at first use; HD_NONE: failed, see w->err. */
uint32_t ow_string(ow_writer *w, uint32_t id);
uint32_t ow_text(ow_writer *w, const char *literal);
uint32_t ow_format(ow_writer *w, const char *format, ...) HD_PRINTF(2, 3);
uint32_t ow_bytes(ow_writer *w, const char *data, size_t size);
/* name: a literal, or NULL: the string `key` of the trace. */
uint32_t ow_attribute_ref(ow_writer *w, const char *name, uint32_t key, OTF2_Type type, const char *description);

/* args.c: to the attributes of the next record. */
hd_status ow_add_args(ow_writer *w, const hd_event *event);
hd_status ow_add_id(ow_writer *w, const hd_event *event);
hd_status ow_add_time(ow_writer *w, int64_t ns);
hd_status ow_add_duration(ow_writer *w, int64_t ns);
hd_status ow_add_category(ow_writer *w, uint32_t category);
hd_status ow_add_name(ow_writer *w, uint32_t name);
/* A location of the track, which has a place for its rows. */
hd_status ow_add_track(ow_writer *w, uint32_t track);
hd_status ow_add_kind(ow_writer *w, const char *kind, char phase); /* a literal; phase 0: none */
hd_status ow_add_phase(ow_writer *w, char phase);
/* Whether an argument of a counter is a number of a series. */
bool ow_is_series(const hd_arg_key *key);
/* A whole argument that is not negative, or `fallback`. */
uint64_t ow_arg_count(const ow_writer *w, const hd_event *event, uint32_t key, uint64_t fallback);
hd_string ow_arg_text(const ow_writer *w, const hd_event *event, uint32_t key);

/* regions.c: region and how it is to be written. */
hd_status ow_region_of(uint32_t *out, ow_writer *w, const hd_event *event);

/* comms.c */
hd_status ow_flow_comm(uint32_t *out, ow_writer *w, const hd_event *event);
hd_status ow_window(ow_writer *w);
hd_status ow_process_group(uint32_t *out, ow_writer *w, const hd_event *event, uint32_t location);
/* The communicator of two ranks, and whether the location is the one with which `own` takes part in it. */
hd_status ow_rank_pair(uint32_t *out, bool *out_takes_part, ow_writer *w, const hd_event *event, uint32_t location,
                       int64_t own, int64_t peer);
uint8_t ow_collective_of(hd_string name);
uint64_t ow_type_bytes(hd_string dtype);
hd_status ow_write_comms(ow_writer *w);

/* metrics.c */
hd_status ow_scan_counters(ow_writer *w);
hd_status ow_write_metric(ow_writer *w, OTF2_EvtWriter *events, const hd_event *event, uint32_t place, uint64_t time);
hd_status ow_write_memory(ow_writer *w, OTF2_EvtWriter *events, const hd_event *event, uint32_t place, uint64_t time);
hd_status ow_write_metrics(ow_writer *w);

/* markers.c. The library keeps them in memory, and viewers show only a few. */
enum { OW_MARKERS_MAX = 100000 };
hd_status ow_write_markers(ow_writer *w);

/* launches.c: the location of the call that launched a copy, by the group of its process; HD_NONE. */
hd_status ow_find_launches(ow_writer *w);
uint32_t ow_launcher_of(const ow_writer *w, const hd_event *event, uint32_t process);

/* events.c */
hd_status ow_write_events(ow_writer *w, uint32_t location);

/* tree.c, devices.c */
hd_status ow_write_tree(ow_writer *w);
enum { OW_NODE_MACHINE, OW_NODE_HOST, OW_NODE_FIRST_DEVICE };
/* The first, with top-level keys and facts of the trace. */
hd_status ow_write_machine(ow_writer *w);
/* The property of a group or location that says its process. */
hd_status ow_put_pid(ow_writer *w, bool is_group, uint64_t ref, hd_ident pid);
hd_status ow_put_clock(ow_writer *w, uint64_t location, int64_t clock_ns);
hd_status ow_write_device_properties(ow_writer *w, uint32_t node, int64_t device);
hd_status ow_node_text(ow_writer *w, uint32_t node, uint32_t name, uint32_t text);
bool ow_is_hip(const ow_writer *w);

#endif
