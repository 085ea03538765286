/* read.h - shared by the parts of the OTF2 reader
 *
 *   read.c       an archive from its anchor to the finished trace
 *   defs.c       definitions as the library delivers them
 *   kinds.c      tables: the fields of every definition, names of enumerations
 *   lookup.c     references to definitions, and names of them
 *   tracks.c     location groups and locations -> tracks
 *   location.c   one location: a pass that pairs regions, a pass that makes rows
 *   events.c     regions, metrics, parameters, samples
 *   other.c      every other event, by tables
 *   match.c      the two ends of messages and of RMA and I/O operations
 *   args.c       arguments of one event
 *   own.c        additional data of our own writer: kinds, ids, names, facts
 *   meta.c       definitions -> metadata; markers
 *   ../lint.c    faults of the archive
 *
 * In: an archive. Out: a trace. Begin with read.c.
 */
#ifndef HD_FORMAT_OTF2_READ_READ_H
#define HD_FORMAT_OTF2_READ_READ_H

#include <otf2/otf2.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/map.h"
#include "base/memory/arena.h"
#include "base/memory/vector.h"
#include "format/format.h"
#include "format/otf2/anchor.h"
#include "format/otf2/lint.h"

/* ---- definitions ---- */

/* Those an attribute may refer to first, in the order of OTF2_TYPE_STRING and on. */
typedef enum def_kind {
    DEF_STRING,
    DEF_ATTRIBUTE,
    DEF_LOCATION,
    DEF_REGION,
    DEF_GROUP,
    DEF_METRIC, /* classes and instances share their ids */
    DEF_COMM,
    DEF_PARAMETER,
    DEF_RMA_WIN,
    DEF_SOURCE_CODE_LOCATION,
    DEF_CALLING_CONTEXT,
    DEF_INTERRUPT_GENERATOR,
    DEF_IO_FILE,
    DEF_IO_HANDLE,
    DEF_LOCATION_GROUP,
    DEF_METRIC_MEMBER,
    DEF_SYSTEM_TREE_NODE,
    DEF_IO_PARADIGM,
    DEF_PARADIGM,
    DEF_CALLSITE,
    DEF_CALLPATH,
    DEF_CART_DIMENSION,
    DEF_CART_TOPOLOGY,
    DEF_REFERRED, /* those above have ids, those below belong to one of them */
    DEF_PARADIGM_PROPERTY = DEF_REFERRED,
    DEF_NODE_PROPERTY,
    DEF_NODE_DOMAIN,
    DEF_GROUP_PROPERTY,
    DEF_LOCATION_PROPERTY,
    DEF_CONTEXT_PROPERTY,
    DEF_FILE_PROPERTY,
    DEF_METRIC_RECORDER,
    DEF_CART_COORDINATE,
    DEF_HANDLE_STATE,
    DEF_CALLPATH_PARAMETER,
    DEF_CLOCK_OFFSET,
    DEF_KINDS
} def_kind;

/* Indices of the fields that the reader itself uses; all fields are in def_infos. */
enum { ATTRIBUTE_TYPE = 2 };
enum { LOCATION_TYPE = 1, LOCATION_EVENTS, LOCATION_GROUP };
enum { REGION_DESCRIPTION = 2, REGION_ROLE, REGION_PARADIGM };
enum { GROUP_TYPE = 1, GROUP_PARADIGM, GROUP_FLAGS };
enum { METRIC_CLASS = 2, METRIC_RECORDER, METRIC_SCOPE, METRIC_SCOPE_REF };
enum { COMM_GROUP = 1, COMM_GROUP_B };
enum { WIN_COMM = 1 };
enum { CODE_FILE = 0, CODE_LINE };
enum { CONTEXT_REGION = 0, CONTEXT_CODE, CONTEXT_PARENT };
enum { LOCATION_GROUP_TYPE = 1, LOCATION_GROUP_PARENT, LOCATION_GROUP_CREATOR };
enum { MEMBER_MODE = 3, MEMBER_BASE = 5, MEMBER_EXPONENT, MEMBER_UNIT };
enum { HANDLE_FILE = 1 };
enum { PROPERTY_OWNER = 0, PROPERTY_NAME, PROPERTY_TYPE, PROPERTY_VALUE };

typedef enum field_type { FIELD_END, FIELD_UINT, FIELD_INT, FIELD_REF, FIELD_ENUM, FIELD_VALUE, FIELD_ROOT } field_type;

/* One number of a definition or event, and its meaning. FIELD_VALUE: the previous field is its type. */
typedef struct otf2_field {
    const char *name;
    field_type type;
    def_kind kind;            /* FIELD_REF */
    const char *const *names; /* FIELD_ENUM, ends with NULL */
} otf2_field;

