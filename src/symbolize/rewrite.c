/* rewrite.c - copies the trace: a tree of named frames, with `sf` of the events mapped to it
 *
 * Frames    a frame that is an address becomes the functions there, the outermost first; the others stay. Equal frames
 *           under one caller are one node then.
 * Ids       nodes get new ones, and every `sf` is mapped. An `sf` without a frame becomes 0, which is not a frame
 * either:
 *           unchanged it could refer to a new frame. If there are ids that cannot be mapped (`esf`, events whose
 *           arguments are one text) the old frames stay, along with the new ones.
 * Texts     the argument "stack", frames joined by ';', as `heddle merge` writes it, is rewritten
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "format/stack_text.h"
#include "pass/copy/copy.h"
#include "symbolize/impl.h"
#include "trace/chunk.h"
#include "trace/stacks/trace_stacks.h"

typedef struct rewriter {
    symbolizer *s;
    hd_builder *builder;
    hd_copy *copy;
    hd_stacks *tree;
    uint32_t *nodes;    /* by node of the trace */
    uint64_t base;      /* of the ids of new nodes */
    bool beside;        /* the old frames stay */
    uint32_t sf, stack; /* strings of the source */
    uint32_t *texts;    /* by string of the source: its rewritten argument "stack"; HD_NONE: not computed */
    hd_strings names;   /* of frames that are answered */
    bool has_names;
    uint32_t *name_of; /* by `names`: the name in the tree */
    hd_json_out text;
    uint64_t dangling, rewritten;
} rewriter;

/* ---- the tree ---- */

/* The functions at a frame's address, innermost first; NULL: not an address, or unknown. */
static const sym_request *answer_of(const symbolizer *s, uint32_t name)
{
    const sym_module *module = s->name_module[name];
    const sym_request *request = module ? &module->requests[s->name_request[name]] : NULL;
    return request && request->count ? request : NULL;
}

static hd_string answer_text(const symbolizer *s, uint32_t name, const sym_request *request, uint32_t index)
{
    const sym_answers *answers = &s->name_module[name]->answers;
    return hd_strings_at(&answers->texts, answers->list[request->first + index]);
}

static uint32_t push(rewriter *r, uint32_t caller, hd_frame frame)
{
    const sym_request *request = answer_of(r->s, frame.name);
    hd_string text = hd_stacks_text(r->s->tree, frame.name);
    if (!request) return hd_stacks_push(r->tree, caller, hd_stacks_name(r->tree, text.data, text.size), frame.kind);
    for (uint32_t i = request->count; i-- > 0;) {
        text = answer_text(r->s, frame.name, request, i);
        bool is_known = frame.kind == HD_FRAME_OS || frame.kind == HD_FRAME_PYTHON;
        hd_frame_kind kind = is_known ? frame.kind : hd_frame_kind_by_name(text.data, text.size);
        caller = hd_stacks_push(r->tree, caller, hd_stacks_name(r->tree, text.data, text.size), kind);
    }
    return caller;
}

static hd_status make_tree(rewriter *r, hd_error *err)
{
    uint32_t count = hd_stacks_count(r->s->tree);
    HD_TRY(hd_stacks_new(&r->tree, err));
    r->nodes = malloc((size_t)count * sizeof *r->nodes);
    if (!r->nodes) return HD_NOMEM(err);
    r->nodes[0] = HD_STACK_NONE;
    for (uint32_t node = 1; node < count; node++) {
        hd_frame frame = hd_stacks_at(r->s->tree, node);
        r->nodes[node] = push(r, r->nodes[frame.caller], frame);
        if (r->nodes[node] == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* ---- ids that are not followed ---- */

static bool has_esf(const hd_trace *trace)
{
    uint32_t esf = hd_trace_find_string(trace, "esf", 3);
    for (uint32_t i = 0; esf != HD_NONE && i < hd_trace_shape_count(trace); i++) {
        if (hd_shape_find(hd_trace_shape_at(trace, i), esf, HD_SCOPE_EVENT) >= 0) return true;
    }
    return false;
}

/* Arguments that are one text, since there were too many shapes. */
static bool holds_sf(const hd_trace *trace, const hd_block *block)
{
    for (uint32_t g = 0; g < block->group_count; g++) {
        const hd_arg_group *group = &block->groups[g];
        const hd_shape *shape = hd_trace_shape_at(trace, group->shape);
        if (shape->key_count != 1 || shape->keys[0].key != HD_STRING_NONE || shape->keys[0].type != HD_ARG_JSON)
            continue;
        for (uint32_t i = 0; i < group->row_count; i++) {
            hd_string text = hd_trace_string(trace, (uint32_t)hd_column_at(&group->columns[0], i));
            if (memmem(text.data, text.size, "sf\"", 3)) return true;
        }
    }
    return false;
}

static bool has_ids_in_text(const hd_trace *trace)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            if (holds_sf(trace, hd_trace_block_at(trace, (hd_kind)kind, i))) return true;
        }
    }
    return false;
}

