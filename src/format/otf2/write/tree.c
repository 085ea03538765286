/* tree.c - machine > host > device, location groups, locations
 *
 * Properties of groups and locations have the data of the track: pid, tid, name, labels, sort index, rank, device,
 * stream.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/otf2/write/write.h"

static hd_status write_node(ow_writer *w, uint32_t ref, uint32_t name, const char *class, uint32_t parent,
                            OTF2_SystemTreeDomain domain)
{
    uint32_t class_ref = ow_text(w, class);
    if (name == HD_NONE || class_ref == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteSystemTreeNode(w->defs, ref, name, class_ref, parent));
    OW_TRY(w, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(w->defs, ref, domain));
    return HD_OK;
}

hd_status ow_node_text(ow_writer *w, uint32_t node, uint32_t name, uint32_t text)
{
    if (name == HD_NONE || text == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(w->defs, node, name, OTF2_TYPE_STRING,
                                                               (OTF2_AttributeValue){.stringRef = text}));
    return HD_OK;
}

/* ---- properties ---- */

typedef struct owner {
    bool is_group;
    uint64_t ref;
} owner;

static hd_status put_property(ow_writer *w, owner o, const char *name, OTF2_Type type, OTF2_AttributeValue value)
{
    uint32_t ref = ow_text(w, name);
    if (ref == HD_NONE || (type == OTF2_TYPE_STRING && value.stringRef == HD_NONE)) return w->err->status;
    if (o.is_group)
        OW_TRY(w, OTF2_GlobalDefWriter_WriteLocationGroupProperty(w->defs, (uint32_t)o.ref, ref, type, value));
    else
        OW_TRY(w, OTF2_GlobalDefWriter_WriteLocationProperty(w->defs, o.ref, ref, type, value));
    return HD_OK;
}

static hd_status put_number(ow_writer *w, owner o, const char *name, int64_t number)
{
    if (number == HD_NO_NUMBER) return HD_OK;
    return put_property(w, o, name, OTF2_TYPE_INT64, (OTF2_AttributeValue){.int64 = number});
}

static hd_status put_string(ow_writer *w, owner o, const char *name, uint32_t id)
{
    if (id == HD_STRING_NONE) return HD_OK;
    return put_property(w, o, name, OTF2_TYPE_STRING, (OTF2_AttributeValue){.stringRef = ow_string(w, id)});
}

/* Numbers if they fit, strings and others as text. */
static hd_status put_ident(ow_writer *w, owner o, const char *name, hd_ident ident)
{
    hd_string text = hd_trace_string(w->trace, ident.text);
    char digits[24], again[24], *end;
    if (ident.type == HD_IDENT_NONE) return HD_OK;
    if (ident.type == HD_IDENT_NUMBER && text.size < 20) {
        memcpy(digits, text.data, text.size);
        digits[text.size] = '\0';
        long long number = strtoll(digits, &end, 10);
        snprintf(again, sizeof again, "%lld", number);
        if (strcmp(again, digits) == 0 && number != HD_NO_NUMBER) return put_number(w, o, name, number);
    }
    /* a number that is not an int64 says so by the property's name */
    if (ident.type == HD_IDENT_NUMBER) name = strcmp(name, "pid") == 0 ? "pid number" : "tid number";
    return put_string(w, o, name, ident.text);
}

hd_status ow_put_pid(ow_writer *w, bool is_group, uint64_t ref, hd_ident pid)
{
    return put_ident(w, (owner){is_group, ref}, "pid", pid);
}

hd_status ow_put_clock(ow_writer *w, uint64_t location, int64_t clock_ns)
{
    return clock_ns ? put_number(w, (owner){false, location}, OTF2_CLOCK, clock_ns) : HD_OK;
}

/* ---- names ---- */

#define TEXT(s) (int)((s).size < 4096 ? (s).size : 4096), (s).data

static uint32_t group_name(ow_writer *w, const ow_group *group)
{
    const hd_track *t = group->process == HD_NONE ? NULL : hd_trace_track_at(w->trace, group->process);
    hd_string name = t ? hd_trace_string(w->trace, t->name) : (hd_string){"", 0};
    hd_string pid = t ? hd_trace_string(w->trace, t->pid.text) : (hd_string){"?", 1};
    if (!name.size) name = (hd_string){"process", 7};
    if (group->device != HD_NO_NUMBER && group->rank != HD_NO_NUMBER)
        return ow_format(w, "rank %lld GPU %lld", (long long)group->rank, (long long)group->device);
    if (group->device != HD_NO_NUMBER) return ow_format(w, "GPU %lld", (long long)group->device);
    bool says_rank = name.size > 5 && memcmp(name.data, "rank ", 5) == 0; /* merged ranks: "rank 3: python" */
    bool says_pid = t && t->pid.type == HD_IDENT_STRING;                  /* "Spans (rank 3)" */
    if (group->rank != HD_NO_NUMBER && !says_rank)
        return ow_format(w, "rank %lld %.*s %.*s", (long long)group->rank, TEXT(name), TEXT(pid));
    if (says_rank && says_pid) return ow_format(w, "%.*s", TEXT(name));
    return ow_format(w, "%.*s %.*s", TEXT(name), TEXT(pid));
}

