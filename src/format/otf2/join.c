/* join.c - archives that our writer made of a job's ranks become one
 *
 * Definitions  part after part, as read/ has them: by the tables of kinds.c every reference becomes the archive's. What
 *              is equal to one of a part before (strings, attributes, regions, classes of metrics, communicators of
 *              process groups) is that one; the others are of their part
 * Events       their files move, under the number of their location in the archive. Beside each lies a file of local
 *              definitions: tables from the part's numbers to the archive's, and the offsets of its clock, which
 *              readers add to its times
 * Groups       the locations that communicate are those of all parts, one part's after another's; a process group has
 *              its members of all
 *
 * In: folders of archives, and the merge of their tracks and metadata. Out: one archive, which depends on these alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/otf2/otf2.h"
#include "format/otf2/read/read.h"
#include "format/otf2/write/write.h"
#include "trace/strings.h"

enum { VALUES_MAX = 9 }; /* of the kinds that our writer defines */
#define NO_MEMBER UINT64_MAX

/* Beside the kinds of definitions, what is numbered. */
enum { MARKER_KIND = DEF_KINDS, ABSENT, NUMBERED };

/* A group grows with each part. */
typedef struct join_group {
    uint64_t values[VALUES_MAX];
    int64_t pair[2]; /* of two ranks, the lower is member 0; {0, 0}: it is no pair */
    OTF2_LIST(uint64_t) members;
} join_group;

/* What is defined when all groups are. */
typedef struct join_late {
    def_kind kind;
    uint32_t ref;
    uint64_t values[VALUES_MAX];
} join_late;

