/* lookup.c - references to definitions, and names of them */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "format/otf2/read/read.h"

/* Interned text in UTF-8: invalid bytes become U+FFFD, except lone surrogates of JSON that our writer kept. */
uint32_t otf2_intern(otf2_reader *r, const char *text)
{
    size_t size = strlen(text), to = 0;
    if (hd_utf8_valid(text, size, r->is_own)) return hd_builder_intern(r->builder, text, size);
    char *clean = malloc(size * 3 + 1);
    if (!clean) return hd_builder_intern(r->builder, "", 0);
    for (size_t at = 0; at < size;) {
        size_t n = 1;
        while (n <= 4 && at + n <= size && !hd_utf8_valid(text + at, n, r->is_own)) n++;
        bool good = n <= 4 && at + n <= size;
        memcpy(clean + to, good ? text + at : "\xef\xbf\xbd", good ? n : 3);
        to += good ? n : 3;
        at += good ? n : 1;
    }
    uint32_t id = hd_builder_intern(r->builder, clean, to);
    free(clean);
    return id;
}

otf2_def *otf2_get(const otf2_reader *r, def_kind kind, uint64_t ref)
{
    uint32_t index;
    return hd_map_get(&index, &r->defs[kind].map, ref, 0) ? r->defs[kind].list[index] : NULL;
}

/* Defines a missing definition, with fields meaning "none" and a name that says so. */
static otf2_def *define_missing(otf2_reader *r, def_kind kind, uint64_t ref)
{
    enum { MOST_FIELDS = 16 };
    const def_info *info = &def_infos[kind];
    uint64_t values[MOST_FIELDS] = {0};
    char name[64];
    for (unsigned i = 0; info->fields[i].type != FIELD_END && i < MOST_FIELDS; i++) {
        if (info->fields[i].type == FIELD_REF) values[i] = def_infos[info->fields[i].kind].undefined;
    }
    uint64_t count = r->definition_count;
    OTF2_CallbackCode code = otf2_add_definition(r, kind, ref, values, NULL, 0, 8);
    r->definition_count = count;
    if (code != OTF2_CALLBACK_SUCCESS) return NULL;
    otf2_def *def = otf2_get(r, kind, ref);
    const char *known = kind == DEF_PARADIGM && ref < OTF2_PARADIGM_KOKKOS + 1 ? paradigm_names[ref] : NULL;
    snprintf(name, sizeof name, "%s %" PRIu64 " (undefined)", info->singular, ref);
    def->name = hd_builder_intern_text(r->builder, known ? known : name);
    def->category = HD_STRING_NONE;
    def->missing = true;
    return def;
}

otf2_def *otf2_require(otf2_reader *r, def_kind kind, uint64_t ref)
{
    const def_info *info = &def_infos[kind];
    otf2_def *def = otf2_get(r, kind, ref);
    if (def && !def->missing) return def;
    if (kind != DEF_PARADIGM || ref > OTF2_PARADIGM_KOKKOS) { /* those that OTF2 names need no definition */
        lint_code code = (lint_code)(LINT_UNDEFINED + (int)kind);
        if (r->location.def)
            otf2_lint_event(&r->lint, code, "%s %" PRIu64 " is not defined", info->singular, ref);
        else
            otf2_lint_place(&r->lint, code, ref, "%s %" PRIu64 " is not defined", info->singular, ref);
    }
    return def ? def : define_missing(r, kind, ref);
}

otf2_def *otf2_find(otf2_reader *r, def_kind kind, uint64_t ref)
{
    return ref == def_infos[kind].undefined ? NULL : otf2_require(r, kind, ref);
}

uint32_t otf2_ref_name(otf2_reader *r, def_kind kind, uint64_t ref)
{
    otf2_def *def = otf2_find(r, kind, ref);
    if (!def) return HD_STRING_NONE;
    if (def->name != HD_STRING_NONE && hd_builder_string(r->builder, def->name).size) return def->name;
    if (kind == DEF_STRING) return def->name;
    char text[64];
    snprintf(text, sizeof text, "%s %" PRIu64, def_infos[kind].singular, def->ref);
    return hd_builder_intern_text(r->builder, text);
}

const char *otf2_enum_name(const otf2_field *field, uint64_t value)
{
    bool modes =
        strcmp(field->name, "mode") == 0 && field->names[0] && strcmp(field->names[0], "ACCUMULATED_START") == 0;
    if (modes) return value <= 0x32 ? field->names[value] : NULL; /* the one list with holes */
    for (uint64_t i = 0; field->names[i]; i++) {
        if (i == value) return field->names[i];
    }
    return NULL;
}

/* ---- once all definitions are read ---- */

static uint32_t join(otf2_reader *r, uint32_t text, uint64_t number)
{
    hd_string string = hd_builder_string(r->builder, text);
    hd_json_out out = {0};
    hd_json_put(&out, string.data, string.size);
    hd_json_put_text(&out, ":");
    hd_json_put_int(&out, (int64_t)number);
    uint32_t id = out.failed ? text : hd_builder_intern(r->builder, out.data, out.size);
    free(out.data);
    return id;
}