static uint32_t location_name(ow_writer *w, const ow_place *place, uint32_t lane)
{
    const hd_track *t = place->track == HD_NONE ? NULL : hd_trace_track_at(w->trace, place->track);
    hd_string name = t ? hd_trace_string(w->trace, t->name) : (hd_string){"no track", 8};
    hd_string tid = t ? hd_trace_string(w->trace, t->tid.text) : (hd_string){"", 0};
    hd_string category = hd_trace_string(w->trace, place->category);
    char base[5000], number[32] = "";
    if (t && t->kind == HD_TRACK_STREAM && t->device != HD_NO_NUMBER && t->stream != HD_NO_NUMBER)
        snprintf(base, sizeof base, "%s[%lld:%lld]", w->is_hip ? "HIP" : "CUDA", (long long)t->device,
                 (long long)t->stream);
    else if (t && t->kind == HD_TRACK_PROCESS)
        snprintf(base, sizeof base, "process");
    else if (name.size)
        snprintf(base, sizeof base, "%.*s", TEXT(name));
    else
        snprintf(base, sizeof base, "thread %.*s", TEXT(tid));
    if (lane) snprintf(number, sizeof number, " lane %u", lane + 1);
    if (place->type == OW_PLACE_METRICS) return ow_format(w, "%s counters%s", base, number);
    if (place->type == OW_PLACE_ASYNC) return ow_format(w, "%s async %.*s%s", base, TEXT(category), number);
    return ow_format(w, "%s%s", base, number);
}

/* ---- groups and locations ---- */

static hd_status write_group(ow_writer *w, const ow_group *group, uint32_t node)
{
    owner o = {true, group->ref};
    bool device = group->device != HD_NO_NUMBER;
    uint32_t name = group_name(w, group);
    if (name == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteLocationGroup(
                  w->defs, group->ref, name,
                  device ? OTF2_LOCATION_GROUP_TYPE_ACCELERATOR : OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                  group->creator == HD_NONE ? OTF2_UNDEFINED_LOCATION_GROUP : w->groups[group->creator].ref));
    HD_TRY(put_number(w, o, "rank", group->rank));
    HD_TRY(put_number(w, o, "device", group->device));
    if (group->process == HD_NONE) return HD_OK;
    const hd_track *t = hd_trace_track_at(w->trace, group->process);
    HD_TRY(put_ident(w, o, "pid", t->pid));
    if (t->pid.type == HD_IDENT_NONE) HD_TRY(put_number(w, o, "track", 1));
    HD_TRY(put_string(w, o, "name", t->name));
    HD_TRY(put_string(w, o, "labels", t->labels));
    return put_number(w, o, "sort_index", t->sort_index);
}

static hd_status write_location(ow_writer *w, uint32_t ref)
{
    const ow_location *location = &w->locations[ref];
    const ow_place *place = &w->places[location->place];
    const hd_track *t = place->track == HD_NONE ? NULL : hd_trace_track_at(w->trace, place->track);
    owner o = {false, ref};
    OTF2_LocationType type = OTF2_LOCATION_TYPE_CPU_THREAD;
    if (t && t->kind == HD_TRACK_STREAM) type = OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
    if (place->type == OW_PLACE_METRICS) type = OTF2_LOCATION_TYPE_METRIC;
    uint32_t name = location_name(w, place, location->lane);
    if (name == HD_NONE) return w->err->status;
    OW_TRY(w, OTF2_GlobalDefWriter_WriteLocation(w->defs, ref, name, type, location->records,
                                                 w->groups[place->group].ref));
    if (location->has_checksum)
        HD_TRY(
            put_property(w, o, OTF2_CHECKSUM, OTF2_TYPE_UINT64, (OTF2_AttributeValue){.uint64 = location->checksum}));
    if (location->lane) HD_TRY(put_number(w, o, "lane", location->lane + 1));
    if (place->type == OW_PLACE_ASYNC) HD_TRY(put_string(w, o, "category", place->category));
    if (!t) return HD_OK;
    HD_TRY(put_ident(w, o, "pid", t->pid));
    HD_TRY(put_ident(w, o, "tid", t->tid));
    /* a row without a tid, which is not the process */
    if (t->kind != HD_TRACK_PROCESS && t->tid.type == HD_IDENT_NONE) HD_TRY(put_number(w, o, "track", 1));
    HD_TRY(put_number(w, o, "device", t->device));
    HD_TRY(put_number(w, o, "stream", t->stream));
    if (t->kind == HD_TRACK_PROCESS) return HD_OK;
    HD_TRY(put_string(w, o, "name", t->name));
    return put_number(w, o, "sort_index", t->sort_index);
}