typedef struct joiner {
    ow_writer w; /* of the whole: the archive, its strings, its machine */
    const char *folder;
    const hd_format_part *part; /* at hand */
    size_t part_index;
    otf2_reader *r;                 /* its definitions */
    hd_strings known;               /* what parts may share, as bytes behind its kind */
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

#define PUSH(list, ...)                                                                                                \
    (hd_grow((void **)&(list).at, &(list).capacity, (list).count, sizeof *(list).at) &&                                \
     ((list).at[(list).count++] = (__VA_ARGS__), true))

static hd_status refuse(joiner *j, const char *what)
{
    return hd_error_set(j->w.err, HD_ERR_DAMAGED, j->part->path, HD_OFFSET_NONE, "is no part of an archive: %s", what);
}

/* ---- numbers ---- */

/* What readers add at a time of the part. */
static int64_t offset_at(const hd_format_part *part, int64_t ns)
{
    return part->offset_ns + (int64_t)llround(part->drift * ((double)ns - (double)part->at_ns));
}

/* The number of what is the same in several parts if it has the same bytes. */
static hd_status number_shared(uint32_t *out, bool *created, joiner *j, int kind, const void *bytes, size_t size)
{
    char *key = malloc(size + 1);
    if (!key) return HD_NOMEM(j->w.err);
    key[0] = (char)kind;
    memcpy(key + 1, bytes, size);
    uint32_t id = hd_strings_intern(&j->known, key, size + 1);
    free(key);
    *created = id == j->known_refs.count;
    if (id == HD_STRING_NONE || (*created && !PUSH(j->known_refs, j->next[kind]))) return HD_NOMEM(j->w.err);
    j->next[kind] += *created;
    *out = j->known_refs.at[id];
    return HD_OK;
}

static hd_status map_ref(uint64_t *ref, joiner *j, def_kind kind)
{
    if (*ref == def_infos[kind].undefined || kind == DEF_PARADIGM) return HD_OK;
    const otf2_def *def = otf2_get(j->r, kind, *ref);
    if (!def) return refuse(j, "it refers to what it does not define");
    *ref = def->joined;
    return HD_OK;
}

/* Values as the archive has them. */
static hd_status map_values(uint64_t *out, joiner *j, def_kind kind, const otf2_def *def)
{
    const otf2_field *fields = def_infos[kind].fields;
    for (unsigned i = 0; fields[i].type != FIELD_END; i++) {
        if (i == VALUES_MAX) return refuse(j, "it has definitions of another program");
        out[i] = def->values[i];
        if (fields[i].type == FIELD_REF) HD_TRY(map_ref(&out[i], j, fields[i].kind));
        if (fields[i].type != FIELD_VALUE || def->values[i - 1] != OTF2_TYPE_STRING) continue;
        out[i] = (uint32_t)out[i];
        HD_TRY(map_ref(&out[i], j, DEF_STRING));
    }
    if (kind != DEF_METRIC || out[METRIC_CLASS] == OTF2_UNDEFINED_METRIC) return HD_OK;
    return map_ref(&out[METRIC_SCOPE_REF], j, DEF_LOCATION_GROUP); /* our writer's only scope */
}

/* ---- definitions as records ---- */

static OTF2_AttributeValue value_of(uint64_t value)
{
    return (OTF2_AttributeValue){.uint64 = value};
}

static OTF2_ErrorCode write_metric(OTF2_GlobalDefWriter *defs, uint32_t ref, const uint64_t *v, const uint32_t *list,
                                   uint32_t count)
{
    if (v[METRIC_CLASS] == OTF2_UNDEFINED_METRIC)
        return OTF2_GlobalDefWriter_WriteMetricClass(defs, ref, (uint8_t)count, list, (OTF2_MetricOccurrence)v[0],
                                                     (OTF2_RecorderKind)v[1]);
    return OTF2_GlobalDefWriter_WriteMetricInstance(defs, ref, (uint32_t)v[METRIC_CLASS], v[METRIC_RECORDER],
                                                    (OTF2_MetricScope)v[METRIC_SCOPE], v[METRIC_SCOPE_REF]);
}

#define N(i) (uint32_t) v[i]

static OTF2_ErrorCode write_record(joiner *j, def_kind kind, uint32_t ref, const uint64_t *v, const uint32_t *list,
                                   uint32_t count)
{
    OTF2_GlobalDefWriter *defs = j->w.defs;
    switch (kind) {
    case DEF_PARADIGM:
        return OTF2_GlobalDefWriter_WriteParadigm(defs, (OTF2_Paradigm)ref, N(0), (OTF2_ParadigmClass)v[1]);
    case DEF_ATTRIBUTE: return OTF2_GlobalDefWriter_WriteAttribute(defs, ref, N(0), N(1), (OTF2_Type)v[2]);
    case DEF_SYSTEM_TREE_NODE: return OTF2_GlobalDefWriter_WriteSystemTreeNode(defs, ref, N(0), N(1), N(2));
    case DEF_NODE_DOMAIN:
        return OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(defs, N(0), (OTF2_SystemTreeDomain)v[1]);
    case DEF_NODE_PROPERTY:
        return OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(defs, N(0), N(1), (OTF2_Type)v[2], value_of(v[3]));
    case DEF_LOCATION_GROUP:
        return OTF2_GlobalDefWriter_WriteLocationGroup(defs, ref, N(0), (OTF2_LocationGroupType)v[1], N(2), N(3));
    case DEF_GROUP_PROPERTY:
        return OTF2_GlobalDefWriter_WriteLocationGroupProperty(defs, N(0), N(1), (OTF2_Type)v[2], value_of(v[3]));
    case DEF_LOCATION: return OTF2_GlobalDefWriter_WriteLocation(defs, ref, N(0), (OTF2_LocationType)v[1], v[2], N(3));
    case DEF_LOCATION_PROPERTY:
        return OTF2_GlobalDefWriter_WriteLocationProperty(defs, v[0], N(1), (OTF2_Type)v[2], value_of(v[3]));
    case DEF_REGION:
        return OTF2_GlobalDefWriter_WriteRegion(defs, ref, N(0), N(1), N(2), (OTF2_RegionRole)v[3], (OTF2_Paradigm)v[4],
                                                N(5), N(6), N(7), N(8));
    case DEF_METRIC_MEMBER:
        return OTF2_GlobalDefWriter_WriteMetricMember(defs, ref, N(0), N(1), (OTF2_MetricType)v[2],
                                                      (OTF2_MetricMode)v[3], (OTF2_Type)v[4], (OTF2_Base)v[5],
                                                      (int64_t)v[6], N(7));
    case DEF_METRIC: return write_metric(defs, ref, v, list, count);
    case DEF_COMM: return OTF2_GlobalDefWriter_WriteComm(defs, ref, N(0), N(1), N(3), N(4));
    case DEF_RMA_WIN: return OTF2_GlobalDefWriter_WriteRmaWin(defs, ref, N(0), N(1), N(2));
    default: return OTF2_ERROR_INVALID_ARGUMENT;
    }
}

/* ---- groups and communicators ---- */

static bool is_process_group(const otf2_reader *r, const otf2_def *comm)
{
    const otf2_def *group = otf2_get(r, DEF_GROUP, comm->values[COMM_GROUP]);
    return group && group->values[GROUP_PARADIGM] == OTF2_PARADIGM_MPI;
}

/* "messages of ranks 2 and 5 in …": two members, of which this part has one. */
static hd_status find_pair(joiner *j, join_group *group, const otf2_def *def, bool created)
{
    char name[80];
    hd_string text = hd_builder_string(j->r->builder, def->name);
    snprintf(name, sizeof name, "%.*s", (int)(text.size < 79 ? text.size : 79), text.data);
    if (!created ||
        sscanf(name, "messages of ranks %" SCNd64 " and %" SCNd64 " in", &group->pair[0], &group->pair[1]) != 2)
        return HD_OK;
    return PUSH(group->members, NO_MEMBER) && PUSH(group->members, NO_MEMBER) ? HD_OK : HD_NOMEM(j->w.err);
}

/* Members of COMM_LOCATIONS are locations, those of the others places among these. */
static hd_status join_members(joiner *j, otf2_def *def)
{
    uint64_t values[VALUES_MAX], member;
    HD_TRY(map_values(values, j, DEF_GROUP, def));
    uint64_t *first = &j->first_rank[(uint8_t)values[GROUP_PARADIGM]];
    bool locations = values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_LOCATIONS, created = true;
    bool shared = locations || values[GROUP_PARADIGM] == OTF2_PARADIGM_MPI;
    if (shared)
        HD_TRY(number_shared(&def->joined, &created, j, DEF_GROUP, values + (locations ? 1 : 0), locations ? 16 : 24));
    else
        def->joined = j->next[DEF_GROUP]++;
    if (created && !PUSH(j->groups, (join_group){.members = {0}})) return HD_NOMEM(j->w.err);
    join_group *group = &j->groups.at[def->joined];
    if (created) memcpy(group->values, values, sizeof values);
    if (shared && !locations) HD_TRY(find_pair(j, group, def, created));
    if (locations) *first = group->members.count;
    for (uint32_t i = 0; i < def->list_count; i++) {
        member = def->list[i];
        if (locations) HD_TRY(map_ref(&member, j, DEF_LOCATION));
        if (!locations) member += *first;
        if (group->pair[1]) {
            group->members.at[hd_builder_facts(j->r->builder)->rank == group->pair[1]] = member;
            continue;
        }
        if (!PUSH(group->members, member)) return HD_NOMEM(j->w.err);
    }
    return HD_OK;
}

static hd_status add_late(joiner *j, def_kind kind, uint32_t ref, const uint64_t *values)
{
    join_late late = {.kind = kind, .ref = ref};
    memcpy(late.values, values, sizeof late.values);
    return PUSH(j->late, late) ? HD_OK : HD_NOMEM(j->w.err);
}

/* Readers look for them. */
static hd_status write_empty_files(joiner *j, uint64_t location)
{
    OTF2_DefWriter *defs = OTF2_Archive_GetDefWriter(j->w.archive, location);
    if (!defs) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    OW_TRY(&j->w, OTF2_Archive_CloseDefWriter(j->w.archive, defs));
    OW_TRY(&j->w, OTF2_Archive_OpenEvtFiles(j->w.archive));
    OTF2_EvtWriter *events = OTF2_Archive_GetEvtWriter(j->w.archive, location);
    if (!events) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    OW_TRY(&j->w, OTF2_Archive_CloseEvtWriter(j->w.archive, events));
    OW_TRY(&j->w, OTF2_Archive_CloseEvtFiles(j->w.archive));
    return HD_OK;
}

/* A rank that no part is of, but others sent to or received from: a location without events. */
static hd_status add_absent(uint64_t *out_member, joiner *j, join_group *locations, int64_t rank)
{
    uint32_t place, group, ref, name;
    bool created;
    HD_TRY(number_shared(&place, &created, j, ABSENT, &rank, sizeof rank));
    if (created) {
        name = ow_format(&j->w, "rank %" PRId64 " (not in the archive)", rank);
        group = j->next[DEF_LOCATION_GROUP]++;
        ref = j->next[DEF_LOCATION]++;
        if (name == HD_NONE) return j->w.err->status;
        const uint64_t of_group[] = {name, OTF2_LOCATION_GROUP_TYPE_PROCESS, OW_NODE_MACHINE,
                                     OTF2_UNDEFINED_LOCATION_GROUP},
                       of_location[] = {name, OTF2_LOCATION_TYPE_CPU_THREAD, 0, group};
        OW_TRY(&j->w, write_record(j, DEF_LOCATION_GROUP, group, of_group, NULL, 0));
        OW_TRY(&j->w, write_record(j, DEF_LOCATION, ref, of_location, NULL, 0));
        HD_TRY(write_empty_files(j, ref));
        if (place == 0) j->first_absent = locations->members.count;
        if (!PUSH(locations->members, ref)) return HD_NOMEM(j->w.err);
    }
    *out_member = j->first_absent + place;
    return HD_OK;
}

static hd_status fill_pairs(joiner *j)
{
    join_group *locations = NULL;
    for (size_t i = 0; i < j->groups.count; i++) {
        join_group *group = &j->groups.at[i];
        bool is_mpi = group->values[GROUP_PARADIGM] == OTF2_PARADIGM_MPI;
        if (is_mpi && group->values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_LOCATIONS) locations = group;
        for (int side = 0; side < 2 && group->pair[1] && locations; side++) {
            uint64_t *member = &group->members.at[side];
            if (*member == NO_MEMBER) HD_TRY(add_absent(member, j, locations, group->pair[side]));
        }
    }
    return HD_OK;
}

static hd_status write_late(joiner *j)
{
    HD_TRY(fill_pairs(j));
    for (uint32_t i = 0; i < j->groups.count; i++) {
        const join_group *g = &j->groups.at[i];
        OW_TRY(&j->w, OTF2_GlobalDefWriter_WriteGroup(j->w.defs, i, (uint32_t)g->values[0],
                                                      (OTF2_GroupType)g->values[GROUP_TYPE],
                                                      (OTF2_Paradigm)g->values[GROUP_PARADIGM], OTF2_GROUP_FLAG_NONE,
                                                      (uint32_t)g->members.count, g->members.at));
    }
    for (size_t i = 0; i < j->late.count; i++) {
        const join_late *late = &j->late.at[i];
        OW_TRY(&j->w, write_record(j, late->kind, late->ref, late->values, NULL, 0));
    }
    return HD_OK;
}

/* ---- one definition ---- */

static bool is_shared(const joiner *j, def_kind kind, const otf2_def *def)
{
    switch (kind) {
    case DEF_ATTRIBUTE:
    case DEF_REGION:
    case DEF_METRIC_MEMBER: return true;
    case DEF_METRIC: return def->values[METRIC_CLASS] == OTF2_UNDEFINED_METRIC;
    case DEF_COMM: return is_process_group(j->r, def);
    case DEF_SYSTEM_TREE_NODE: return def->ref == OW_NODE_HOST; /* by its name */
    default: return false;
    }
}

static hd_status join_string(joiner *j, otf2_def *def)
{
    hd_string text = hd_builder_string(j->r->builder, def->name);
    bool created;
    j->next[DEF_STRING] = j->w.string_count;
    HD_TRY(number_shared(&def->joined, &created, j, DEF_STRING, text.data, text.size));
    return !created || ow_bytes(&j->w, text.data, text.size) != HD_NONE ? HD_OK : j->w.err->status;
}

/* The key under which parts share it, values and list; and what it is in the archive. */
static hd_status join_referred(joiner *j, def_kind kind, otf2_def *def)
{
    uint64_t key[VALUES_MAX + UINT8_MAX + 1] = {0};
    uint32_t list[UINT8_MAX + 1], count = def->list_count;
    bool created = true;
    if (count > UINT8_MAX) return refuse(j, "it has definitions of another program");
    HD_TRY(map_values(key, j, kind, def));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t member = def->list[i];
        HD_TRY(map_ref(&member, j, def_infos[kind].list_kind));
        key[VALUES_MAX + i] = list[i] = (uint32_t)member;
    }
    if (kind == DEF_PARADIGM) {
        uint32_t unused;
        def->joined = (uint32_t)def->ref;
        HD_TRY(number_shared(&unused, &created, j, kind, &def->ref, sizeof def->ref));
    } else if (is_shared(j, kind, def)) {
        HD_TRY(number_shared(&def->joined, &created, j, kind, key, (VALUES_MAX + count) * sizeof *key));
    } else {
        def->joined = j->next[kind]++;
    }
    if (!created) return HD_OK;
    if (kind == DEF_COMM || kind == DEF_RMA_WIN) return add_late(j, kind, def->joined, key);
    OW_TRY(&j->w, write_record(j, kind, def->joined, key, list, count));
    return HD_OK;
}