/* ---- sf ---- */

static hd_status put_id(rewriter *r, int64_t *value, unsigned type, uint64_t id, hd_error *err)
{
    char digits[24];
    if (type == HD_ARG_INT) {
        *value = (int64_t)id;
    } else if (type == HD_ARG_DECIMAL) {
        *value = hd_decimal_pack((int64_t)id, 0);
    } else {
        int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)id);
        *value = hd_copy_add_string(r->copy, hd_builder_intern(r->builder, digits, (size_t)size));
        if (*value == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

static bool is_id_type(unsigned type)
{
    return type == HD_ARG_INT || type == HD_ARG_DECIMAL || type == HD_ARG_STRING || type == HD_ARG_NUMBER;
}

/* A text that can be no id of ours. */
static bool is_no_number(const rewriter *r, unsigned type, int64_t value)
{
    hd_string text = type == HD_ARG_STRING ? hd_trace_string(r->s->trace, (uint32_t)value) : (hd_string){"0", 1};
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return true;
    }
    return false;
}

static hd_status follow(rewriter *r, const hd_copy_rows *rows, unsigned type, int64_t *values, const uint32_t *row_of,
                        uint32_t count, hd_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        hd_event event;
        hd_block_event(&event, rows->block, row_of[i]);
        uint32_t node = hd_trace_stacks_of(r->s->stacks, &event);
        if (node == HD_STACK_NONE) {
            r->dangling++;
            if (r->beside || is_no_number(r, type, values[i])) continue;
        }
        HD_TRY(put_id(r, &values[i], type, node == HD_STACK_NONE ? 0 : r->base + r->nodes[node], err));
    }
    return HD_OK;
}

/* ---- the argument "stack" ---- */

/* The text with the answers in it; false: nothing in it has an answer. */
static bool rewrite_text(rewriter *r, hd_string text)
{
    bool any = false;
    r->text.size = 0;
    for (size_t at = 0; at <= text.size;) {
        const char *end = memchr(text.data + at, ';', text.size - at);
        size_t size = end ? (size_t)(end - text.data) - at : text.size - at;
        uint32_t known = hd_strings_find(&r->names, text.data + at, size);
        uint32_t name = known == HD_NONE ? 0 : r->name_of[known];
        const sym_request *request = name ? answer_of(r->s, name) : NULL;
        if (at) hd_json_put_text(&r->text, ";");
        if (!request) hd_json_put(&r->text, text.data + at, size);
        for (uint32_t i = request ? request->count : 0; i-- > 0;) {
            hd_string answer = answer_text(r->s, name, request, i);
            for (size_t k = 0; k < answer.size; k++)
                hd_json_put(&r->text, answer.data[k] == ';' ? "," : answer.data + k, 1);
            if (i) hd_json_put_text(&r->text, ";");
        }
        any |= request != NULL;
        at += size + 1;
    }
    return any;
}

