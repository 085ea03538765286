/* defs.c - the definitions of a part in terms of the archive */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/otf2/join/join.h"
#include "trace/text.h"

/* ---- numbers ---- */

hd_status oj_number_shared(uint32_t *out, bool *created, joiner *j, int kind, const void *bytes, size_t size)
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

hd_status oj_map_ref(uint64_t *ref, joiner *j, def_kind kind)
{
    if (*ref == def_infos[kind].undefined || kind == DEF_PARADIGM) return HD_OK;
    const otf2_def *def = otf2_get(j->r, kind, *ref);
    if (!def) return oj_refuse(j, "it refers to what it does not define");
    *ref = def->joined;
    return HD_OK;
}

hd_status oj_map_values(uint64_t *out, joiner *j, def_kind kind, const otf2_def *def)
{
    const otf2_field *fields = def_infos[kind].fields;
    for (unsigned i = 0; fields[i].type != FIELD_END; i++) {
        if (i == VALUES_MAX) return oj_refuse(j, "it has definitions of another program");
        out[i] = def->values[i];
        if (fields[i].type == FIELD_REF) HD_TRY(oj_map_ref(&out[i], j, fields[i].kind));
        if (fields[i].type != FIELD_VALUE || def->values[i - 1] != OTF2_TYPE_STRING) continue;
        out[i] = (uint32_t)out[i];
        HD_TRY(oj_map_ref(&out[i], j, DEF_STRING));
    }
    if (kind != DEF_METRIC || out[METRIC_CLASS] == OTF2_UNDEFINED_METRIC) return HD_OK;
    return oj_map_ref(&out[METRIC_SCOPE_REF], j, DEF_LOCATION_GROUP); /* our writer's only scope */
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

OTF2_ErrorCode oj_write_record(joiner *j, def_kind kind, uint32_t ref, const uint64_t *v, const uint32_t *list,
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

/* ---- one definition ---- */

static bool is_shared(const joiner *j, def_kind kind, const otf2_def *def)
{
    switch (kind) {
    case DEF_ATTRIBUTE:
    case DEF_REGION:
    case DEF_METRIC_MEMBER: return true;
    case DEF_METRIC: return def->values[METRIC_CLASS] == OTF2_UNDEFINED_METRIC;
    case DEF_COMM: return oj_is_process_group(j->r, def);
    case DEF_SYSTEM_TREE_NODE: return def->ref == OW_NODE_HOST; /* by its name */
    default: return false;
    }
}

static hd_status join_string(joiner *j, otf2_def *def)
{
    hd_string text = hd_builder_string(j->r->builder, def->name);
    bool created;
    j->next[DEF_STRING] = j->w.string_count;
    HD_TRY(oj_number_shared(&def->joined, &created, j, DEF_STRING, text.data, text.size));
    return !created || ow_bytes(&j->w, text.data, text.size) != HD_NONE ? HD_OK : j->w.err->status;
}

/* The key by which parts share it, values and list; and its number in the archive. */
static hd_status join_referred(joiner *j, def_kind kind, otf2_def *def)
{
    uint64_t key[VALUES_MAX + UINT8_MAX + 1] = {0};
    uint32_t list[UINT8_MAX + 1], count = def->list_count;
    bool created = true;
    if (count > UINT8_MAX) return oj_refuse(j, "it has definitions of another program");
    HD_TRY(oj_map_values(key, j, kind, def));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t member = def->list[i];
        HD_TRY(oj_map_ref(&member, j, def_infos[kind].list_kind));
        key[VALUES_MAX + i] = list[i] = (uint32_t)member;
    }
    if (kind == DEF_PARADIGM) {
        uint32_t unused;
        def->joined = (uint32_t)def->ref;
        HD_TRY(oj_number_shared(&unused, &created, j, kind, &def->ref, sizeof def->ref));
    } else if (is_shared(j, kind, def)) {
        HD_TRY(oj_number_shared(&def->joined, &created, j, kind, key, (VALUES_MAX + count) * sizeof *key));
    } else {
        def->joined = j->next[kind]++;
    }
    if (!created) return HD_OK;
    if (kind == DEF_COMM || kind == DEF_RMA_WIN) return oj_add_late(j, kind, def->joined, key);
    OW_TRY(&j->w, oj_write_record(j, kind, def->joined, key, list, count));
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

/* "heddle.flow.3.name" is about the part's communicator 3. The machine's other properties are written by the whole. */
static hd_status join_flow_name(joiner *j, hd_string name, uint64_t text)
{
    char key[64], what[16];
    uint64_t comm;
    snprintf(key, sizeof key, "%.*s", (int)(name.size < 63 ? name.size : 63), name.data);
    if (sscanf(key, "heddle.flow.%9" SCNu64 ".%15s", &comm, what) != 2) return HD_OK;
    HD_TRY(oj_map_ref(&comm, j, DEF_COMM));
    const uint64_t values[VALUES_MAX] = {OW_NODE_MACHINE, ow_format(&j->w, "heddle.flow.%" PRIu64 ".%s", comm, what),
                                         OTF2_TYPE_STRING, text};
    return values[1] == HD_NONE ? j->w.err->status : oj_add_late(j, DEF_NODE_PROPERTY, 0, values);
}

static hd_status join_property(joiner *j, def_kind kind, const otf2_def *def)
{
    uint64_t values[VALUES_MAX] = {0};
    hd_string name = hd_builder_string(j->r->builder, otf2_ref_name(j->r, DEF_STRING, def->values[PROPERTY_NAME]));
    bool of_node = kind == DEF_NODE_PROPERTY || kind == DEF_NODE_DOMAIN;
    HD_TRY(oj_map_values(values, j, kind, def));
    if (of_node && values[0] == OW_NODE_MACHINE)
        return kind == DEF_NODE_PROPERTY ? join_flow_name(j, name, values[PROPERTY_VALUE]) : HD_OK;
    if (kind == DEF_NODE_DOMAIN) { /* of a host that several parts are on: once */
        uint32_t unused;
        bool created;
        HD_TRY(oj_number_shared(&unused, &created, j, kind, values, 2 * sizeof *values));
        if (!created) return HD_OK;
    }
    if (!of_node && (hd_string_is(name, "pid") || hd_string_is(name, "pid number")))
        return HD_OK; /* written with its owner */
    def_kind owner = kind == DEF_GROUP_PROPERTY ? DEF_LOCATION_GROUP : DEF_LOCATION;
    if (kind == DEF_GROUP_PROPERTY && hd_string_is(name, "track") && pid_of(j, owner, def->values[0]).type)
        return HD_OK;
    OW_TRY(&j->w, oj_write_record(j, kind, 0, values, NULL, 0));
    return HD_OK;
}

static hd_status join_definition(joiner *j, def_kind kind, otf2_def *def)
{
    if (def->missing) return kind == DEF_PARADIGM ? HD_OK : oj_refuse(j, "it refers to what it does not define");
    if (kind >= DEF_REFERRED) return join_property(j, kind, def);
    if (kind == DEF_STRING) return join_string(j, def);
    if (kind == DEF_GROUP) return oj_join_members(j, def);
    if (kind == DEF_SYSTEM_TREE_NODE && def->ref == OW_NODE_MACHINE) return HD_OK; /* that of the whole */
    HD_TRY(join_referred(j, kind, def));
    if (kind == DEF_LOCATION)
        HD_TRY(ow_put_clock(&j->w, def->joined,
                            hd_format_part_offset(NULL, j->part, (int64_t)(j->r->offset - j->r->shift))));
    if (kind != DEF_LOCATION && kind != DEF_LOCATION_GROUP) return HD_OK;
    return ow_put_pid(&j->w, kind == DEF_LOCATION_GROUP, def->joined, pid_of(j, kind, def->ref));
}

hd_status oj_join_definitions(joiner *j)
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