/* The pid of a group or location of the part, in the whole. */
static hd_ident pid_of(const joiner *j, def_kind kind, uint64_t ref)
{
    const otf2_def *def = otf2_get(j->r, kind, ref);
    const hd_track *track =
        def && def->track != HD_NONE ? hd_trace_track_at(j->w.trace, j->part->first_track + def->track) : NULL;
    return track ? track->pid : (hd_ident){0};
}

static bool is_text(hd_string text, const char *wanted)
{
    return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

/* "heddle.flow.3.name" is of the part's communicator 3. The other properties of the machine are those of the whole. */
static hd_status join_flow_name(joiner *j, hd_string name, uint64_t text)
{
    char key[64], what[16];
    uint64_t comm;
    snprintf(key, sizeof key, "%.*s", (int)(name.size < 63 ? name.size : 63), name.data);
    if (sscanf(key, "heddle.flow.%9" SCNu64 ".%15s", &comm, what) != 2) return HD_OK;
    HD_TRY(map_ref(&comm, j, DEF_COMM));
    const uint64_t values[VALUES_MAX] = {OW_NODE_MACHINE, ow_format(&j->w, "heddle.flow.%" PRIu64 ".%s", comm, what),
                                         OTF2_TYPE_STRING, text};
    return values[1] == HD_NONE ? j->w.err->status : add_late(j, DEF_NODE_PROPERTY, 0, values);
}

static hd_status join_property(joiner *j, def_kind kind, const otf2_def *def)
{
    uint64_t values[VALUES_MAX] = {0};
    hd_string name = hd_builder_string(j->r->builder, otf2_ref_name(j->r, DEF_STRING, def->values[PROPERTY_NAME]));
    bool of_node = kind == DEF_NODE_PROPERTY || kind == DEF_NODE_DOMAIN;
    HD_TRY(map_values(values, j, kind, def));
    if (of_node && values[0] == OW_NODE_MACHINE)
        return kind == DEF_NODE_PROPERTY ? join_flow_name(j, name, values[PROPERTY_VALUE]) : HD_OK;
    if (kind == DEF_NODE_DOMAIN) { /* of a host that several parts are on: once */
        uint32_t unused;
        bool created;
        HD_TRY(number_shared(&unused, &created, j, kind, values, 2 * sizeof *values));
        if (!created) return HD_OK;
    }
    if (!of_node && (is_text(name, "pid") || is_text(name, "pid number"))) return HD_OK; /* written with its owner */
    def_kind owner = kind == DEF_GROUP_PROPERTY ? DEF_LOCATION_GROUP : DEF_LOCATION;
    if (kind == DEF_GROUP_PROPERTY && is_text(name, "track") && pid_of(j, owner, def->values[0]).type) return HD_OK;
    OW_TRY(&j->w, write_record(j, kind, 0, values, NULL, 0));
    return HD_OK;
}

static hd_status join_definition(joiner *j, def_kind kind, otf2_def *def)
{
    if (def->missing) return kind == DEF_PARADIGM ? HD_OK : refuse(j, "it refers to what it does not define");
    if (kind >= DEF_REFERRED) return join_property(j, kind, def);
    if (kind == DEF_STRING) return join_string(j, def);
    if (kind == DEF_GROUP) return join_members(j, def);
    if (kind == DEF_SYSTEM_TREE_NODE && def->ref == OW_NODE_MACHINE) return HD_OK; /* that of the whole */
    HD_TRY(join_referred(j, kind, def));
    if (kind == DEF_LOCATION)
        HD_TRY(ow_put_clock(&j->w, def->joined, offset_at(j->part, (int64_t)(j->r->offset - j->r->shift))));
    if (kind != DEF_LOCATION && kind != DEF_LOCATION_GROUP) return HD_OK;
    return ow_put_pid(&j->w, kind == DEF_LOCATION_GROUP, def->joined, pid_of(j, kind, def->ref));
}

static hd_status join_definitions(joiner *j)
{
    /* Each refers to those before. */
    static const def_kind kinds[] = {DEF_STRING,
                                     DEF_PARADIGM,
                                     DEF_ATTRIBUTE,
                                     DEF_SYSTEM_TREE_NODE,
                                     DEF_NODE_DOMAIN,
                                     DEF_LOCATION_GROUP,
                                     DEF_GROUP_PROPERTY,
                                     DEF_LOCATION,
                                     DEF_LOCATION_PROPERTY,
                                     DEF_REGION,
                                     DEF_METRIC_MEMBER,
                                     DEF_METRIC,
                                     DEF_GROUP,
                                     DEF_COMM,
                                     DEF_RMA_WIN,
                                     DEF_NODE_PROPERTY};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const def_table *table = &j->r->defs[kinds[k]];
        for (size_t i = 0; i < table->count; i++) HD_TRY(join_definition(j, kinds[k], table->list[i]));
    }
    return HD_OK;
}

