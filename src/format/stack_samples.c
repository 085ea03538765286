/* stack_samples.c - shared by the readers of stacks as text: samples of threads in a trace under construction */
#include "format/stack_samples.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "format/args.h"
#include "format/numbers.h"
#include "trace/lazy.h"

enum { DETAIL_BYTES = 80, PROGRESS_LINES = 1 << 14 };

hd_status hd_stack_samples_open(hd_stack_samples *s, hd_builder *builder, hd_input *input, const char *stage,
                                const hd_stack_code *codes, const hd_read_options *options, hd_error *err)
{
    *s = (hd_stack_samples){
        .builder = builder, .input = input, .options = options, .err = err, .stage = stage, .codes = codes};
    HD_TRY(hd_stacks_new(&s->stacks, err));
    return hd_rows_out_init(&s->rows, builder, options->threads, err);
}

void hd_stack_samples_close(hd_stack_samples *s)
{
    hd_stacks_free(s->stacks);
    hd_rows_out_deinit(&s->rows);
    hd_memo_deinit(&s->threads);
    hd_bytes_deinit(&s->text);
    free(s->tracks);
    free(s->kinds);
}

/* ---- what is counted ---- */

static uint32_t detail_of(hd_stack_samples *s, const hd_stack_code *code, const hd_line *line)
{
    char start[64];
    size_t size = line->size < DETAIL_BYTES ? line->size : DETAIL_BYTES, repaired;
    hd_bytes words = {0};
    for (int i = 0; i < 3 && size && size < line->size && ((unsigned char)line->text[size] & 0xc0) == 0x80; i++) size--;
    snprintf(start, sizeof start, "line %llu", (unsigned long long)line->number);
    hd_bytes_put(&words, start, strlen(start));
    hd_bytes_put(&words, code->what, strlen(code->what));
    hd_bytes_put(&words, ": ", 2);
    hd_string text = hd_stack_samples_utf8(s, &repaired, (hd_string){line->text, size});
    hd_bytes_put(&words, text.data, text.size);
    if (size < line->size) hd_bytes_put(&words, " …", strlen(" …"));
    uint32_t id = words.failed ? HD_STRING_NONE : hd_builder_intern(s->builder, (char *)words.data, words.size);
    hd_bytes_deinit(&words);
    return id;
}

hd_status hd_stack_samples_count(hd_stack_samples *s, size_t code, uint64_t count, const hd_line *line)
{
    const hd_stack_code *c = &s->codes[code];
    hd_stack_tally *tally = &s->tally[code];
    if (!count) return HD_OK;
    if (!tally->count) {
        tally->offset = line ? line->offset : HD_OFFSET_NONE;
        tally->detail = line && c->what ? detail_of(s, c, line) : HD_STRING_NONE;
    }
    tally->count += count;
    if (!s->options->strict || c->level == HD_LEDGER_NOTE) return HD_OK;
    if (!line || !line->number)
        return hd_error_set(s->err, HD_ERR_DAMAGED, NULL, line ? line->offset : HD_OFFSET_NONE,
                            "%s, and --strict refuses repairs", c->code);
    return hd_error_set(s->err, HD_ERR_DAMAGED, NULL, line->offset, "%s in line %llu, and --strict refuses repairs",
                        c->code, (unsigned long long)line->number);
}

static void note_tally(hd_stack_samples *s)
{
    for (size_t i = 0; i < HD_STACK_CODES; i++) {
        const hd_stack_tally *t = &s->tally[i];
        if (!t->count) continue;
        hd_builder_ledger_detail(s->builder, s->stage, s->codes[i].code, s->codes[i].level, t->count, t->offset,
                                 t->detail);
    }
}

/* ---- frames ---- */

hd_string hd_stack_samples_utf8(hd_stack_samples *s, size_t *out_repaired, hd_string text)
{
    *out_repaired = 0;
    if (hd_utf8_valid(text.data, text.size, false)) return text;
    s->text.size = 0;
    *out_repaired = hd_text_put_utf8(&s->text, text.data, text.size);
    return (hd_string){(char *)s->text.data, s->text.size};
}

uint32_t hd_stack_samples_frame(hd_stack_samples *s, hd_frame_kind *out_kind, const char *text, size_t size)
{
    uint32_t name = hd_stacks_name(s->stacks, text, size);
    if (name == HD_NONE || !out_kind) return name;
    if (name >= s->kind_capacity) {
        size_t wider = s->kind_capacity ? s->kind_capacity * 2 : 1024;
        while (wider <= name) wider *= 2;
        uint8_t *kinds = realloc(s->kinds, wider);
        if (!kinds) return HD_NONE;
        memset(kinds + s->kind_capacity, 0, wider - s->kind_capacity);
        s->kinds = kinds;
        s->kind_capacity = wider;
    }
    if (!s->kinds[name]) s->kinds[name] = (uint8_t)(hd_frame_kind_by_name(text, size) + 1);
    *out_kind = (hd_frame_kind)(s->kinds[name] - 1);
    return name;
}

