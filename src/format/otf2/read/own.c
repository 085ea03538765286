/* own.c - reads archives of our own writer back to the original trace
 *
 * The writer stores data that OTF2 has no place for in properties of the machine (top-level keys, rank, shift of times,
 * names of flows), of groups and locations (pid, tid …), and in attributes that are columns (heddle.kind, heddle.phase,
 * id …). docs/formats/otf2.md has the list. An archive may falsely claim to be ours: invalid values are ignored.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "format/otf2/otf2.h"
#include "format/otf2/read/read.h"
#include "trace/text.h"

static hd_string text_of(otf2_reader *r, uint64_t string)
{
    return hd_builder_string(r->builder, otf2_ref_name(r, DEF_STRING, string));
}

int64_t otf2_ns_between(int64_t from, int64_t to)
{
    int64_t out;
    if (__builtin_sub_overflow(to, from, &out)) return to > from ? INT64_MAX : -INT64_MAX;
    return out;
}

/* ---- the machine's properties ---- */

static bool read_number(int64_t *out, hd_string text)
{
    char digits[24], *end;
    if (!text.size || text.size >= sizeof digits) return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    *out = strtoll(digits, &end, 10);
    return end == digits + text.size;
}

/* "heddle.flow.3.name" */
static void take_flow(otf2_reader *r, hd_string name, uint32_t value)
{
    char text[64], what[16];
    uint64_t ref;
    if (name.size >= sizeof text) return;
    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    if (sscanf(text, "heddle.flow.%9" SCNu64 ".%15s", &ref, what) != 2) return;
    otf2_def *comm = otf2_get(r, DEF_COMM, ref);
    if (!comm) return;
    if (strcmp(what, "category") == 0) comm->category = value;
    if (strcmp(what, "name") != 0) return;
    comm->name = value;
    comm->is_flow = true;
}

static void take_property(otf2_reader *r, hd_string name, uint32_t value)
{
    int64_t number;
    hd_string text = hd_builder_string(r->builder, value);
    hd_trace_facts *facts = hd_builder_facts(r->builder);
    if (name.size > 12 && memcmp(name.data, "heddle.flow.", 12) == 0) take_flow(r, name, value);
    if (hd_string_is(name, "heddle.rank") && read_number(&number, text)) facts->rank = number;
    if (hd_string_is(name, "heddle.world_size") && read_number(&number, text)) facts->world_size = number;
    char digits[24], *end;
    if (!hd_string_is(name, "heddle.shift_ns") || text.size >= sizeof digits || !text.size) return;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    uint64_t shift = strtoull(digits, &end, 10);
    if (!*end && shift <= UINT64_C(1) << 63) r->shift = shift;
}

void otf2_own_prepare(otf2_reader *r)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++)
        r->own_kinds[kind] = hd_builder_intern_text(r->builder, hd_kind_name((hd_kind)kind));
    for (size_t i = 0; i < r->defs[DEF_NODE_PROPERTY].count; i++) {
        const uint64_t *values = r->defs[DEF_NODE_PROPERTY].list[i]->values;
        if (values[PROPERTY_TYPE] != OTF2_TYPE_STRING) continue;
        take_property(r, text_of(r, values[PROPERTY_NAME]),
                      otf2_ref_name(r, DEF_STRING, (uint32_t)values[PROPERTY_VALUE]));
    }
}

static bool is_string_property(const uint64_t *values)
{
    return values[PROPERTY_TYPE] == OTF2_TYPE_STRING;
}

