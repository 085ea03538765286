/* damage.c - damages written JSON in the ways that profilers do
 *
 * The text has one event per line. First lines are chosen, each for one kind of damage, then the text is copied once
 * with its edits. The number of damaged places is exact; their positions depend on the seed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "heddle/synth.h"
#include "synth/random.h"

typedef struct event_line {
    size_t begin, end; /* of the object, braces included */
    bool has_args, has_name;
    uint8_t damage; /* hd_synth_damage + 1 */
} event_line;

typedef struct damager {
    const char *text;
    size_t size;
    event_line *lines;
    size_t line_count, line_capacity;
    size_t last; /* lines from here on are cut off, but for half of this one; line_count: none are */
    char *out;
    size_t out_size, out_capacity;
    synth_random random;
    hd_synth_damage_truth truth;
    bool failed;
} damager;

static const char *const names[HD_SYNTH_DAMAGE_KINDS] = {
    "truncate", "comma", "nan", "quote", "control", "utf8", "empty", "duplicate",
};

const char *hd_synth_damage_name(hd_synth_damage kind)
{
    return (unsigned)kind < HD_SYNTH_DAMAGE_KINDS ? names[kind] : "";
}

/* ---- lines ---- */

/* The first position of `part` within [begin, end), or `end`. */
static size_t find(const damager *d, size_t begin, size_t end, const char *part)
{
    const char *found = memmem(d->text + begin, end - begin, part, strlen(part));
    return found ? (size_t)(found - d->text) : end;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static bool add_line(damager *d, size_t begin, size_t end)
{
    while (begin < end && is_blank(d->text[begin])) begin++;
    while (end > begin && is_blank(d->text[end - 1])) end--;
    if (end - begin < 8 || d->text[begin] != '{' || d->text[end - 1] != '}') return true;
    if (find(d, begin, end, "\"ph\":") == end) return true;
    if (d->line_count == d->line_capacity) {
        size_t capacity = d->line_capacity ? d->line_capacity * 2 : 1024;
        event_line *lines = realloc(d->lines, capacity * sizeof *lines);
        if (!lines) return false;
        d->lines = lines;
        d->line_capacity = capacity;
    }
    size_t args = find(d, begin, end, "\"args\":");
    d->lines[d->line_count++] = (event_line){
        .begin = begin,
        .end = end,
        .has_args = args != end && find(d, args, end, "{") != end,
        .has_name = find(d, begin, args, "\"name\":") != args,
    };
    return true;
}

static bool find_lines(damager *d)
{
    for (size_t begin = 0; begin < d->size;) {
        const char *newline = memchr(d->text + begin, '\n', d->size - begin);
        size_t end = newline ? (size_t)(newline - d->text) : d->size;
        if (!add_line(d, begin, end)) return false;
        begin = end + 1;
    }
    d->truth.events_before = d->last = d->line_count;
    return true;
}

/* ---- choosing ---- */

static bool suits(const event_line *line, hd_synth_damage kind)
{
    if (line->damage) return false;
    if (kind == HD_SYNTH_NAN) return line->has_args;
    return kind == HD_SYNTH_COMMA || kind == HD_SYNTH_DUPLICATE || kind == HD_SYNTH_EMPTY || line->has_name;
}

/* One line that nothing has been done to yet; false if there is none. */
static bool choose(damager *d, hd_synth_damage kind)
{
    if (d->last == 0) return false;
    size_t first = (size_t)(synth_next(&d->random) % d->last);
    for (size_t i = 0; i < d->last; i++) {
        event_line *line = &d->lines[(first + i) % d->last];
        if (!suits(line, kind)) continue;
        line->damage = (uint8_t)(kind + 1);
        d->truth.hit[kind]++;
        return true;
    }
    return false;
}

static hd_status choose_all(damager *d, const hd_synth_damage_options *options, hd_error *err)
{
    bool cut = options->kinds & 1u << HD_SYNTH_TRUNCATE;
    bool enough = !cut || options->count < d->line_count;
    if (cut && enough && options->count) {
        d->last = d->line_count - options->count;
        d->truth.hit[HD_SYNTH_TRUNCATE] = options->count;
    }
    for (int kind = HD_SYNTH_TRUNCATE + 1; kind < HD_SYNTH_DAMAGE_KINDS && enough; kind++) {
        if (!(options->kinds & 1u << kind)) continue;
        if (kind == HD_SYNTH_EMPTY && d->last == d->line_count) { /* they come after the last event */
            d->truth.hit[kind] = options->count;
            continue;
        }
        for (uint32_t i = 0; i < options->count && enough; i++) enough = choose(d, (hd_synth_damage)kind);
    }
    if (!enough)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "the trace has %llu events: too few for so much damage", (unsigned long long)d->line_count);
    for (int kind = 0; kind < HD_SYNTH_DAMAGE_KINDS; kind++) d->truth.events_hit += d->truth.hit[kind];
    return HD_OK;
}

/* ---- writing ---- */

static void put(damager *d, const char *data, size_t size)
{
    if (d->failed) return;
    if (d->out_capacity - d->out_size < size) {
        size_t capacity = d->out_capacity * 2 + size;
        char *out = realloc(d->out, capacity);
        if (!out) {
            d->failed = true;
            return;
        }
        d->out = out;
        d->out_capacity = capacity;
    }
    memcpy(d->out + d->out_size, data, size);
    d->out_size += size;
}

static void put_text(damager *d, const char *text)
{
    put(d, text, strlen(text));
}

static void copy(damager *d, size_t begin, size_t end)
{
    put(d, d->text + begin, end - begin);
}