/* ---- threads ---- */

static hd_ident number(hd_stack_samples *s, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern_text(s->builder, text)};
}

/* Makes room for the data of a track. */
static bool note_track(hd_stack_samples *s, uint32_t track)
{
    while (s->track_count <= track) {
        if (!hd_grow((void **)&s->tracks, &s->track_capacity, s->track_count, sizeof *s->tracks)) return false;
        s->tracks[s->track_count++] = (hd_stack_track){.process = HD_NONE};
    }
    return true;
}

/* The name of a track is its last comm. */
static bool take_comm(hd_stack_samples *s, uint32_t track, uint32_t comm)
{
    uint32_t before = s->tracks[track].comm;
    if (comm == HD_STRING_NONE || comm == before) return false;
    s->tracks[track].comm = comm;
    return before != HD_STRING_NONE;
}

uint32_t hd_stack_samples_known(hd_stack_samples *s, uint64_t *out_hash, bool *out_changed, hd_string key)
{
    const hd_memo_value *value = hd_memo_find(out_hash, &s->threads, key.data, key.size);
    *out_changed = false;
    if (!value) return HD_NONE;
    s->comm_repairs = value->c;
    *out_changed = take_comm(s, value->a, value->b);
    return value->a;
}

uint32_t hd_stack_samples_thread(hd_stack_samples *s, uint64_t hash, bool *out_changed, hd_string key,
                                 const hd_stack_thread *thread)
{
    size_t repaired;
    *out_changed = false;
    hd_string text = hd_stack_samples_utf8(s, &repaired, thread->comm);
    s->comm_repairs = (uint32_t)repaired;
    uint32_t comm = text.size ? hd_builder_intern(s->builder, text.data, text.size) : HD_STRING_NONE;
    hd_ident pid = {0}, tid = {0};
    if (thread->has_pid) pid = number(s, thread->pid);
    if (thread->has_tid)
        tid = number(s, thread->tid);
    else if (comm != HD_STRING_NONE)
        tid = (hd_ident){HD_IDENT_STRING, comm}; /* the only identity of the thread */
    else if (!thread->has_pid)
        return HD_NONE;
    uint32_t track = hd_builder_track(s->builder, pid, tid, false);
    if (track == HD_NONE) return track;
    uint32_t process = HD_NONE;
    if (thread->has_pid && thread->has_tid && thread->pid == thread->tid)
        process = hd_builder_track(s->builder, pid, (hd_ident){0}, true);
    if (!note_track(s, process != HD_NONE && process > track ? process : track)) {
        hd_builder_fail(s->builder);
        return HD_NONE;
    }
    s->tracks[track].process = process;
    *out_changed = take_comm(s, track, comm);
    hd_memo_add(&s->threads, hash, key.data, key.size, (hd_memo_value){track, comm, s->comm_repairs});
    return track;
}

static void name_tracks(hd_stack_samples *s)
{
    for (uint32_t i = 0; i < s->track_count; i++) {
        const hd_stack_track *t = &s->tracks[i];
        if (t->comm == HD_STRING_NONE) continue;
        hd_builder_name_track(s->builder, i, t->comm);
        if (t->process != HD_NONE) hd_builder_name_track(s->builder, t->process, t->comm);
    }
}

/* ---- samples ---- */

typedef struct sample_args {
    hd_arg_key keys[HD_STACK_MORE + HD_STACK_PARTS];
    int64_t values[HD_STACK_MORE + HD_STACK_PARTS];
    uint32_t count;
    bool has_args;
} sample_args;

enum { KEY_STACK, KEY_CPU, KEY_WEIGHT, KEY_ADDRESS, KEY_TRACE };

static void add_arg(hd_stack_samples *s, sample_args *out, unsigned which, hd_arg_type type, int64_t value)
{
    static const char *const texts[] = {"sf", "cpu", "weight", "address", "trace"};
    if (type == HD_ARG_NULL) return;
    if (!s->key_ids[which]) s->key_ids[which] = hd_builder_intern_text(s->builder, texts[which]);
    out->keys[out->count] = (hd_arg_key){
        .key = s->key_ids[which], .type = (uint8_t)type, .scope = which == KEY_STACK ? HD_SCOPE_EVENT : HD_SCOPE_ARGS};
    out->values[out->count++] = value;
    out->has_args |= which != KEY_STACK;
}