/* Reads one top-level key, whose value may continue in the next properties. *at is the last of them. */
static hd_status add_value(otf2_reader *r, size_t *at, hd_string key)
{
    const def_table *table = &r->defs[DEF_NODE_PROPERTY];
    hd_json_out out = {0};
    for (;; (*at)++) {
        hd_string text = text_of(r, (uint32_t)table->list[*at]->values[PROPERTY_VALUE]);
        hd_json_put(&out, text.data, text.size);
        if (*at + 1 >= table->count) break;
        const uint64_t *next = table->list[*at + 1]->values;
        if (!is_string_property(next) || !hd_string_is(text_of(r, next[PROPERTY_NAME]), "metadata, more of it")) break;
    }
    if (!out.failed && !hd_json_valid(out.data, out.size, HD_JSON_DEPTH_LIMIT)) { /* the remaining text as a string */
        hd_json_out quoted = {0};
        hd_json_put_string(&quoted, out.data, out.size);
        free(out.data);
        out = quoted;
    }
    bool failed = out.failed;
    if (!failed) {
        const uint32_t key_id = hd_builder_intern(r->builder, key.data, key.size);
        hd_builder_metadata(r->builder, key_id, hd_builder_intern(r->builder, out.data, out.size), false);
    }
    free(out.data);
    return failed ? HD_NOMEM(r->err) : HD_OK;
}

hd_status otf2_own_add_metadata(otf2_reader *r)
{
    static const char prefix[] = "metadata ";
    const size_t skip = sizeof prefix - 1;
    for (size_t i = 0; i < r->defs[DEF_NODE_PROPERTY].count; i++) {
        const uint64_t *values = r->defs[DEF_NODE_PROPERTY].list[i]->values;
        hd_string name = text_of(r, values[PROPERTY_NAME]);
        if (!is_string_property(values) || name.size < skip || memcmp(name.data, prefix, skip) != 0) continue;
        HD_TRY(add_value(r, &i, (hd_string){name.data + skip, name.size - skip}));
    }
    return r->status;
}

/* ---- regions and attributes ---- */

/* The canonical name is the event's own; the description its category. */
void otf2_own_name_region(otf2_reader *r, otf2_def *region)
{
    uint32_t own = otf2_ref_name(r, DEF_STRING, region->values[1]);
    uint32_t about = otf2_ref_name(r, DEF_STRING, region->values[REGION_DESCRIPTION]);
    bool none =
        hd_builder_string(r->builder, own).size == 0 && hd_string_is(text_of(r, region->values[0]), "(no name)");
    region->name = none ? HD_STRING_NONE : own;
    region->category = hd_builder_string(r->builder, about).size ? about : HD_STRING_NONE;
}

void otf2_own_know_attribute(otf2_reader *r, otf2_def *attribute)
{
    static const char *const ids[] = {"event id int",         "event id string",         "event id number",
                                      "event id2.local int",  "event id2.local string",  "event id2.local number",
                                      "event id2.global int", "event id2.global string", "event id2.global number"};
    static const char *const names[] = {
        [OWN_KIND] = "heddle.kind",         [OWN_PHASE] = "heddle.phase",       [OWN_TIME] = "heddle.time",
        [OWN_DURATION] = "heddle.duration", [OWN_CATEGORY] = "heddle.category", [OWN_NAME] = "heddle.name",
        [OWN_TRACK] = "heddle.track"};
    hd_string name = text_of(r, attribute->values[0]), about = text_of(r, attribute->values[1]);
    if (attribute->own_type) { /* an argument, however it is called */
        if (hd_string_is(name, "(event)")) attribute->name = hd_builder_intern(r->builder, "", 0);
        return;
    }
    for (int role = OWN_KIND; role <= OWN_TRACK; role++) {
        if (hd_string_is(name, names[role])) attribute->own_role = (uint8_t)role;
    }
    for (int i = 0; i < 9 && hd_string_is(name, "id"); i++) {
        if (hd_string_is(about, ids[i])) attribute->own_role = (uint8_t)(OWN_ID + i);
    }
}

static void take_kind(otf2_reader *r, uint32_t name)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (r->own_kinds[kind] != name || kind == HD_KIND_FLOW) continue;
        r->own.kind = (hd_kind)kind;
        r->own.has_kind = true;
    }
}