static hd_status put_fact(ow_writer *w, const char *name, int64_t number)
{
    if (number == HD_NO_NUMBER) return HD_OK;
    const uint32_t key_id = ow_text(w, name);
    return ow_node_text(w, OW_NODE_MACHINE, key_id, ow_format(w, "%lld", (long long)number));
}

static hd_status write_facts(ow_writer *w)
{
    HD_TRY(put_fact(w, "heddle.rank", hd_trace_facts_of(w->trace)->rank));
    return put_fact(w, "heddle.world_size", hd_trace_facts_of(w->trace)->world_size);
}

/* The name of a communicator joins both. */
static hd_status write_flow_names(ow_writer *w)
{
    for (size_t i = 0; i < w->comm_count; i++) {
        const ow_comm *comm = &w->comms[i];
        if (!comm->is_flow) continue;
        const uint32_t name = ow_format(w, "heddle.flow.%zu.name", i);
        HD_TRY(ow_node_text(w, OW_NODE_MACHINE, name, ow_string(w, comm->flow_name)));
        if (comm->flow_category == HD_STRING_NONE) continue;
        const uint32_t category = ow_format(w, "heddle.flow.%zu.category", i);
        HD_TRY(ow_node_text(w, OW_NODE_MACHINE, category, ow_string(w, comm->flow_category)));
    }
    return HD_OK;
}

/* A long text in pieces, since a definition must fit the library's buffer. */
static hd_status write_value(ow_writer *w, uint32_t name, hd_string text)
{
    enum { PIECE = 1 << 19 };
    do {
        size_t size = text.size < PIECE ? text.size : PIECE;
        while (size < text.size && ((unsigned char)text.data[size] & 0xc0) == 0x80) size--; /* whole letters */
        if (!size) size = text.size < PIECE ? text.size : PIECE;
        HD_TRY(ow_node_text(w, OW_NODE_MACHINE, name, ow_bytes(w, text.data, size)));
        text = (hd_string){text.data + size, text.size - size};
        name = ow_text(w, "metadata, more of it");
    } while (text.size);
    return HD_OK;
}

/* The top-level keys of the input. */
static hd_status write_metadata(ow_writer *w)
{
    for (size_t i = 0; i < hd_trace_metadata_count(w->trace); i++) {
        const hd_metadata *m = hd_trace_metadata_at(w->trace, i);
        hd_string key = hd_trace_string(w->trace, m->key);
        HD_TRY(write_value(w, ow_format(w, "metadata %.*s", TEXT(key)), hd_trace_string(w->trace, m->value)));
    }
    HD_TRY(write_facts(w));
    HD_TRY(write_flow_names(w));
    if (!w->shift) return HD_OK;
    const uint32_t key_id = ow_text(w, "heddle.shift_ns");
    return ow_node_text(w, OW_NODE_MACHINE, key_id, ow_format(w, "%llu", (unsigned long long)w->shift));
}

/* From PyTorch's profiler. */
static uint32_t host_name(ow_writer *w)
{
    hd_string json = hd_trace_metadata_find(w->trace, "hostname");
    bool plain = json.size > 2 && json.data[0] == '"' && !memchr(json.data, '\\', json.size);
    return plain ? ow_bytes(w, json.data + 1, json.size - 2) : ow_text(w, "host");
}

hd_status ow_write_machine(ow_writer *w)
{
    HD_TRY(write_node(w, OW_NODE_MACHINE, ow_text(w, "machine"), "machine", OTF2_UNDEFINED_SYSTEM_TREE_NODE,
                      OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    return write_metadata(w);
}

hd_status ow_write_tree(ow_writer *w)
{
    HD_TRY(ow_write_machine(w));
    HD_TRY(write_node(w, OW_NODE_HOST, host_name(w), "node", OW_NODE_MACHINE, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    for (uint32_t i = 0; i < w->group_count; i++) {
        if (w->groups[i].device == HD_NO_NUMBER) HD_TRY(write_group(w, &w->groups[i], OW_NODE_HOST));
    }
    for (uint32_t i = 0, node = OW_NODE_FIRST_DEVICE; i < w->group_count; i++) {
        if (w->groups[i].device == HD_NO_NUMBER) continue;
        HD_TRY(write_node(w, node, ow_format(w, "%lld", (long long)w->groups[i].device),
                          w->is_hip ? "HIP device" : "CUDA device", OW_NODE_HOST,
                          OTF2_SYSTEM_TREE_DOMAIN_ACCELERATOR_DEVICE));
        HD_TRY(ow_write_device_properties(w, node, w->groups[i].device));
        HD_TRY(write_group(w, &w->groups[i], node++));
    }
    for (uint32_t i = 0; i < w->location_count; i++) HD_TRY(write_location(w, i));
    return HD_OK;
}
