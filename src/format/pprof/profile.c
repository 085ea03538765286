/* profile.c - shared by the forms of a profile: samples with labels, metadata, and detection of the form */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "format/pprof/pprof.h"

static const hd_stack_code codes[] = {
    [PPROF_TRUNCATED] = {"pprof.truncated", HD_LEDGER_LOSS, NULL},
    [PPROF_DAMAGED] = {"pprof.message-damaged", HD_LEDGER_LOSS, NULL},
    [PPROF_UNKNOWN] = {"pprof.unknown-field", HD_LEDGER_LOSS, NULL},
    [PPROF_MISSING] = {"pprof.reference-missing", HD_LEDGER_LOSS, NULL},
    [PPROF_VALUE_COUNT] = {"pprof.value-count", HD_LEDGER_LOSS, NULL},
    [PPROF_LABEL] = {"pprof.label-lost", HD_LEDGER_LOSS, NULL},
    [PPROF_UTF8] = {"pprof.utf8", HD_LEDGER_REPAIR, NULL},
    [PPROF_LINE] = {"pprof.line-unreadable", HD_LEDGER_LOSS, NULL},
    [PPROF_SIGNAL_FRAMES] = {"pprof.signal-frames", HD_LEDGER_NOTE, NULL},
};

hd_status pprof_count(pprof_profile *p, pprof_code code, uint64_t count, const void *place)
{
    const uint8_t *at = place;
    const hd_line line = {.offset = at ? (uint64_t)(at - p->data) : HD_OFFSET_NONE};
    return hd_stack_samples_count(&p->samples, code, count, &line);
}

hd_status pprof_intern(uint32_t *out, pprof_profile *p, hd_string text)
{
    size_t repaired;
    const char *place = text.data;
    hd_string fine = hd_stack_samples_utf8(&p->samples, &repaired, text);
    *out = hd_builder_intern(p->builder, fine.data, fine.size);
    if (*out == HD_STRING_NONE) return HD_NOMEM(p->err);
    return pprof_count(p, PPROF_UTF8, repaired, place);
}

/* ---- types ---- */

hd_status pprof_add_type(pprof_profile *p, hd_string name, hd_string unit)
{
    pprof_type type = {0};
    if (p->type_count == PPROF_VALUES) return pprof_count(p, PPROF_VALUE_COUNT, 1, NULL);
    HD_TRY(pprof_intern(&type.name, p, name));
    if (unit.size) HD_TRY(pprof_intern(&type.unit, p, unit));
    for (size_t i = 0; i < p->type_count; i++) {
        if (p->types[i].name != type.name) continue;
        p->text.size = 0; /* weights of one name are added up: another unit is another name */
        hd_bytes_put(&p->text, name.data, name.size);
        hd_bytes_put_u8(&p->text, '/');
        hd_bytes_put(&p->text, unit.data, unit.size);
        if (p->text.failed) return HD_NOMEM(p->err);
        HD_TRY(pprof_intern(&type.name, p, (hd_string){(char *)p->text.data, p->text.size}));
        break;
    }
    p->types[p->type_count++] = type;
    return HD_OK;
}

/* ---- samples ---- */

/* A key that is there already, or that a sample has anyway, gets a number. */
static uint32_t free_key(pprof_profile *p, uint32_t key)
{
    hd_string text = hd_builder_string(p->builder, key);
    unsigned same = text.size == 6 && memcmp(text.data, "weight", 6) == 0;
    char number[16];
    for (uint32_t i = 0; i < p->label_count; i++) {
        hd_string other = hd_builder_string(p->builder, p->keys[i].key);
        bool numbered = other.size > text.size && other.data[text.size] == '#';
        same += other.size >= text.size && memcmp(other.data, text.data, text.size) == 0 &&
                (other.size == text.size || numbered);
    }
    if (!same) return key;
    p->text.size = 0;
    hd_bytes_put(&p->text, text.data, text.size);
    hd_bytes_put(&p->text, number, (size_t)snprintf(number, sizeof number, "#%u", same + 1));
    return p->text.failed ? HD_STRING_NONE : hd_builder_intern(p->builder, (char *)p->text.data, p->text.size);
}