static void take_id(otf2_reader *r, int which, OTF2_Type type, uint64_t value)
{
    static const uint32_t types[] = {HD_ID_INT, HD_ID_STRING, HD_ID_NUMBER}, scopes[] = {0, HD_ID_LOCAL, HD_ID_GLOBAL};
    int form = which % 3;
    if (type != (form ? OTF2_TYPE_STRING : OTF2_TYPE_INT64)) return;
    r->own.id = form ? otf2_ref_name(r, DEF_STRING, (uint32_t)value) : (int64_t)value;
    hd_string text = form ? hd_builder_string(r->builder, (uint32_t)r->own.id) : (hd_string){"", 0};
    if (form == 2 && !hd_json_valid(text.data, text.size, 1)) form = 1;
    r->own.id_type = types[form] | scopes[which / 3];
}

static void take_track(otf2_reader *r, OTF2_Type type, uint64_t ref)
{
    const otf2_def *location = type == OTF2_TYPE_LOCATION ? otf2_find(r, DEF_LOCATION, ref) : NULL;
    if (!location) return;
    r->own.track = location->track;
    r->own.has_track = true;
}

/* The offset for a time of the location that is not an event's, so that the library does not convert it: interpolated
 * between the two nearest records. The first record is that of the property. */
static int64_t clock_at(const otf2_reader *r, int64_t ns)
{
    enum { TICKS = 1, OFFSET };
    const otf2_def *location = r->location.def;
    if (location->offset_count < 2) return location->clock_ns;
    otf2_def *const *records = r->defs[DEF_CLOCK_OFFSET].list + location->first_offset;
    uint64_t first = records[0]->values[OFFSET], clock = (uint64_t)location->clock_ns;
    uint64_t ticks = (uint64_t)ns + clock + r->shift - first;
    for (uint32_t i = 2; i < location->offset_count && ticks >= records[1]->values[TICKS]; i++) records++;
    const uint64_t *low = records[0]->values, *high = records[1]->values;
    if (high[TICKS] <= low[TICKS]) return location->clock_ns;
    double slope = (double)(int64_t)(high[OFFSET] - low[OFFSET]) / (double)(high[TICKS] - low[TICKS]);
    uint64_t more = (uint64_t)llround(slope * (double)(int64_t)(ticks - low[TICKS]));
    return (int64_t)(clock + low[OFFSET] - first + more);
}

void otf2_own_take(otf2_reader *r, const otf2_def *attribute, OTF2_Type type, OTF2_AttributeValue value)
{
    own_event *own = &r->own;
    uint32_t text = type == OTF2_TYPE_STRING ? otf2_ref_name(r, DEF_STRING, value.stringRef) : HD_STRING_NONE;
    switch ((int)attribute->own_role) {
    case OWN_KIND: take_kind(r, text); break;
    case OWN_PHASE:
        if (hd_builder_string(r->builder, text).size == 1) own->phase = hd_builder_string(r->builder, text).data[0];
        break;
    case OWN_CATEGORY: own->category = text; break;
    case OWN_NAME: own->name = text; break;
    case OWN_TRACK: take_track(r, type, value.uint64); break;
    case OWN_TIME:
    case OWN_DURATION:
        if (type != OTF2_TYPE_INT64 || value.int64 == HD_NO_TIME) break;
        *(attribute->own_role == OWN_TIME ? &own->has_time : &own->has_duration) = true;
        if (attribute->own_role == OWN_DURATION)
            own->duration = value.int64;
        else if (__builtin_add_overflow(value.int64, clock_at(r, value.int64), &own->time))
            own->time = value.int64;
        break;
    default: take_id(r, attribute->own_role - OWN_ID, type, value.uint64); break;
    }
}

/* ---- rows ---- */

/* A phase that events of this kind may have; else the kind's usual one. */
static char phase_for(hd_kind kind, char phase)
{
    static const char *const phases[HD_KIND_COUNT] = {
        [HD_KIND_SLICE] = "XB",  [HD_KIND_END] = "E",      [HD_KIND_INSTANT] = "iIR",
        [HD_KIND_COUNTER] = "C", [HD_KIND_FLOW] = "stf",   [HD_KIND_ASYNC] = "bneSTpF",
        [HD_KIND_SAMPLE] = "P",  [HD_KIND_OBJECT] = "NOD", [HD_KIND_META] = "M"};
    if (kind == HD_KIND_OTHER) return phase > ' ' && phase < 0x7f && phase != '"' && phase != '\\' ? phase : '?';
    return phase && strchr(phases[kind], phase) ? phase : phases[kind][0];
}