/* ---- files of a location ---- */

static void path_of(char out[4200], const char *folder, uint64_t location, const char *extension)
{
    snprintf(out, 4200, "%s/traces/%" PRIu64 ".%s", folder, location, extension);
}

static hd_status move_events(joiner *j, const otf2_def *location)
{
    char from[4200], to[4200];
    snprintf(from, sizeof from, "%.*s/%" PRIu64 ".evt", (int)(strlen(j->part->path) - strlen(".otf2")), j->part->path,
             location->ref);
    path_of(to, j->folder, location->joined, "evt");
    if (rename(from, to) == 0 || errno == ENOENT) return HD_OK; /* one without events has no file */
    return hd_error_set(j->w.err, HD_ERR_IO, from, HD_OFFSET_NONE, "cannot be moved: %s", strerror(errno));
}

static hd_status write_table(joiner *j, OTF2_DefWriter *out, def_kind kind)
{
    const def_table *table = &j->r->defs[kind];
    uint64_t *ids = calloc(table->count + 1, sizeof *ids);
    bool same = true, dense = true;
    if (!ids) return HD_NOMEM(j->w.err);
    for (size_t i = 0; i < table->count; i++) {
        const otf2_def *def = table->list[i];
        dense = dense && def->ref < table->count;
        if (dense) ids[def->ref] = def->joined;
        same = same && def->ref == def->joined;
    }
    OTF2_IdMap *map = dense && !same ? OTF2_IdMap_CreateFromUint64Array(table->count, ids, false) : NULL;
    free(ids);
    if (!dense) return refuse(j, "its definitions are not numbered in a row");
    if (same) return HD_OK;
    if (!map) return HD_NOMEM(j->w.err);
    OTF2_ErrorCode code = OTF2_DefWriter_WriteMappingTable(out, (OTF2_MappingType)kind, map);
    OTF2_IdMap_Free(map);
    OW_TRY(&j->w, code);
    return HD_OK;
}

