/* read.c - folded stacks -> samples
 *
 * Format   one stack per line, frames from the root to the leaf, separated by ';'. Plain (`frames weight`), as
 *          FlameGraph's stackcollapse scripts, inferno, bpftrace, py-spy and heddle itself write it; extended
 *          (`timestamp_ns comm pid tid cpu frames`), as uprobe tracers on cudaLaunchKernel write it.
 *          docs/formats/folded.md
 * Sniffs   whether the first lines parse as one of the two
 * Maps     line -> sample; frames -> stackFrames, `sf`; weight, cpu -> arguments; comm -> the thread's name
 * Units    timestamp_ns and weight unchanged         Shapes   n lines -> n rows
 * Limits   16 MiB a line; 2^32 - 2 different frames       Errors   FORMAT: no valid line; DAMAGED: strict
 *
 * A million lines have about a thousand stacks: results are cached by the stack's text.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/folded/folded.h"
#include "format/lookalikes.h"
#include "format/stack_samples.h"

static const int64_t UNIX_NS = 1000000000000000000; /* times from here on, September 2001, are Unix times */

enum { LINE_UNREADABLE, LINE_ZERO, LINE_LONG, LINE_EITHER, TEXT_UTF8, TEXT_ESCAPES, FRAMES_DROPPED, COMM_CHANGED };

static const hd_stack_code codes[] = {
    [LINE_UNREADABLE] = {"folded.line-unreadable", HD_LEDGER_LOSS,
                         " is neither \"frames weight\" nor \"time comm pid tid cpu frames\""},
    [LINE_ZERO] = {"folded.zeros", HD_LEDGER_LOSS, " has bytes of 0, where text is missing"},
    [LINE_LONG] = {"folded.line-too-long", HD_LEDGER_LOSS, " is longer than 16 MiB"},
    [LINE_EITHER] = {"folded.line-ambiguous", HD_LEDGER_NOTE, " could be plain or extended"},
    [TEXT_UTF8] = {"folded.utf8", HD_LEDGER_REPAIR, " is not UTF-8"},
    [TEXT_ESCAPES] = {"folded.escape-sequences", HD_LEDGER_NOTE, NULL},
    [FRAMES_DROPPED] = {"folded.frames-dropped", HD_LEDGER_NOTE, NULL},
    [COMM_CHANGED] = {"folded.comm-changed", HD_LEDGER_NOTE, " gives a thread another name"},
};

/* The effect of a frame on its stack. */
enum { FRAME_PLAIN, FRAME_LAUNCH, FRAME_DROPPED };

/* A stack up to one of its frames. */
typedef struct stack_step {
    size_t end; /* in the text, behind the ';' */
    uint32_t node, dropped;
    bool launched;
} stack_step;

typedef struct reader {
    hd_stack_samples samples;
    hd_input *input;
    hd_error *err;
    hd_memo stacks[2]; /* text of plain and extended stacks -> node, repairs, dropped frames */
    hd_memo frames[2]; /* text of a frame -> name, kind, effect */
    hd_bytes last;     /* text of the stack made last, and its frames but for the leaf */
    stack_step *steps;
    size_t step_count, step_capacity;
    bool last_extended;
    hd_bytes plain; /* a line without escape sequences */
    folded_kind prefer;
    uint32_t name;
    uint64_t extended;
    int64_t first_ns;
    bool skipping; /* the rest of a line that is too long */
} reader;

/* ---- frames ---- */