static hd_status write_texts(rewriter *r, int64_t *values, uint32_t count, hd_error *err)
{
    uint32_t strings = hd_trace_string_count(r->s->trace);
    if (!r->texts) {
        r->texts = malloc(((size_t)strings + 1) * sizeof *r->texts);
        if (!r->texts) return HD_NOMEM(err);
        memset(r->texts, 0xff, ((size_t)strings + 1) * sizeof *r->texts);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t source = (uint32_t)values[i];
        if (source >= strings) continue;
        uint32_t *made = &r->texts[source];
        if (*made == HD_NONE) {
            *made = source;
            if (rewrite_text(r, hd_trace_string(r->s->trace, source)))
                *made = hd_copy_add_string(r->copy, hd_builder_intern(r->builder, r->text.data, r->text.size));
            if (r->text.failed || *made == HD_NONE) return HD_NOMEM(err);
        }
        r->rewritten += *made != source;
        values[i] = *made;
    }
    return HD_OK;
}

/* Frames that are answered, by their text. */
static hd_status gather_names(rewriter *r, hd_error *err)
{
    uint32_t count = hd_stacks_name_count(r->s->tree);
    HD_TRY(hd_strings_init(&r->names, err));
    r->has_names = true;
    r->name_of = calloc((size_t)count + 1, sizeof *r->name_of);
    if (!r->name_of) return HD_NOMEM(err);
    for (uint32_t name = 1; name < count; name++) {
        hd_string text = hd_stacks_text(r->s->tree, name);
        if (!answer_of(r->s, name)) continue;
        uint32_t id = hd_strings_intern(&r->names, text.data, text.size);
        if (id == HD_STRING_NONE) return HD_NOMEM(err);
        r->name_of[id] = name;
    }
    return HD_OK;
}

/* ---- events ---- */

static hd_status change_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    rewriter *r = user;
    (void)copy;
    (void)err;
    for (uint32_t g = 0; g < rows->block->group_count && !rows->changes_values; g++) {
        const hd_shape *shape = hd_trace_shape_at(r->s->trace, rows->block->groups[g].shape);
        rows->changes_values =
            hd_shape_find(shape, r->sf, HD_SCOPE_EVENT) >= 0 || hd_shape_find(shape, r->stack, HD_SCOPE_ARGS) >= 0;
    }
    return HD_OK;
}

static hd_status change_values(void *user, hd_copy *copy, hd_copy_rows *rows, const hd_arg_key *key, int64_t *values,
                               const uint32_t *row_of, uint32_t count, hd_error *err)
{
    rewriter *r = user;
    (void)copy;
    if (key->key == r->sf && key->scope == HD_SCOPE_EVENT && is_id_type(key->type))
        return follow(r, rows, key->type, values, row_of, count, err);
    if (key->key == r->stack && key->scope == HD_SCOPE_ARGS && key->type == HD_ARG_STRING)
        return write_texts(r, values, count, err);
    return HD_OK;
}

/* ---- activities around them ---- */

/* As hd_copy_surroundings, without the frames, and without ledger rows of an earlier call about them. */
static hd_status copy_surroundings(rewriter *r, hd_error *err)
{
    const hd_trace *trace = r->s->trace;
    for (size_t i = 0; i < hd_trace_metadata_count(trace); i++) {
        const hd_metadata *m = hd_trace_metadata_at(trace, i);
        hd_string key = hd_trace_string(trace, m->key);
        if (!r->beside && key.size == 11 && memcmp(key.data, "stackFrames", 11) == 0) continue;
        const uint32_t key_id = hd_copy_string(r->copy, m->key);
        hd_builder_metadata(r->builder, key_id, hd_copy_string(r->copy, m->value), m->after_events);
    }
    hd_builder_copy_facts(r->builder, trace);
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (strcmp(row->stage, SYM_STAGE) == 0) continue;
        const char *stage = hd_builder_keep_text(r->builder, row->stage);
        const char *code = hd_builder_keep_text(r->builder, row->code);
        if (!stage || !code) return HD_NOMEM(err);
        hd_string detail = hd_trace_string(trace, row->detail);
        uint32_t words = detail.size ? hd_builder_intern(r->builder, detail.data, detail.size) : HD_STRING_NONE;
        hd_builder_ledger_detail(r->builder, stage, code, row->level, row->count, row->first_offset, words);
    }
    return HD_OK;
}

static void note_count(rewriter *r, const char *code, uint64_t count, const char *detail)
{
    if (!count) return;
    uint32_t words = detail && *detail ? hd_builder_intern_text(r->builder, detail) : HD_STRING_NONE;
    hd_builder_ledger_detail(r->builder, SYM_STAGE, code, HD_LEDGER_NOTE, count, HD_OFFSET_NONE, words);
}