static void fill_time(hd_row *row, const own_event *own)
{
    if (!own->has_time) return;
    row->start_ns = own->time;
    row->start_ps = row->end_ps = 0;
    int64_t end;
    bool fits = own->has_duration && own->duration >= 0 && !__builtin_add_overflow(own->time, own->duration, &end);
    if (fits) row->duration_ns = own->duration;
}

void otf2_own_fill(otf2_reader *r, hd_row *row)
{
    const own_event *own = &r->own;
    row->id = own->id;
    row->id_type = own->id_type;
    if (own->has_kind) { /* a slice that says so has no end */
        row->kind = own->kind;
        row->phase = (unsigned char)phase_for(own->kind, own->phase);
        row->duration_ns = HD_NO_TIME;
        row->end_ps = 0;
    }
    fill_time(row, own);
}

hd_status otf2_own_add_end(otf2_reader *r, const hd_row *begin, uint64_t slice)
{
    otf2_location *location = &r->location;
    hd_row end = *begin;
    bool ended = false;
    otf2_args_clear(r);
    if (slice < location->ends.count) end.start_ns = otf2_ns(r, location->ends.at[slice], &end.start_ps);
    for (; location->late_at < location->late.count && location->late.at[location->late_at].slice <= slice;
         location->late_at++) {
        const late_arg *late = &location->late.at[location->late_at];
        if (late->slice != slice) continue;
        if (late->key.reserved == OWN_PHASE && (late->value == 'e' || late->value == 'F')) {
            ended = true;
            end.phase = (unsigned char)late->value;
        } else if (late->key.reserved == OWN_TIME) {
            end.start_ns = late->value;
        } else if (late->key.reserved == OWN_NAME) {
            end.name = (uint32_t)late->value;
        } else if (late->key.reserved == OWN_TRACK) {
            end.track = (uint32_t)late->value;
        } else if (!late->key.reserved) {
            otf2_arg_late(r, late);
        }
    }
    end.shape = 0;
    return ended ? otf2_add_row(r, &end) : HD_OK;
}

hd_status otf2_own_add_flow(otf2_reader *r, hd_row *row, const otf2_def *comm, OTF2_AttributeList *attributes)
{
    otf2_arg_attributes(r, attributes);
    char phase = r->own.phase;
    if (phase == '-') return HD_OK; /* another record represents this point */
    bool upper = phase >= 'A' && phase <= 'Z';
    phase = phase_for(HD_KIND_FLOW, (char)tolower((unsigned char)phase));
    row->phase = (unsigned char)phase | (upper ? HD_FLAG_BIND_ENCLOSING : 0u);
    row->name = comm->name;
    row->category = comm->category;
    row->id = r->own.id;
    row->id_type = r->own.id_type;
    fill_time(row, &r->own);
    return otf2_add_row(r, row);
}

/* A member is called "COUNTER KEY", or COUNTER if the key is "value" or the counter's own name; the key is its
 * description. */
static uint32_t counter_name(otf2_reader *r, const otf2_def *member)
{
    uint32_t key = otf2_ref_name(r, DEF_STRING, member->values[1]),
             whole = otf2_ref_name(r, DEF_STRING, member->values[0]);
    hd_string end = hd_builder_string(r->builder, key), text = hd_builder_string(r->builder, whole);
    if (key == whole || hd_string_is(end, "value") || text.size <= end.size) return whole;
    size_t size = text.size - end.size;
    if (text.data[size - 1] != ' ' || memcmp(text.data + size, end.data, end.size) != 0) return whole;
    return hd_builder_intern(r->builder, text.data, size - 1);
}