hd_status pprof_add_label(pprof_profile *p, uint32_t key, hd_arg_type type, int64_t value)
{
    if (p->label_count == HD_STACK_MORE) return pprof_count(p, PPROF_LABEL, 1, NULL);
    key = free_key(p, key);
    if (key == HD_STRING_NONE) return HD_NOMEM(p->err);
    p->keys[p->label_count] = (hd_arg_key){.key = key, .type = (uint8_t)type, .scope = HD_SCOPE_ARGS};
    p->values[p->label_count++] = value;
    return HD_OK;
}

hd_status pprof_add_sample(pprof_profile *p, uint32_t node, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < p->type_count; i++) {
        size_t which = i == 0 ? p->first_type : i <= p->first_type ? i - 1 : i;
        if (which >= count) continue; /* without a weight it would count as one */
        const hd_stack_sample sample = {.track = HD_NONE,
                                        .name = p->types[which].name,
                                        .category = p->types[which].unit,
                                        .node = node,
                                        .time_ns = HD_NO_TIME,
                                        .weight_type = HD_ARG_INT,
                                        .weight = values[which],
                                        .more = p->keys,
                                        .more_values = p->values,
                                        .more_count = p->label_count};
        HD_TRY(hd_stack_samples_add(&p->samples, &sample));
    }
    p->label_count = 0;
    return HD_OK;
}

/* ---- metadata ---- */

static void put_key(pprof_profile *p, const char *key)
{
    hd_json_put_text(&p->about, p->about.size ? ",\"" : "{\"");
    hd_json_put_text(&p->about, key);
    hd_json_put_text(&p->about, "\":");
}

void pprof_tell_text(pprof_profile *p, const char *key, hd_string text)
{
    put_key(p, key);
    hd_json_put_string(&p->about, text.data, text.size);
}

void pprof_tell_int(pprof_profile *p, const char *key, int64_t value)
{
    put_key(p, key);
    hd_json_put_int(&p->about, value);
}

void pprof_tell_json(pprof_profile *p, const char *key, const char *json, size_t size)
{
    put_key(p, key);
    hd_json_put(&p->about, json, size);
}

static hd_status finish(pprof_profile *p)
{
    hd_trace_facts *facts = hd_builder_facts(p->builder);
    facts->input_bytes = p->size;
    facts->base_ns = HD_NO_TIME; /* samples have no times */
    if (p->about.size) {
        hd_json_put_text(&p->about, "}");
        uint32_t id = p->about.failed ? HD_STRING_NONE : hd_builder_intern(p->builder, p->about.data, p->about.size);
        if (id == HD_STRING_NONE) return HD_NOMEM(p->err);
        hd_builder_metadata(p->builder, hd_builder_intern_text(p->builder, "pprof"), id, true);
    }
    HD_TRY(hd_mappings_put(&p->mappings, p->builder, p->err));
    return hd_stack_samples_finish(&p->samples);
}

/* ---- all of it ---- */

static int pprof_sniff(const unsigned char *head, size_t size)
{
    return pprof_legacy_of(head, size) || pprof_is_proto(head, size) ? 92 : 0;
}

static hd_status pprof_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    hd_bytes bytes = {0};
    pprof_profile p = {.builder = builder, .err = err};
    hd_status status = hd_input_all(&bytes, input, 0, INT64_MAX, err);
    if (status == HD_OK) status = hd_stack_samples_open(&p.samples, builder, input, PPROF_STAGE, codes, options, err);
    if (status == HD_OK) {
        p.data = bytes.data;
        p.size = bytes.size;
        pprof_legacy kind = pprof_legacy_of(p.data, p.size);
        status = kind ? pprof_read_legacy(&p, kind) : pprof_read_proto(&p);
    }
    if (status == HD_OK) status = finish(&p);
    hd_stack_samples_close(&p.samples);
    hd_mappings_deinit(&p.mappings);
    hd_bytes_deinit(&p.text);
    hd_arena_deinit(&p.arena);
    hd_bytes_deinit(&bytes);
    free(p.about.data);
    return status;
}

const hd_format hd_pprof_format = {
    .info = {.name = "pprof",
             .title = "Profiles of pprof (Go, gperftools), protobuf and legacy",
             .extensions = ".pprof .pb.gz .prof",
             .reads = true,
             .keeps = "stacks with all their values, labels, inlined functions, files and lines, modules",
             .loses = "nothing, as nothing writes it here"},
    .sniff = pprof_sniff,
    .read = pprof_read,
};