static void add_ledger(rewriter *r, uint64_t unnamed)
{
    static const char *const codes[] = {
        [HD_SYMBOLIZE_NAMED] = NULL,
        [HD_SYMBOLIZE_NOT_FOUND] = "symbolize.module-not-found",
        [HD_SYMBOLIZE_OTHER] = "symbolize.build-id-differs",
        [HD_SYMBOLIZE_UNREADABLE] = "symbolize.module-unreadable",
        [HD_SYMBOLIZE_NO_SYMBOLS] = "symbolize.module-without-symbols",
        [HD_SYMBOLIZE_AMBIGUOUS] = "symbolize.module-ambiguous",
    };
    uint64_t unchecked = 0, counts[sizeof codes / sizeof *codes] = {0};
    const sym_module *first[sizeof codes / sizeof *codes] = {0}, *first_unchecked = NULL;
    for (size_t i = 0; i < r->s->module_count; i++) {
        const sym_module *m = &r->s->modules[i];
        if (!m->request_count) continue;
        if (!counts[m->result]++) first[m->result] = m;
        if (m->unchecked && !unchecked++) first_unchecked = m;
    }
    note_count(r, "symbolize.frame-unnamed", unnamed, NULL);
    for (size_t i = 1; i < sizeof codes / sizeof *codes; i++) {
        if (counts[i]) note_count(r, codes[i], counts[i], first[i]->why[0] ? first[i]->why : first[i]->name);
    }
    note_count(r, "symbolize.build-id-unknown", unchecked, unchecked ? first_unchecked->path : NULL);
    note_count(r, "symbolize.address-outside", r->s->no_module, NULL);
    note_count(r, "symbolize.module-damaged", r->s->bad_modules, NULL);
    note_count(r, "symbolize.symbol-damaged", r->s->bad_symbols, NULL);
    note_count(r, "symbolize.stack-missing", r->dangling, NULL);
    note_count(r, "symbolize.old-frames-kept", r->beside, NULL);
}

/* ---- the whole ---- */

static hd_status rewrite_all(rewriter *r, hd_symbolize_report *report, hd_error *err)
{
    const hd_trace *trace = r->s->trace;
    const hd_copy_hooks hooks = {.user = r, .rows = change_rows, .values = change_values};
    r->sf = hd_trace_find_string(trace, "sf", 2);
    r->stack = hd_trace_find_string(trace, "stack", 5);
    r->beside = has_esf(trace) || has_ids_in_text(trace);
    r->base = r->beside ? hd_trace_stacks_last_id(r->s->stacks) : 0;
    HD_TRY(make_tree(r, err));
    HD_TRY(gather_names(r, err));
    HD_TRY(hd_copy_new(&r->copy, trace, r->builder, err));
    HD_TRY(hd_copy_tracks(r->copy, NULL, NULL, err));
    HD_TRY(hd_copy_events(r->copy, &hooks, err));
    HD_TRY(copy_surroundings(r, err));
    add_ledger(r, report->unnamed);
    report->nodes = hd_stacks_count(r->tree) - 1;
    if (r->beside) return hd_stacks_save_from(r->tree, r->base, true, r->builder, err);
    hd_stacks *tree = r->tree;
    r->tree = NULL;
    return hd_stacks_give(tree, r->builder, err);
}

hd_status sym_rewrite(hd_trace **out, hd_symbolize_report *report, symbolizer *s)
{
    rewriter r = {.s = s};
    HD_TRY(hd_builder_new(&r.builder, s->err));
    hd_status status = rewrite_all(&r, report, s->err);
    report->texts = r.rewritten;
    hd_copy_free(r.copy);
    hd_stacks_free(r.tree);
    if (r.has_names) hd_strings_deinit(&r.names);
    free(r.nodes);
    free(r.texts);
    free(r.name_of);
    free(r.text.data);
    if (status == HD_OK) return hd_builder_finish(out, r.builder, s->err);
    hd_builder_free(r.builder);
    return status;
}
