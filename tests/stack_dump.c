/* stack_dump.c - the samples of a trace as folded lines, for tests of the readers of stacks */
#include "heddle/format.h"

#include "stack_dump.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "read_text.h"
#include "rounds.h"

static void put_string(FILE *out, hd_string s)
{
    for (size_t i = 0; i < s.size; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c < ' ' || c == 127)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
}

static void put_stack(FILE *out, const hd_stacks *tree, uint32_t node)
{
    uint32_t count = hd_stacks_at(tree, node).depth, *nodes = calloc(count + 1, sizeof *nodes);
    assert(nodes);
    for (uint32_t i = count; i-- > 0; node = hd_stacks_at(tree, node).caller) nodes[i] = node;
    for (uint32_t i = 0; i < count; i++) {
        hd_frame f = hd_stacks_at(tree, nodes[i]);
        if (i) fputc(';', out);
        put_string(out, hd_stacks_text(tree, f.name));
        if (f.kind != HD_FRAME_NATIVE) fprintf(out, "<%s>", hd_frame_kind_name(f.kind));
    }
    free(nodes);
}

static void put_ident(FILE *out, const hd_trace *trace, hd_ident ident)
{
    const char *quote = ident.type == HD_IDENT_STRING ? "\"" : "";
    if (ident.type == HD_IDENT_NONE) {
        fputc('-', out);
        return;
    }
    fputs(quote, out);
    put_string(out, hd_trace_string(trace, ident.text));
    fputs(quote, out);
}

static void put_value(FILE *out, const hd_trace *trace, hd_value value)
{
    if (value.type == HD_ARG_DECIMAL)
        fprintf(out, "%" PRId64 "e-%u", hd_decimal_mantissa(value.bits), hd_decimal_scale(value.bits));
    else if (value.type == HD_ARG_INT)
        fprintf(out, "%" PRId64, value.bits);
    else
        put_string(out, hd_trace_string(trace, (uint32_t)value.bits));
}

static void put_event(FILE *out, const hd_trace *trace, const hd_trace_stacks *stacks, const hd_event *e)
{
    const hd_shape *shape = hd_trace_shape_at(trace, e->shape);
    const hd_track *track = e->track == HD_NONE ? NULL : hd_trace_track_at(trace, e->track);
    if (!track || (!track->pid.type && !track->tid.type)) { /* JSON does not tell no track from one without ids */
        fputc('-', out);
    } else {
        put_ident(out, trace, track->pid);
        fputc('/', out);
        put_ident(out, trace, track->tid);
    }
    if (e->start_ns != HD_NO_TIME) fprintf(out, " %" PRId64, e->start_ns);
    fputc(' ', out);
    put_string(out, hd_trace_string(trace, e->name));
    for (uint32_t i = 0; i < shape->key_count; i++) {
        hd_value value;
        if (shape->keys[i].scope != HD_SCOPE_ARGS) continue;
        fputc(' ', out);
        put_string(out, hd_trace_string(trace, shape->keys[i].key));
        fputc('=', out);
        if (hd_event_arg(&value, trace, e, shape->keys[i].key)) put_value(out, trace, value);
    }
    fputs(" | ", out);
    put_stack(out, hd_trace_stacks_tree(stacks), hd_trace_stacks_of(stacks, e));
    fputc('\n', out);
}

static void put_trace(FILE *out, const hd_trace *trace)
{
    hd_trace_stacks *stacks;
    hd_event e;
    hd_status status = hd_trace_stacks_new(&stacks, trace, NULL);
    assert(status == HD_OK && hd_trace_stacks_damaged(stacks) == 0);
    for (size_t b = 0; status == HD_OK && b < hd_trace_block_count(trace, HD_KIND_SAMPLE); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SAMPLE, b);
        for (uint32_t row = 0; row < block->row_count; row++) {
            hd_block_event(&e, block, row);
            put_event(out, trace, stacks, &e);
        }
    }
    hd_trace_stacks_free(stacks);
}

char *stack_dump(const hd_trace *trace)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert(out);
    put_trace(out, trace);
    fclose(out);
    return text;
}