hd_status otf2_own_add_metric(otf2_reader *r, hd_row *row, const otf2_def *class, uint8_t count, const OTF2_Type *types,
                              const OTF2_MetricValue *values, OTF2_AttributeList *attributes)
{
    for (uint8_t i = 0; i < count; i++) {
        otf2_def *member = i < class->list_count ? otf2_find(r, DEF_METRIC_MEMBER, class->list[i]) : NULL;
        if (!member) continue;
        if (member->values[2] == OTF2_METRIC_TYPE_OTHER) return HD_OK; /* made from instants, which are there */
        if (member->category == HD_STRING_NONE) member->category = counter_name(r, member);
        if (row->name == HD_STRING_NONE) row->name = member->category;
        otf2_arg_metric(r, otf2_ref_name(r, DEF_STRING, member->values[1]), types[i], values[i]);
    }
    otf2_arg_attributes(r, attributes);
    row->category = r->own.category;
    row->id = r->own.id;
    row->id_type = r->own.id_type;
    fill_time(row, &r->own);
    return otf2_add_row(r, row);
}

/* ---- tracks ---- */

static bool is_ident(hd_string name, const char *what)
{
    size_t size = strlen(what);
    return name.size >= size && memcmp(name.data, what, size) == 0 &&
           (name.size == size || hd_string_is((hd_string){name.data + size, name.size - size}, " number"));
}

static hd_ident read_ident(otf2_reader *r, hd_string name, const uint64_t *values)
{
    bool number = name.size > 4;
    hd_ident ident = otf2_ident_of_property(r, values);
    hd_string text = hd_builder_string(r->builder, ident.text);
    if (number && ident.type == HD_IDENT_STRING && text.size && *text.data != '"' &&
        hd_json_valid(text.data, text.size, 1))
        ident.type = HD_IDENT_NUMBER;
    return ident;
}

/* Finds the process of each group and the track of each location. A location has its pid in addition to its tid: of two
 * groups of one process, its streams and its threads, either may be the track of a pid. */
static void find_tracks(otf2_reader *r, def_kind kind, def_kind properties)
{
    hd_ident *pids = calloc(r->defs[kind].count + 1, sizeof *pids);
    if (!pids) {
        otf2_stop(r, HD_NOMEM(r->err));
        return;
    }
    for (size_t i = 0; i < r->defs[properties].count; i++) {
        const uint64_t *values = r->defs[properties].list[i]->values;
        uint32_t owner;
        hd_string name = text_of(r, values[PROPERTY_NAME]);
        if (!hd_map_get(&owner, &r->defs[kind].map, values[PROPERTY_OWNER], 0)) continue;
        if (is_ident(name, "pid")) pids[owner] = read_ident(r, name, values);
        if (is_ident(name, "tid")) r->defs[kind].list[owner]->ident = read_ident(r, name, values);
        if (hd_string_is(name, "track")) r->defs[kind].list[owner]->is_track = true;
        if (hd_string_is(name, OTF2_CHECKSUM) && values[PROPERTY_TYPE] == OTF2_TYPE_UINT64) {
            r->defs[kind].list[owner]->has_checksum = true;
            r->defs[kind].list[owner]->checksum = values[PROPERTY_VALUE];
        }
        if (hd_string_is(name, OTF2_CLOCK) && values[PROPERTY_TYPE] == OTF2_TYPE_INT64)
            r->defs[kind].list[owner]->clock_ns = (int64_t)values[PROPERTY_VALUE];
    }
    for (size_t i = 0; i < r->defs[kind].count; i++) {
        otf2_def *def = r->defs[kind].list[i];
        bool process = kind == DEF_LOCATION_GROUP || (def->ident.type == HD_IDENT_NONE && !def->is_track);
        if (pids[i].type == HD_IDENT_NONE && process && !def->is_track) continue;
        def->track = hd_builder_track(r->builder, pids[i], process ? (hd_ident){0} : def->ident, process);
    }
    free(pids);
}