/* At its first and last time: readers take the line through both, and with one do nothing. */
static hd_status write_offsets(joiner *j, OTF2_DefWriter *out)
{
    const double bars = 2.575829; /* standard deviations that 99 % lie within */
    const hd_format_part *part = j->part;
    const otf2_reader *r = j->r;
    const uint64_t times[] = {r->offset, r->offset + (r->length ? r->length : 1)};
    for (int i = 0; i < 2; i++) {
        int64_t offset = offset_at(part, (int64_t)(times[i] - r->shift));
        offset = (int64_t)((uint64_t)offset - r->shift + j->w.shift);
        if (part->drift == 0 && offset == 0 && part->bar_ns == 0) break;
        OW_TRY(&j->w, OTF2_DefWriter_WriteClockOffset(out, times[i], offset, (double)part->bar_ns / bars));
    }
    return HD_OK;
}

/* All locations of a part have the same; the library clears 4 MiB for each that it writes, so it writes one. */
static hd_status write_local_definitions(joiner *j)
{
    const def_table *locations = &j->r->defs[DEF_LOCATION];
    char first[4200], path[4200];
    OTF2_DefWriter *out = OTF2_Archive_GetDefWriter(j->w.archive, locations->list[0]->joined);
    if (!out) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    for (int kind = DEF_STRING; kind <= DEF_RMA_WIN; kind++) HD_TRY(write_table(j, out, (def_kind)kind));
    HD_TRY(write_offsets(j, out));
    OW_TRY(&j->w, OTF2_Archive_CloseDefWriter(j->w.archive, out));
    path_of(first, j->folder, locations->list[0]->joined, "def");
    for (size_t i = 0; i < locations->count; i++) {
        path_of(path, j->folder, locations->list[i]->joined, "def");
        if (i) HD_TRY(ow_copy_file(&j->w, first, path));
        HD_TRY(move_events(j, locations->list[i]));
    }
    return HD_OK;
}