typedef struct def_info {
    const char *plural;       /* key of the metadata, "otf2." before it */
    const char *singular;     /* "region" in "region 17" */
    uint64_t undefined;       /* the id that says "none" */
    const otf2_field *fields; /* ends with FIELD_END */
    const char *list;         /* name of the list, if any */
    field_type list_type;
    def_kind list_kind;
} def_info;

extern const def_info def_infos[DEF_KINDS];
extern const char *const collective_names[];
extern const char *const lock_names[];
extern const char *const sync_names[];
extern const char *const atomic_names[];
extern const char *const io_mode_names[];
extern const char *const io_access_names[];
extern const char *const io_seek_names[];
extern const char *const measurement_names[];
extern const char *const paradigm_names[];
extern const char *const severity_names[];
extern const char *const marker_scope_names[];
unsigned otf2_field_count(const otf2_field *fields);

typedef struct otf2_def {
    uint64_t ref;
    uint64_t *values; /* by field */
    uint64_t *list;
    uint32_t list_count;
    uint32_t name;                /* string id */
    uint32_t category;            /* regions: string id */
    uint32_t track;               /* locations, groups */
    hd_ident ident;               /* locations, groups: the tid or pid that a property gives */
    int64_t number, stream_count; /* groups of accelerators */
    uint32_t open;                /* regions, contexts: 1 + the newest open entry of the location being read */
    uint8_t own_type;             /* attributes of our writer: 1 + the hd_arg_type that the value had */
    uint8_t own_scope;            /* and its hd_arg_scope */
    uint8_t own_role;             /* own_role: if it is a column instead of an argument */
    bool is_flow;                 /* communicators of our writer: name and category are those of its flows */
    bool is_track;                /* locations and groups of our writer: a track without pid or tid */
    bool has_numbers;             /* locations of our writer: number and stream_count are device and stream */
    bool missing;                 /* was referred to and not defined */
    bool has_checksum;            /* locations of our writer: */
    uint64_t checksum;            /* of the file of events */
    int64_t clock_ns;             /* its clock offset at its begin */
    uint32_t first_offset;        /* locations: of their records among the clock offsets, */
    uint32_t offset_count;        /* and how many these are */
    uint32_t joined;              /* its id in the archive that it becomes part of: ../join */
    hd_map *ranks;                /* groups: location or ~location group -> rank */
} otf2_def;

typedef struct def_table {
    otf2_def **list;
    size_t count, capacity;
    hd_map map; /* ref -> index */
} def_table;

/* ---- one location ---- */

/* The role of an attribute of our writer, if it is not an argument. */
typedef enum own_role {
    OWN_NONE,
    OWN_KIND,
    OWN_PHASE,
    OWN_TIME,
    OWN_DURATION,
    OWN_CATEGORY,
    OWN_NAME,
    OWN_TRACK,
    OWN_ID, /* and on: id, id2.local, id2.global as int, string, number */
} own_role;

/* The values of these for the current event. */
typedef struct own_event {
    bool has_kind, has_time, has_duration, has_track;
    hd_kind kind;
    char phase; /* 0: none */
    int64_t time, duration, id;
    uint32_t id_type, category, name, track;
} own_event;

/* A region on its way to its end. */
typedef struct open_region {
    otf2_def *what;
    uint32_t below; /* 1 + the entry of the same region under it, 0: none */
    uint64_t slice;
    bool closed; /* out of turn, from the midst of the stack */
} open_region;

/* An argument that belongs to a slice though it came with its end. */
typedef struct late_arg {
    uint64_t slice, order;
    hd_arg_key key; /* .reserved: an own_role, then it is not an argument */
    int64_t value;
} late_arg;

typedef struct otf2_args {
    hd_arg_key *keys;
    int64_t *values;
    size_t count, key_capacity, value_capacity;
} otf2_args;

/* A list of one of the structs above. */
#define OTF2_LIST(type)                                                                                                \
    struct {                                                                                                           \
        type *at;                                                                                                      \
        size_t count, capacity;                                                                                        \
    }

typedef struct otf2_location {
    otf2_def *def;
    uint32_t track;
    uint64_t end_time; /* ticks of the last enter or leave */
    OTF2_LIST(open_region) stack;
    OTF2_LIST(uint64_t) ends;   /* ticks, by slice */
    OTF2_LIST(uint64_t) strays; /* numbers of the leaves that closed nothing */
    OTF2_LIST(late_arg) late;
    uint64_t leave_count; /* seen in this pass */
    /* the second pass */
    uint64_t slice_count, event_count, last_time;
    size_t stray, late_at;
    bool pending; /* row is held back for the parameters that follow it */
    hd_row row;
    uint64_t collectives[2]; /* begun and not ended: MPI's, those on windows */
    uint64_t comm;           /* 1 + the communicator whose members were looked up last */
} otf2_location;