static bool is_word(char c)
{
    return hd_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Whether a frame is cudaLaunchKernel: with an offset, of a library, the template around it, also mangled. Not
 * cudaLaunchKernelExC, which is another function, nor the stub, which names the kernel. */
static bool is_launch(const char *data, size_t size)
{
    static const char launch[] = "cudaLaunchKernel";
    const char *at = memmem(data, size, launch, sizeof launch - 1), *end = data + size;
    if (!at || (size >= 15 && memcmp(data, "__device_stub__", 15) == 0)) return false;
    const char *after = at + sizeof launch - 1;
    if (at > data && is_word(at[-1])) /* _Z16cudaLaunchKernelIcE…, _ZL16… */
        return size > 4 && memcmp(data, "_Z", 2) == 0 && at - data >= 4 && memcmp(at - 2, "16", 2) == 0 &&
               !hd_is_digit(at[-3]);
    return after == end || *after == '_' || !is_word(*after);
}

/* The name without "+0x1f". */
static size_t bare_size(const char *data, size_t size)
{
    const char *plus = memchr(data, '+', size);
    return plus && data + size - plus > 2 && plus[1] == '0' && plus[2] == 'x' ? (size_t)(plus - data) : size;
}

static bool is_dropped(const char *data, size_t size)
{
    static const hd_string names[] = {{"_start", 6}, {"__libc_start_main", 17}, {"<no-symbol>", 11}};
    size_t bare = bare_size(data, size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (bare == names[i].size && memcmp(data, names[i].data, bare) == 0) return true;
    }
    return false;
}

/* The meaning of a frame's text, cached by text. */
static bool find_frame(reader *r, hd_memo_value *out, hd_string frame, bool extended)
{
    uint64_t hash;
    const hd_memo_value *known = hd_memo_find(&hash, &r->frames[extended], frame.data, frame.size);
    if (known) {
        *out = *known;
        return true;
    }
    hd_frame_kind kind = HD_FRAME_NATIVE;
    *out = (hd_memo_value){.c = FRAME_DROPPED};
    if (!extended || !is_dropped(frame.data, frame.size)) {
        out->c = extended && is_launch(frame.data, frame.size) ? FRAME_LAUNCH : FRAME_PLAIN;
        hd_string name = out->c == FRAME_LAUNCH ? (hd_string){"cudaLaunchKernel", 16} : frame;
        out->a = hd_stack_samples_frame(&r->samples, &kind, name.data, name.size);
        out->b = kind;
        if (out->a == HD_NONE) return false;
    }
    hd_memo_add(&r->frames[extended], hash, frame.data, frame.size, *out);
    return true;
}

/* Keeps the text and frames of a stack for the next one. */
static bool keep_stack(reader *r, hd_string text, bool extended)
{
    r->last.size = 0;
    hd_bytes_put(&r->last, text.data, text.size);
    r->last_extended = extended;
    return !r->last.failed;
}

/* How many leading frames of the previous stack are the same in this one. */
static size_t shared_frames(const reader *r, hd_string text, bool extended)
{
    size_t shared = 0, end = text.size < r->last.size ? text.size : r->last.size, low = 0, high = r->step_count;
    if (extended != r->last_extended) return 0;
    while (shared + 8 <= end && memcmp(r->last.data + shared, text.data + shared, 8) == 0) shared += 8;
    while (shared < end && (char)r->last.data[shared] == text.data[shared]) shared++;
    HD_PARTITION_POINT(low, high, at, r->steps[at].end <= shared);
    return low;
}

/* The node of a stack; value->c counts the frames that are left out. Lines that follow each other mostly differ in
 * their last frames. */
static bool make_stack(reader *r, hd_memo_value *value, hd_string frames, bool extended)
{
    stack_step step = {.node = HD_STACK_NONE};
    r->step_count = shared_frames(r, frames, extended);
    if (r->step_count) step = r->steps[r->step_count - 1];
    while (step.end < frames.size) {
        const char *at = frames.data + step.end, *stop = memchr(at, ';', frames.size - step.end);
        hd_string frame = hd_text_trim(at, stop ? (size_t)(stop - at) : frames.size - step.end);
        hd_memo_value known = {.c = FRAME_DROPPED};
        if (frame.size && !find_frame(r, &known, frame, extended)) return false;
        bool launch = known.c == FRAME_LAUNCH;
        if (known.c == FRAME_DROPPED || (launch && step.launched)) {
            step.dropped++;
        } else {
            step.node = hd_stacks_push(r->samples.stacks, step.node, known.a, (hd_frame_kind)known.b);
            if (step.node == HD_NONE) return false;
        }
        step.launched |= launch;
        step.end = stop ? (size_t)(stop - frames.data) + 1 : frames.size;
        if (!stop) break; /* the frame may continue in the new stack */
        if (!hd_grow((void **)&r->steps, &r->step_capacity, r->step_count, sizeof *r->steps)) return false;
        r->steps[r->step_count++] = step;
    }
    value->a = step.node;
    value->c = step.dropped;
    return keep_stack(r, frames, extended);
}

static hd_status find_stack(reader *r, uint32_t *out, const hd_line *line, hd_string frames, bool extended)
{
    uint64_t hash;
    const hd_memo_value *known = hd_memo_find(&hash, &r->stacks[extended], frames.data, frames.size);
    hd_memo_value value = {HD_STACK_NONE, 0, 0};
    if (known) {
        value = *known;
    } else {
        size_t repaired;
        hd_string text = hd_stack_samples_utf8(&r->samples, &repaired, frames);
        value.b = repaired > UINT32_MAX ? UINT32_MAX : (uint32_t)repaired;
        if (!make_stack(r, &value, text, extended)) return HD_NOMEM(r->err);
        hd_memo_add(&r->stacks[extended], hash, frames.data, frames.size, value);
    }
    *out = value.a;
    HD_TRY(hd_stack_samples_count(&r->samples, TEXT_UTF8, value.b, line));
    return hd_stack_samples_count(&r->samples, FRAMES_DROPPED, value.c, line);
}

/* ---- lines ---- */

static hd_status add_plain(reader *r, const hd_line *line, const folded_line *parts)
{
    hd_stack_sample sample = {.track = HD_NONE,
                              .name = r->name,
                              .time_ns = HD_NO_TIME,
                              .weight_type = parts->weight_type,
                              .weight = parts->weight};
    HD_TRY(find_stack(r, &sample.node, line, parts->frames, false));
    return hd_stack_samples_add(&r->samples, &sample);
}

static hd_status add_extended(reader *r, const hd_line *line, const folded_line *parts)
{
    hd_stack_samples *s = &r->samples;
    hd_stack_sample sample = {.name = r->name, .time_ns = parts->time_ns, .cpu_type = HD_ARG_INT, .cpu = parts->cpu};
    uint64_t hash;
    bool changed;
    sample.track = hd_stack_samples_known(s, &hash, &changed, parts->thread);
    if (sample.track == HD_NONE) {
        hd_stack_thread thread = {
            .comm = parts->comm, .has_pid = true, .has_tid = true, .pid = parts->pid, .tid = parts->tid};
        sample.track = hd_stack_samples_thread(s, hash, &changed, parts->thread, &thread);
        if (sample.track == HD_NONE) return HD_NOMEM(r->err);
    }
    HD_TRY(hd_stack_samples_count(s, COMM_CHANGED, changed, line));
    HD_TRY(hd_stack_samples_count(s, TEXT_UTF8, s->comm_repairs, line));
    HD_TRY(find_stack(r, &sample.node, line, parts->frames, true));
    if (r->extended++ == 0 || parts->time_ns < r->first_ns) r->first_ns = parts->time_ns;
    return hd_stack_samples_add(s, &sample);
}

static hd_status add_line(reader *r, const hd_line *line)
{
    folded_line parts;
    hd_string text = {line->text, line->size};
    if (memchr(text.data, '\x1b', text.size)) {
        r->plain.size = 0;
        hd_text_put_plain(&r->plain, text.data, text.size);
        if (r->plain.failed) return HD_NOMEM(r->err);
        text = (hd_string){(char *)r->plain.data, r->plain.size};
        HD_TRY(hd_stack_samples_count(&r->samples, TEXT_ESCAPES, 1, line));
    }
    folded_parse(&parts, text.data, text.size, r->prefer);
    if (parts.either) HD_TRY(hd_stack_samples_count(&r->samples, LINE_EITHER, 1, line));
    switch (parts.kind) {
    case FOLDED_PLAIN: return add_plain(r, line, &parts);
    case FOLDED_EXTENDED: return add_extended(r, line, &parts);
    case FOLDED_BLANK: return HD_OK;
    default: return hd_stack_samples_count(&r->samples, LINE_UNREADABLE, 1, line);
    }
}

static hd_status read_lines(reader *r, hd_lines *lines)
{
    hd_status status;
    hd_line line;
    while ((status = hd_lines_next(&line, lines, r->err)) == HD_OK) {
        bool skip = r->skipping;
        r->skipping = line.cut;
        if (line.cut && !skip) HD_TRY(hd_stack_samples_count(&r->samples, LINE_LONG, 1, &line));
        if (skip || line.cut) continue;
        if (line.has_zero) {
            HD_TRY(hd_stack_samples_count(&r->samples, LINE_ZERO, 1, &line));
            continue;
        }
        if (line.offset == 0 && line.size >= 3 && memcmp(line.text, "\xef\xbb\xbf", 3) == 0) {
            line.text += 3;
            line.size -= 3;
            line.offset += 3;
        }
        HD_TRY(add_line(r, &line));
        hd_stack_samples_progress(&r->samples);
    }
    return status == HD_END ? HD_OK : status;
}

static hd_status finish(reader *r, uint64_t input_bytes, const unsigned char *head, size_t head_size)
{
    hd_trace_facts *facts = hd_builder_facts(r->samples.builder);
    facts->input_bytes = input_bytes;
    facts->base_ns = r->extended && r->first_ns >= UNIX_NS ? 0 : HD_NO_TIME;
    if (r->samples.samples) return hd_stack_samples_finish(&r->samples);
    const hd_lookalike *like = hd_lookalike_of(head, head_size);
    return hd_error_set(
        r->err, HD_ERR_FORMAT, hd_input_path(r->input), 0,
        "no line is a folded stack, \"frame;frame weight\" or \"time comm pid tid cpu frame;frame\"%s%s",
        like ? "; it looks like " : "", like ? like->what : "");
}

hd_status folded_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    const uint8_t *peeked;
    unsigned char head[HD_INPUT_PEEK_BYTES];
    size_t head_size;
    hd_lines lines = {.input = input, .may_end_open = true}; /* scripts join lines as they like */
    reader r = {.input = input, .err = err, .name = hd_builder_intern_text(builder, "stack")};
    HD_TRY(hd_input_peek(input, &peeked, &head_size, err));
    if (head_size > sizeof head) head_size = sizeof head;
    memcpy(head, peeked, head_size);
    r.prefer = folded_prefer(head, head_size);
    hd_status status = hd_stack_samples_open(&r.samples, builder, input, "folded", codes, options, err);
    if (status == HD_OK) status = read_lines(&r, &lines);
    if (status == HD_OK) status = finish(&r, lines.read_bytes, head, head_size);
    hd_stack_samples_close(&r.samples);
    hd_memo_deinit(&r.stacks[0]);
    hd_memo_deinit(&r.stacks[1]);
    hd_memo_deinit(&r.frames[0]);
    hd_memo_deinit(&r.frames[1]);
    hd_bytes_deinit(&r.last);
    free(r.steps);
    hd_bytes_deinit(&r.plain);
    hd_lines_deinit(&lines);
    return status;
}