static void name_definition(otf2_reader *r, def_kind kind, otf2_def *def)
{
    if (def->missing) return;
    switch (kind) {
    case DEF_SOURCE_CODE_LOCATION:
        def->name = join(r, otf2_ref_name(r, DEF_STRING, def->values[CODE_FILE]), def->values[CODE_LINE]);
        break;
    case DEF_CALLING_CONTEXT: {
        otf2_def *region = otf2_find(r, DEF_REGION, def->values[CONTEXT_REGION]);
        if (!region) break;
        def->name = otf2_ref_name(r, DEF_REGION, region->ref);
        def->category = region->category;
        break;
    }
    default:
        if (strcmp(def_infos[kind].fields[0].name, "name") == 0 && kind != DEF_STRING)
            def->name = otf2_ref_name(r, DEF_STRING, def->values[0]);
    }
    if (kind == DEF_ATTRIBUTE) otf2_know_own_attribute(r, def);
    if (kind == DEF_ATTRIBUTE && r->is_own) otf2_own_know_attribute(r, def);
    if (kind != DEF_REGION) return;
    if (r->is_own)
        otf2_own_name_region(r, def);
    else
        def->category = otf2_ref_name(r, DEF_PARADIGM, def->values[REGION_PARADIGM]);
}

static void check_references(otf2_reader *r, def_kind kind, const otf2_def *def)
{
    const def_info *info = &def_infos[kind];
    for (unsigned i = 0; info->fields[i].type != FIELD_END; i++) {
        if (info->fields[i].type == FIELD_REF) otf2_find(r, info->fields[i].kind, def->values[i]);
    }
    for (uint32_t i = 0; info->list_type == FIELD_REF && i < def->list_count; i++)
        otf2_find(r, info->list_kind, def->list[i]);
}

/* A rank or location is a member once. */
static void check_twice(otf2_reader *r, const otf2_def *def, const char *what)
{
    hd_map seen = {0};
    for (uint32_t i = 0; i < def->list_count; i++) {
        size_t count = seen.count;
        if (!hd_map_set(&seen, def->list[i], 0, i)) {
            otf2_stop(r, HD_NOMEM(r->err));
            break;
        }
        if (seen.count == count)
            otf2_lint_place(&r->lint, LINT_GROUP_MEMBER, def->ref, "group %" PRIu64 " has %s %" PRIu64 " twice",
                            def->ref, what, def->list[i]);
    }
    hd_map_deinit(&seen);
}

/* Members of a group of ranks count through the communication locations of its paradigm. */
static void check_ranks(otf2_reader *r, const otf2_def *def)
{
    const otf2_def *locations = otf2_communication_locations(r, def->values[GROUP_PARADIGM]);
    for (uint32_t i = 0; locations && i < def->list_count; i++) {
        if (def->list[i] < locations->list_count) continue;
        otf2_lint_place(&r->lint, LINT_GROUP_MEMBER, def->ref,
                        "group %" PRIu64 " has member %" PRIu64 " of %" PRIu32 " communication locations", def->ref,
                        def->list[i], locations->list_count);
    }
}

/* The type of a group gives the meaning of its members. */
static void check_group(otf2_reader *r, const otf2_def *def)
{
    bool ranks = def->values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_GROUP;
    bool global = ranks && def->values[GROUP_FLAGS] & OTF2_GROUP_FLAG_GLOBAL_MEMBERS;
    bool of_locations = global || def->values[GROUP_TYPE] == OTF2_GROUP_TYPE_LOCATIONS ||
                        def->values[GROUP_TYPE] == OTF2_GROUP_TYPE_COMM_LOCATIONS;
    if (ranks || of_locations) check_twice(r, def, of_locations ? "location" : "rank");
    if (ranks && !global) check_ranks(r, def);
    static const int kinds[] = {[OTF2_GROUP_TYPE_LOCATIONS] = DEF_LOCATION,
                                [OTF2_GROUP_TYPE_REGIONS] = DEF_REGION,
                                [OTF2_GROUP_TYPE_METRIC] = DEF_METRIC,
                                [OTF2_GROUP_TYPE_COMM_LOCATIONS] = DEF_LOCATION};
    uint64_t type = global ? OTF2_GROUP_TYPE_LOCATIONS : def->values[GROUP_TYPE];
    if (type >= sizeof kinds / sizeof *kinds || !kinds[type]) return;
    for (uint32_t i = 0; i < def->list_count; i++) {
        if (otf2_get(r, (def_kind)kinds[type], def->list[i])) continue;
        otf2_lint_place(&r->lint, LINT_GROUP_MEMBER, def->ref,
                        "group %" PRIu64 " has %s %" PRIu64 ", which is not defined", def->ref,
                        def_infos[kinds[type]].singular, def->list[i]);
    }
}

void otf2_resolve_definitions(otf2_reader *r)
{
    static const def_kind first[] = {DEF_PARADIGM, DEF_REGION, DEF_CALLING_CONTEXT};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) { /* names that are parts of other names */
        for (size_t at = 0; at < r->defs[first[i]].count; at++)
            name_definition(r, first[i], r->defs[first[i]].list[at]);
    }
    for (int kind = 0; kind < DEF_KINDS; kind++) {
        size_t count = r->defs[kind].count; /* missing definitions are added at the end */
        for (size_t at = 0; at < count; at++) {
            otf2_def *def = r->defs[kind].list[at];
            name_definition(r, (def_kind)kind, def);
            check_references(r, (def_kind)kind, def);
            if (kind == DEF_GROUP) check_group(r, def);
        }
    }
}