static void describe(otf2_reader *r, def_kind kind, otf2_def *def, const uint64_t *values)
{
    hd_string name = text_of(r, values[PROPERTY_NAME]);
    int64_t number = (int64_t)values[PROPERTY_VALUE];
    if (values[PROPERTY_TYPE] == OTF2_TYPE_STRING) {
        uint32_t text = otf2_ref_name(r, DEF_STRING, (uint32_t)number);
        if (hd_string_is(name, "name")) hd_builder_name_track(r->builder, def->track, text);
        if (hd_string_is(name, "labels") && kind == DEF_LOCATION_GROUP)
            hd_builder_label_track(r->builder, def->track, text);
        return;
    }
    if (values[PROPERTY_TYPE] != OTF2_TYPE_INT64) return;
    if (hd_string_is(name, "sort_index")) hd_builder_sort_track(r->builder, def->track, number);
    if (hd_string_is(name, "rank")) hd_builder_set_rank(r->builder, def->track, number);
    if (kind != DEF_LOCATION || def->values[LOCATION_TYPE] != OTF2_LOCATION_TYPE_ACCELERATOR_STREAM) return;
    if (!def->has_numbers) def->number = def->stream_count = HD_NO_NUMBER;
    def->has_numbers = true;
    if (hd_string_is(name, "device")) def->number = number;
    if (hd_string_is(name, "stream")) def->stream_count = number;
}

static void describe_all(otf2_reader *r, def_kind kind, def_kind properties)
{
    for (size_t i = 0; i < r->defs[properties].count; i++) {
        const uint64_t *values = r->defs[properties].list[i]->values;
        otf2_def *def = otf2_get(r, kind, values[PROPERTY_OWNER]);
        if (def && def->track != HD_NONE) describe(r, kind, def, values);
    }
    for (size_t i = 0; i < r->defs[kind].count; i++) {
        const otf2_def *def = r->defs[kind].list[i];
        if (def->has_numbers && def->track != HD_NONE)
            hd_builder_set_stream(r->builder, def->track, def->number, def->stream_count);
    }
}

void otf2_own_make_tracks(otf2_reader *r)
{
    find_tracks(r, DEF_LOCATION_GROUP, DEF_GROUP_PROPERTY);
    find_tracks(r, DEF_LOCATION, DEF_LOCATION_PROPERTY);
    describe_all(r, DEF_LOCATION_GROUP, DEF_GROUP_PROPERTY);
    describe_all(r, DEF_LOCATION, DEF_LOCATION_PROPERTY);
}

/* ---- names and order of tracks, as events ---- */

static hd_status add_name(otf2_reader *r, uint32_t track, const char *name, const char *key, hd_arg_type type,
                          int64_t bits)
{
    hd_row row = hd_row_of(HD_KIND_META, 'M');
    row.track = track;
    row.name = hd_builder_intern_text(r->builder, name);
    otf2_args_clear(r);
    otf2_arg(r, hd_builder_intern_text(r->builder, key), type, bits);
    return otf2_add_row(r, &row);
}

hd_status otf2_own_add_names(otf2_reader *r)
{
    const hd_trace *trace = hd_builder_trace(r->builder);
    bool wants_args = r->wants_args;
    r->wants_args = true;
    hd_status status = HD_OK;
    for (uint32_t i = 0; i < hd_trace_track_count(trace) && status == HD_OK; i++) {
        const hd_track track = *hd_trace_track_at(trace, i);
        bool process = track.kind == HD_TRACK_PROCESS;
        if (track.name)
            status = add_name(r, i, process ? "process_name" : "thread_name", "name", HD_ARG_STRING, track.name);
        if (track.labels && status == HD_OK)
            status = add_name(r, i, "process_labels", "labels", HD_ARG_STRING, track.labels);
        if (track.sort_index != HD_NO_NUMBER && status == HD_OK)
            status = add_name(r, i, process ? "process_sort_index" : "thread_sort_index", "sort_index", HD_ARG_INT,
                              track.sort_index);
    }
    r->wants_args = wants_args;
    otf2_args_clear(r);
    return status == HD_OK ? r->status : status;
}