/* Where the text of the event's name begins, behind the quote. */
static size_t name_at(const damager *d, const event_line *line)
{
    size_t at = find(d, line->begin, line->end, "\"name\":") + strlen("\"name\":");
    return find(d, at, line->end, "\"") + 1;
}

/* Copy an event with `text` at `at`. */
static void put_with(damager *d, const event_line *line, size_t at, const char *text)
{
    copy(d, line->begin, at);
    put_text(d, text);
    copy(d, at, line->end);
}

static void put_nan(damager *d, const event_line *line, uint64_t turn)
{
    static const char *const values[] = {"NaN", "Infinity", "-nan", "-Infinity", "nan"};
    size_t at = find(d, find(d, line->begin, line->end, "\"args\":"), line->end, "{") + 1;
    size_t next = at;
    while (next < line->end && d->text[next] == ' ') next++;
    copy(d, line->begin, at);
    put_text(d, "\"occupancy ratio\": ");
    put_text(d, values[turn % 5]);
    if (d->text[next] != '}') put_text(d, ", ");
    copy(d, at, line->end);
}

/* The comma after an event is its successor's separator: a missing one joins the two. */
static void put_comma(damager *d, const event_line *line, bool has_comma, uint64_t turn, size_t *next)
{
    switch (has_comma ? turn % 3 : 1 + turn % 2) {
    case 0:
        copy(d, line->begin, line->end);
        *next = line->end + 1;
        break;
    case 1:
        copy(d, line->begin, line->end - 1);
        put_text(d, ",}");
        break;
    default:
        copy(d, line->begin, line->end);
        put_text(d, ",");
        break;
    }
}

static const char *pick(const char *const *texts, size_t count, uint64_t turn)
{
    return texts[turn % count];
}

/* Write one event, damaged as it was chosen to be; *next is where copying goes on. */
static void put_event(damager *d, const event_line *line, uint64_t turn, size_t *next)
{
    static const char *const quotes[] = {"say \"", "f(\"x\") "}, *const controls[] = {"two\nlines ", "tab\t", "bell\a"};
    static const char *const bytes[] = {"\xff", "\xc3(", "\xe2\x82", "\xed\xa0\x80"};
    static const char *const keys[] = {"\"ph\": \"i\", ", "\"name\": \"shadowed\", ", "\"ts\": 1, "};
    static const char *const empties[] = {",\n{}", ",\nnull", ",\n{ }"};
    bool has_comma = line->end < d->size && d->text[line->end] == ',';
    *next = line->end;
    switch ((hd_synth_damage)(line->damage - 1)) {
    case HD_SYNTH_COMMA: put_comma(d, line, has_comma, turn, next); break;
    case HD_SYNTH_NAN: put_nan(d, line, turn); break;
    case HD_SYNTH_QUOTE: put_with(d, line, name_at(d, line), pick(quotes, 2, turn)); break;
    case HD_SYNTH_CONTROL: put_with(d, line, name_at(d, line), pick(controls, 3, turn)); break;
    case HD_SYNTH_UTF8: put_with(d, line, name_at(d, line), pick(bytes, 4, turn)); break;
    case HD_SYNTH_DUPLICATE: put_with(d, line, line->begin + 1, pick(keys, 3, turn)); break;
    case HD_SYNTH_EMPTY:
        copy(d, line->begin, line->end);
        put_text(d, pick(empties, 3, turn));
        break;
    default: copy(d, line->begin, line->end); break;
    }
}

static void write_all(damager *d)
{
    uint64_t turns[HD_SYNTH_DAMAGE_KINDS + 1] = {0};
    size_t at = 0;
    for (size_t i = 0; i < d->line_count; i++) {
        const event_line *line = &d->lines[i];
        if (i == d->last) { /* the last byte left is one of the event's text */
            size_t half = (line->end - line->begin) / 2;
            copy(d, at, line->begin + 1 + (size_t)(synth_next(&d->random) % half));
            return;
        }
        if (line->damage) {
            copy(d, at, line->begin);
            put_event(d, line, turns[line->damage]++, &at);
        }
        if (i + 1 == d->line_count) {
            copy(d, at, line->end > at ? line->end : at);
            at = line->end > at ? line->end : at;
            for (uint64_t added = 0; added < d->truth.hit[HD_SYNTH_EMPTY]; added++)
                put_text(d, added % 2 ? ",\nnull" : ",\n{}");
        }
    }
    copy(d, at, d->size);
}

hd_status hd_synth_damage_text(char **out, size_t *out_size, const char *text, size_t size,
                               const hd_synth_damage_options *options, hd_synth_damage_truth *truth, hd_error *err)
{
    *out = NULL;
    *out_size = 0;
    if (options->kinds >> HD_SYNTH_DAMAGE_KINDS)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "unknown kinds of damage: 0x%x",
                            (unsigned)options->kinds);
    damager d = {.text = text, .size = size, .random = synth_seed(options->seed, 0x64616d616765)};
    d.out_capacity = size + size / 64 + 4096;
    d.out = malloc(d.out_capacity);
    hd_status status = d.out && find_lines(&d) ? choose_all(&d, options, err) : HD_NOMEM(err);
    if (status == HD_OK) {
        write_all(&d);
        if (d.failed) status = HD_NOMEM(err);
    }
    free(d.lines);
    if (status != HD_OK) {
        free(d.out);
        return status;
    }
    *out = d.out;
    *out_size = d.out_size;
    if (truth) *truth = d.truth;
    return HD_OK;
}
