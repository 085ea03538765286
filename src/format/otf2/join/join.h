/* join.h - joins archives that our writer made of a job's ranks
 *
 *   join.c      part after part; the files of locations, clocks
 *   defs.c      definitions: numbers of the archive for those of a part
 *   comms.c     groups and communicators, which grow with each part
 *   markers.c   markers
 *
 * Definitions  part after part, as ../read has them: by the tables of kinds.c every reference becomes the archive's.
 *              Definitions equal to one of an earlier part (strings, attributes, regions, classes of metrics, hosts,
 *              communicators of process groups) are shared; the others belong to their part
 * Events       their files move, under the number of their location in the archive. Next to each is a file of local
 *              definitions: tables from the part's numbers to the archive's, and the offsets of its clock, which
 *              readers add to its times
 * Groups       the locations that communicate are those of all parts, one part's after another's; a process group has
 *              the members of all parts
 *
 * In: folders of archives, and the merge of their tracks and metadata. Out: one archive, which depends on these alone.
 */
#ifndef HD_FORMAT_OTF2_JOIN_JOIN_H
#define HD_FORMAT_OTF2_JOIN_JOIN_H

#include "format/otf2/otf2.h"
#include "format/otf2/read/read.h"
#include "format/otf2/write/write.h"
#include "trace/strings.h"

enum { VALUES_MAX = 9 }; /* of the kinds that our writer defines */
#define NO_MEMBER UINT64_MAX

/* Numbered things in addition to the kinds of definitions. */
enum { MARKER_KIND = DEF_KINDS, ABSENT, NUMBERED };

/* A group grows with each part. */
typedef struct join_group {
    uint64_t values[VALUES_MAX];
    int64_t pair[2]; /* of two ranks, the lower is member 0; {0, 0}: it is not a pair */
    OTF2_LIST(uint64_t) members;
} join_group;

/* Defined once all groups are. */
typedef struct join_late {
    def_kind kind;
    uint32_t ref;
    uint64_t values[VALUES_MAX];
} join_late;

typedef struct joiner {
    ow_writer w; /* of the whole: the archive, its strings, its machine */
    const char *folder;
    const hd_format_part *part;     /* at hand */
    otf2_reader *r;                 /* its definitions */
    hd_strings known;               /* possibly shared definitions, as bytes after their kind */
    OTF2_LIST(uint32_t) known_refs; /* its number, by the id of these bytes */
    uint32_t next[NUMBERED];
    uint64_t first_rank[UINT8_MAX + 1]; /* by paradigm: of the part's locations among those that communicate */
    OTF2_LIST(join_group) groups;
    uint64_t first_absent; /* place of the first absent rank among the locations that communicate */
    OTF2_LIST(join_late) late;
    OTF2_MarkerWriter *markers;      /* opened by the first */
    OTF2_LIST(uint32_t) marker_refs; /* of kinds of markers, by the part's */
    size_t marker_count;
    hd_status status; /* of a callback */
} joiner;

/* false: no memory */
#define PUSH(list, ...)                                                                                                \
    (hd_grow((void **)&(list).at, &(list).capacity, (list).count, sizeof *(list).at) &&                                \
     ((list).at[(list).count++] = (__VA_ARGS__), true))

/* ---- join.c ---- */

/* DAMAGED: the part is none that our writer made. */
hd_status oj_refuse(joiner *j, const char *what);

/* ---- defs.c ---- */

/* The number of a definition that is shared by all parts with the same bytes. kind: a def_kind, or one of the
 * additional ones.
 */
hd_status oj_number_shared(uint32_t *out, bool *created, joiner *j, int kind, const void *bytes, size_t size);
/* A reference of the part becomes the archive's. */
hd_status oj_map_ref(uint64_t *ref, joiner *j, def_kind kind);
/* The values of a definition as the archive has them, VALUES_MAX at most. */
hd_status oj_map_values(uint64_t *out, joiner *j, def_kind kind, const otf2_def *def);
OTF2_ErrorCode oj_write_record(joiner *j, def_kind kind, uint32_t ref, const uint64_t *values, const uint32_t *list,
                               uint32_t count);
hd_status oj_join_definitions(joiner *j);

/* ---- comms.c ---- */

bool oj_is_process_group(const otf2_reader *r, const otf2_def *comm);
hd_status oj_join_members(joiner *j, otf2_def *def);
hd_status oj_add_late(joiner *j, def_kind kind, uint32_t ref, const uint64_t *values);
/* Groups, and added definitions, once all parts are in. */
hd_status oj_write_late(joiner *j);

/* ---- markers.c ---- */

hd_status oj_join_markers(joiner *j);

#endif