/* Collects the arguments of a sample: further ones first, then those of all formats. */
static void collect_args(hd_stack_samples *s, sample_args *out, const hd_stack_sample *sample)
{
    out->count = sample->more_count;
    out->has_args = sample->more_count > 0;
    if (sample->more_count) {
        memcpy(out->keys, sample->more, sample->more_count * sizeof *out->keys);
        memcpy(out->values, sample->more_values, sample->more_count * sizeof *out->values);
    }
    add_arg(s, out, KEY_STACK, sample->node != HD_STACK_NONE ? HD_ARG_INT : HD_ARG_NULL, sample->node);
    add_arg(s, out, KEY_CPU, sample->cpu_type, sample->cpu);
    add_arg(s, out, KEY_WEIGHT, sample->weight_type, sample->weight);
    add_arg(s, out, KEY_ADDRESS, sample->address_type, sample->address);
    add_arg(s, out, KEY_TRACE, sample->trace ? HD_ARG_STRING : HD_ARG_NULL, sample->trace);
}

/* All as one text, where there are too many shapes. */
static uint32_t raw_shape(hd_stack_samples *s, sample_args *args)
{
    args->values[0] = hd_args_as_text(s->builder, args->keys, args->values, args->count);
    return args->values[0] == HD_STRING_NONE ? HD_NONE : hd_builder_raw_shape(s->builder);
}

/* The shape, mostly that of the sample before; its values are in args. */
static uint32_t shape_of(hd_stack_samples *s, sample_args *args)
{
    if (s->options->args != HD_ARGS_ALL || !args->count) return 0;
    size_t bytes = args->count * sizeof *args->keys;
    if (s->last_count == args->count && memcmp(s->last_keys, args->keys, bytes) == 0) return s->last_shape;
    uint32_t shape = hd_builder_shape(s->builder, args->keys, args->count, args->has_args);
    if (shape == HD_NONE) return raw_shape(s, args);
    s->last_shape = shape;
    s->last_count = args->count;
    memcpy(s->last_keys, args->keys, bytes);
    return shape;
}

hd_status hd_stack_samples_add(hd_stack_samples *s, const hd_stack_sample *sample)
{
    sample_args args;
    hd_row row = hd_row_of(HD_KIND_SAMPLE, 'P');
    if (sample->node == HD_NONE) return HD_NOMEM(s->err);
    row.track = sample->track;
    row.name = sample->name;
    row.category = sample->category;
    row.start_ns = sample->time_ns;
    collect_args(s, &args, sample);
    row.shape = shape_of(s, &args);
    if (row.shape == HD_NONE) return HD_NOMEM(s->err);
    s->samples++;
    return hd_stack_samples_row(s, &row, args.values);
}

hd_status hd_stack_samples_row(hd_stack_samples *s, const hd_row *row, const int64_t *values)
{
    return hd_rows_out_add(&s->rows, row, values, s->err);
}

hd_status hd_stack_samples_add_row(hd_stack_samples *s, hd_row *row, const hd_arg_key *keys, const int64_t *values,
                                   uint32_t count)
{
    sample_args args;
    args.has_args = false;
    for (uint32_t i = 0; i < count; i++) {
        args.keys[i] = keys[i];
        args.values[i] = values[i];
        args.has_args |= keys[i].scope == HD_SCOPE_ARGS;
    }
    args.count = count;
    row->shape = shape_of(s, &args);
    if (row->shape == HD_NONE) return HD_NOMEM(s->err);
    return hd_stack_samples_row(s, row, args.values);
}

hd_status hd_stack_samples_finish(hd_stack_samples *s)
{
    hd_trace_facts *facts = hd_builder_facts(s->builder);
    facts->has_args = s->options->args == HD_ARGS_ALL;
    HD_TRY(hd_rows_out_flush(&s->rows, s->err));
    if (s->text.failed) return HD_NOMEM(s->err);
    name_tracks(s);
    note_tally(s);
    hd_stacks *stacks = s->stacks;
    s->stacks = NULL;
    return hd_stacks_give(stacks, s->builder, s->err);
}

void hd_stack_samples_progress(hd_stack_samples *s)
{
    if (!s->options->progress || ++s->lines % PROGRESS_LINES) return;
    s->options->progress(s->options->progress_user, hd_input_stored_position(s->input), hd_input_size_bytes(s->input));
}