static void put_names_and_ledger(FILE *out, const hd_trace *trace)
{
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (track->name == HD_STRING_NONE) continue;
        fputs("track ", out);
        put_ident(out, trace, track->pid);
        fputc('/', out);
        put_ident(out, trace, track->tid);
        fputc(' ', out);
        put_string(out, hd_trace_string(trace, track->name));
        fputc('\n', out);
    }
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        static const char *const levels[] = {"note", "repair", "loss"};
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        fprintf(out, "%s %s %" PRIu64, levels[row->level], row->code, row->count);
        if (row->first_offset != HD_OFFSET_NONE) fprintf(out, " at %" PRIu64, row->first_offset);
        if (row->detail) fputs(", ", out);
        put_string(out, hd_trace_string(trace, row->detail));
        fputc('\n', out);
    }
}

char *stack_dump_text(const char *text, size_t size, const hd_read_options *options)
{
    hd_trace *trace;
    hd_error err = {0};
    char *dump;
    size_t dump_size;
    FILE *out = open_memstream(&dump, &dump_size);
    assert(out);
    hd_status status = read_text(&trace, text, size, options, 0, &err);
    if (status == HD_OK) {
        fprintf(out, "%s, %s\n", hd_trace_facts_of(trace)->format,
                hd_trace_facts_of(trace)->base_ns == 0 ? "Unix time" : "time of its own");
        put_trace(out, trace);
        put_names_and_ledger(out, trace);
    } else {
        fprintf(out, "error %s at %" PRId64 ": %s\n", hd_status_name(status), (int64_t)err.offset, err.message);
    }
    hd_trace_free(trace);
    fclose(out);
    return dump;
}

static void read_and_write(const char *text, size_t size, bool write)
{
    hd_trace *trace;
    hd_error err = {0};
    size_t written_size;
    const hd_read_options options = {.threads = 1}; /* to start them costs more than to read so little */
    hd_status status = read_text(&trace, text, size, &options, 0, &err);
    if (status != HD_OK) {
        assert(!trace && err.status == status && err.message[0]);
        return;
    }
    if (write) {
        const hd_write_options json = {.threads = 1}, perfetto = {.format = "perfetto", .raw = true, .threads = 1};
        free(write_text(trace, &json, &written_size));
        free(write_text(trace, &perfetto, &written_size));
    }
    hd_trace_free(trace);
}

void stack_cut_everywhere(const char *text, size_t size)
{
    for (size_t i = 1; i < size; i++) {
        char *cut = malloc(i); /* exactly so many bytes, so that a sanitizer sees a read past the end */
        assert(cut);
        memcpy(cut, text, i);
        read_and_write(cut, i, i % 4 == 0);
        free(cut);
    }
}

void stack_flip_everywhere(const char *text, size_t size)
{
    char *flipped = malloc(size);
    assert(flipped);
    unsigned bits = hd_test_rounds(2); /* of each byte, others of its neighbours */
    for (size_t i = 0; i < size; i++) {
        for (size_t bit = 0; bit < 8 && bit < bits; bit++) {
            memcpy(flipped, text, size);
            flipped[i] = (char)(flipped[i] ^ 1 << (i + bit * 3) % 8);
            read_and_write(flipped, size, (i / 8 + i + bit) % 8 == 0);
        }
    }
    free(flipped);
}

static void require(bool holds)
{
    if (!holds) abort();
}

void stack_fuzz(const char *text, size_t size, const char *format)
{
    hd_trace *trace, *again;
    size_t json_size;
    if (size == 0 || size > 1 << 16 || *text == '{') return;
    if (read_text(&trace, text, size, &read_fast, 0, NULL) != HD_OK) return;
    if (strcmp(hd_trace_facts_of(trace)->format, format) == 0) {
        char *json = write_text(trace, NULL, &json_size), *before = stack_dump(trace);
        require(hd_trace_row_count(trace, HD_KIND_SAMPLE) > 0);
        require(read_text(&again, json, json_size, &read_fast, 0, NULL) == HD_OK);
        char *after = stack_dump(again);
        dump_require_same(before, after);
        hd_trace_free(again);
        free(json);
        free(before);
        free(after);
    }
    hd_trace_free(trace);
}