/* ---- both ends of messages and operations ---- */

typedef struct match_key {
    uint64_t what, from, to, tag; /* what: a communicator, window or handle, with its kind */
} match_key;

typedef struct match_point {
    int64_t id;
    uint32_t name;
    uint32_t next; /* 1 + index */
} match_point;

typedef struct match_queue {
    match_key key;
    uint32_t first, last; /* 1 + index of a point, 0: empty */
    bool begins;          /* the waiting ends are begins */
} match_queue;

typedef struct otf2_matches {
    OTF2_LIST(match_queue) queues;
    OTF2_LIST(match_point) points;
    hd_slots slots; /* of queues */
    uint32_t free_point;
    int64_t next_id;
    uint64_t open;  /* points that wait */
    uint64_t large; /* hd_trace_large_bytes */
} otf2_matches;

typedef struct otf2_marker {
    uint32_t ref, group, category; /* group, category: string ids */
    uint8_t severity;
} otf2_marker;

/* ---- the reader ---- */

typedef struct otf2_reader {
    hd_builder *builder;
    hd_batch *batch;
    const hd_read_options *options;
    hd_error *err;
    hd_status status; /* of a callback */
    const char *path;
    OTF2_Reader *lib;
    otf2_anchor anchor;
    bool wants_args;
    bool is_own; /* our writer wrote it */

    hd_arena arena;
    def_table defs[DEF_KINDS];
    hd_map pids; /* string ids of pids in use */
    int64_t device_count;
    uint64_t definition_count;

    bool has_clock;
    uint64_t resolution, offset, length, realtime; /* ticks a second, ticks, ticks, ns */
    bool has_ps;                                   /* a tick is no whole number of ns */

    uint64_t shift; /* our writer added it to every time */
    own_event own;
    uint32_t own_kinds[HD_KIND_COUNT]; /* string ids of their names */

    otf2_args args;
    otf2_location location;
    otf2_matches matches;
    otf2_lint lint;
    OTF2_LIST(otf2_marker) markers;
    uint64_t done_events, total_events;
    uint64_t late_parameters, relative_metrics;
} otf2_reader;

/* read: an archive with its definitions and tracks; the path must outlive it. The library is silent until it closes. */
hd_status otf2_reader_open(otf2_reader **out, hd_builder *builder, const char *path, const hd_read_options *options,
                           hd_error *err);
void otf2_reader_close(otf2_reader *r); /* NULL is fine */

/* defs */
hd_status otf2_read_definitions(otf2_reader *r);
OTF2_CallbackCode otf2_add_definition(otf2_reader *r, def_kind kind, uint64_t ref, const uint64_t *values,
                                      const void *list, uint32_t list_count, unsigned list_width);
/* Size of a file of the archive, by its path after the archive's stem (".def", "/0.evt"); 0: no such file. */
uint64_t otf2_file_bytes(const otf2_reader *r, const char *end);
/* Remember a failure and stop the library. */
OTF2_CallbackCode otf2_stop(otf2_reader *r, hd_status status);

/* lookup: NULL for "none" (def_info.undefined); an undefined id gets a definition of its own, and a finding. */
otf2_def *otf2_find(otf2_reader *r, def_kind kind, uint64_t ref);
/* The same, "none" being as bad as any other that is not defined; NULL when memory ran out. */
otf2_def *otf2_require(otf2_reader *r, def_kind kind, uint64_t ref);
/* The same, but NULL also for undefined ids, and without a finding. */
otf2_def *otf2_get(const otf2_reader *r, def_kind kind, uint64_t ref);
void otf2_resolve_definitions(otf2_reader *r);
/* String id of the name of a definition; HD_STRING_NONE for none. */
/* Interned text; invalid UTF-8 becomes U+FFFD. */
uint32_t otf2_intern(otf2_reader *r, const char *text);
uint32_t otf2_ref_name(otf2_reader *r, def_kind kind, uint64_t ref);
const char *otf2_enum_name(const otf2_field *field, uint64_t value);

/* tracks */
void otf2_make_tracks(otf2_reader *r);
void otf2_track_of_location(otf2_reader *r, otf2_def *location);
uint32_t otf2_process_track(otf2_reader *r, uint64_t location_group);