/* ---- clocks ---- */

/* The span of all times; those that are bent are rounded by whoever reads them. */
static hd_status widen_span(joiner *j)
{
    const otf2_reader *r = j->r;
    uint64_t events = 0;
    int64_t low = (int64_t)(r->offset - r->shift), high, bent = j->part->drift != 0;
    for (size_t i = 0; i < r->defs[DEF_LOCATION].count; i++)
        events += r->defs[DEF_LOCATION].list[i]->values[LOCATION_EVENTS];
    if (!events) return HD_OK;
    if (__builtin_add_overflow(low, (int64_t)r->length, &high) ||
        __builtin_add_overflow(high, offset_at(j->part, high) + bent, &high) ||
        __builtin_add_overflow(low, offset_at(j->part, low) - bent, &low))
        return hd_error_set(j->w.err, HD_ERR_LIMIT, j->part->path, HD_OFFSET_NONE,
                            "its times with the offset of its "
                            "clock are beyond 2^63");
    if (low < j->w.low_ns) j->w.low_ns = low;
    if (high > j->w.high_ns) j->w.high_ns = high;
    return HD_OK;
}

/* ---- markers ---- */

static OTF2_CallbackCode stop(joiner *j, hd_status status)
{
    if (j->status == HD_OK) j->status = status;
    return status == HD_OK ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

/* Kinds are numbered in a row. */
static hd_status join_marker_kind(joiner *j, OTF2_MarkerRef self, const char *group, const char *category,
                                  OTF2_MarkerSeverity severity)
{
    uint32_t ref = 0;
    bool created = false;
    if (!j->markers && !(j->markers = OTF2_Archive_GetMarkerWriter(j->w.archive)))
        return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    HD_TRY(number_shared(&ref, &created, j, MARKER_KIND, category, strlen(category)));
    if (created) OW_TRY(&j->w, OTF2_MarkerWriter_WriteDefMarker(j->markers, ref, group, category, severity));
    if (self != j->marker_refs.count) return refuse(j, "its markers are not numbered in a row");
    return PUSH(j->marker_refs, ref) ? HD_OK : HD_NOMEM(j->w.err);
}

static OTF2_CallbackCode on_marker_kind(void *user, OTF2_MarkerRef self, const char *group, const char *category,
                                        OTF2_MarkerSeverity severity)
{
    joiner *j = user;
    return stop(j, join_marker_kind(j, self, group, category, severity));
}

/* Offsets of clocks are of locations, so they are added here. */
static hd_status join_marker(joiner *j, uint64_t time, uint64_t duration, OTF2_MarkerRef kind, OTF2_MarkerScope scope,
                             const char *text)
{
    if (kind >= j->marker_refs.count || scope != OTF2_MARKER_SCOPE_GLOBAL) return refuse(j, "its markers are not ours");
    if (j->marker_count++ >= OW_MARKERS_MAX) return HD_OK;
    int64_t ns = (int64_t)(time - j->r->shift);
    time = (uint64_t)ns + (uint64_t)offset_at(j->part, ns) + j->w.shift;
    OW_TRY(&j->w, OTF2_MarkerWriter_WriteMarker(j->markers, time, duration, j->marker_refs.at[kind], scope, 0, text));
    return HD_OK;
}

static OTF2_CallbackCode on_marker(void *user, OTF2_TimeStamp time, OTF2_TimeStamp duration, OTF2_MarkerRef kind,
                                   OTF2_MarkerScope scope, uint64_t scope_ref, const char *text)
{
    joiner *j = user;
    (void)scope_ref;
    return stop(j, join_marker(j, time, duration, kind, scope, text));
}

static hd_status join_markers(joiner *j)
{
    OTF2_Reader *lib = j->r->lib;
    uint64_t most = otf2_file_bytes(j->r, ".marker"), count;
    if (!most) return HD_OK;
    OTF2_MarkerReader *reader = OTF2_Reader_GetMarkerReader(lib);
    OTF2_MarkerReaderCallbacks *callbacks = reader ? OTF2_MarkerReaderCallbacks_New() : NULL;
    if (!callbacks) return ow_error(&j->w, OTF2_ERROR_MEM_FAULT);
    j->marker_refs.count = 0;
    OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(callbacks, on_marker_kind);
    OTF2_MarkerReaderCallbacks_SetMarkerCallback(callbacks, on_marker);
    OTF2_Reader_RegisterMarkerCallbacks(lib, reader, callbacks, j);
    OTF2_MarkerReaderCallbacks_Delete(callbacks);
    OTF2_ErrorCode code = OTF2_Reader_ReadMarkers(lib, reader, most, &count);
    OTF2_Reader_CloseMarkerReader(lib, reader);
    HD_TRY(j->status);
    OW_TRY(&j->w, code);
    return HD_OK;
}

/* ---- all parts ---- */

typedef hd_status join_step(joiner *j);

static hd_status join_part(joiner *j)
{
    HD_TRY(join_definitions(j));
    HD_TRY(join_markers(j));
    return write_local_definitions(j);
}

static hd_status for_each_part(joiner *j, const hd_format_part *parts, size_t count, join_step *step)
{
    const hd_read_options options = {.strict = true};
    for (size_t i = 0; i < count; i++) {
        hd_builder *builder;
        j->part = &parts[i];
        HD_TRY(hd_builder_new(&builder, j->w.err));
        hd_status status = otf2_reader_open(&j->r, builder, parts[i].path, &options, j->w.err);
        if (status == HD_OK && !j->r->defs[DEF_LOCATION].count) status = refuse(j, "it has no locations");
        if (status == HD_OK) status = step(j);
        otf2_reader_close(j->r);
        hd_builder_free(builder);
        HD_TRY(status);
    }
    return HD_OK;
}

static hd_status join_all(joiner *j, const hd_format_part *parts, size_t count)
{
    HD_TRY(for_each_part(j, parts, count, widen_span));
    if (j->w.low_ns > j->w.high_ns) j->w.low_ns = j->w.high_ns = 0;
    if (j->w.low_ns < 0) j->w.shift = 0 - (uint64_t)j->w.low_ns;
    HD_TRY(ow_open_archive(&j->w, j->folder));
    HD_TRY(ow_write_clock(&j->w));
    OW_TRY(&j->w, OTF2_Archive_OpenDefFiles(j->w.archive));
    HD_TRY(ow_write_machine(&j->w));
    HD_TRY(for_each_part(j, parts, count, join_part));
    HD_TRY(write_late(j));
    if (j->markers) OW_TRY(&j->w, OTF2_Archive_CloseMarkerWriter(j->w.archive, j->markers));
    OW_TRY(&j->w, OTF2_Archive_CloseDefFiles(j->w.archive));
    return ow_close_archive(&j->w, j->folder);
}

static void deinit(joiner *j)
{
    for (size_t i = 0; i < j->groups.count; i++) free(j->groups.at[i].members.at);
    free(j->groups.at);
    free(j->late.at);
    free(j->marker_refs.at);
    free(j->known_refs.at);
    hd_strings_deinit(&j->known);
    ow_deinit(&j->w);
}

hd_status otf2_join(const char *folder, const hd_format_part *parts, size_t count, const hd_trace *whole, hd_error *err)
{
    hd_error own = {0};
    joiner j = {.folder = folder};
    j.w =
        (ow_writer){.trace = whole, .err = err ? err : &own, .path = folder, .low_ns = INT64_MAX, .high_ns = INT64_MIN};
    j.next[DEF_SYSTEM_TREE_NODE] = OW_NODE_HOST;
    HD_TRY(hd_strings_init(&j.known, j.w.err));
    otf2_be_quiet(true);
    j.w.string_refs = calloc((size_t)hd_trace_string_count(whole) + 1, sizeof *j.w.string_refs);
    hd_status status = j.w.string_refs && PUSH(j.known_refs, 0) ? join_all(&j, parts, count) : HD_NOMEM(j.w.err);
    deinit(&j);
    otf2_be_quiet(false);
    return status;
}