/* args */
void otf2_args_clear(otf2_reader *r);
void otf2_arg(otf2_reader *r, uint32_t key, hd_arg_type type, int64_t bits);
void otf2_arg_late(otf2_reader *r, const late_arg *late); /* of a Leave */
void otf2_arg_uint(otf2_reader *r, uint32_t key, uint64_t value);
void otf2_arg_double(otf2_reader *r, uint32_t key, double value);
void otf2_arg_field(otf2_reader *r, const otf2_field *field, const uint64_t *values, unsigned index);
void otf2_arg_value(otf2_reader *r, uint32_t key, OTF2_Type type, OTF2_AttributeValue value);
void otf2_arg_attributes(otf2_reader *r, OTF2_AttributeList *attributes);
/* Know an attribute of our writer by its description: "args json", "event int" … */
void otf2_know_own_attribute(otf2_reader *r, otf2_def *attribute);
/* The row with the arguments collected. */
hd_status otf2_add_row(otf2_reader *r, hd_row *row);
/* The text of a property as a pid or tid; {0} if it can be none. */
hd_ident otf2_ident_of_property(otf2_reader *r, const uint64_t *values);

/* clock */
int64_t otf2_ns(const otf2_reader *r, uint64_t ticks, uint32_t *out_ps);

/* location and events */
hd_status otf2_read_location(otf2_reader *r, otf2_def *location);
void otf2_location_deinit(otf2_location *location);
void otf2_set_event_callbacks(OTF2_EvtReaderCallbacks *callbacks);
void otf2_set_other_callbacks(OTF2_EvtReaderCallbacks *callbacks);
/* Begins an event of the second pass: checks its time, adds the row held back, clears the arguments. */
OTF2_CallbackCode otf2_begin_event(otf2_reader *r, OTF2_TimeStamp time, uint64_t position);
hd_row otf2_row(const otf2_reader *r, hd_kind kind, char phase, uint64_t time);

/* own: archives of our writer */
void otf2_own_prepare(otf2_reader *r); /* reads the properties of the machine */
void otf2_own_know_attribute(otf2_reader *r, otf2_def *attribute);
void otf2_own_name_region(otf2_reader *r, otf2_def *region);
/* Take an attribute that is not an argument. */
void otf2_own_take(otf2_reader *r, const otf2_def *attribute, OTF2_Type type, OTF2_AttributeValue value);
/* Moves the collected values into a row. */
void otf2_own_fill(otf2_reader *r, hd_row *row);
void otf2_own_make_tracks(otf2_reader *r);
hd_status otf2_own_add_names(otf2_reader *r);
hd_status otf2_own_add_metadata(otf2_reader *r);
hd_status otf2_own_add_metric(otf2_reader *r, hd_row *row, const otf2_def *class, uint8_t count, const OTF2_Type *types,
                              const OTF2_MetricValue *values, OTF2_AttributeList *attributes);
hd_status otf2_own_add_flow(otf2_reader *r, hd_row *row, const otf2_def *comm, OTF2_AttributeList *attributes);
/* Adds the second row of an async slice, at its end, from data read later. */
hd_status otf2_own_add_end(otf2_reader *r, const hd_row *begin, uint64_t slice);
int64_t otf2_ns_between(int64_t from, int64_t to); /* never overflows */
void otf2_arg_metric(otf2_reader *r, uint32_t key, OTF2_Type type, OTF2_MetricValue value);

/* match: the id of both ends of an operation. An end takes the oldest begin that waits under its key, and vice versa.
 * *name: the name of the begin, in or out. */
enum { MATCH_MESSAGE = 1, MATCH_RMA = 2, MATCH_IO = 3 };
hd_status otf2_match(int64_t *out, otf2_reader *r, const match_key *key, bool begins, uint32_t *name);
/* Without taking it; false if none waits. */
bool otf2_match_peek(int64_t *out, otf2_reader *r, const match_key *key, uint32_t *name);
void otf2_matches_deinit(otf2_matches *matches);
/* The group of the locations that take part in the communication of a paradigm; NULL if there is none. */
otf2_def *otf2_communication_locations(otf2_reader *r, uint64_t paradigm);
/* The location of a rank of a communicator, or a placeholder. Checks that the rank exists. */
uint64_t otf2_rank_location(otf2_reader *r, uint64_t comm, uint32_t rank);
/* Whether the location being read belongs to the communicator. */
void otf2_check_member(otf2_reader *r, uint64_t comm);

/* meta */
hd_status otf2_add_metadata(otf2_reader *r);
hd_status otf2_read_markers(otf2_reader *r);

#endif
