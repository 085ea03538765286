/* groups.c - groups of kernels that the user defines, as [[group]] of a TOML file
 *
 *     [[group]]
 *     name = "attention"
 *     patterns = ["flash_fwd*", "*fmha*"]
 *     parent = "model"          # another group, or a name of its own
 *     class = "compute"         # or communication, copy, AllReduce …: as a line "CLASS: PATTERN"
 *     colour = "#1f77b4"        # in the viewer; else that of the parent
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/pattern.h"
#include "base/text/toml.h"
#include "heddle/names.h"
#include "model/class/impl.h"

enum { GROUP_DEPTH = 16, GROUP_LIMIT = 1000, PATTERN_LIMIT = 10000, PATH_BYTES = 256 };

typedef struct group {
    hd_json_span name, parent; /* parent: empty, a group's name, or any */
    hd_json_span colour;       /* "#1f77b4"; empty: none */
    size_t first;              /* of the groups of its file */
    char path[PATH_BYTES];
    uint32_t number; /* of the first group of this path */
} group;

typedef struct group_pattern {
    const char *glob;
    size_t group;
} group_pattern;

/* As the rules of class.c: read before any trace is used. */
static struct own_groups {
    group *list;
    size_t count, capacity;
    group_pattern *patterns;
    size_t pattern_count, pattern_capacity;
    hd_arena texts;
    bool is_shipped; /* all are of a table of share/groups */
} own;

enum { KEY_NAME = 1, KEY_PATTERNS = 2, KEY_PARENT = 4, KEY_CLASS = 8, KEY_COLOUR = 16, KEY_COUNT = 5 };
static const char *const keys[] = {"name", "patterns", "parent", "class", "colour"};

typedef struct reader {
    hd_toml toml;
    const char *head; /* of the [[group]] at hand; NULL: none yet */
    unsigned seen;
    size_t first, file_patterns; /* of this file */
    size_t first_pattern;        /* of this group */
    hd_json_span class;
    const char *class_at;
} reader;

static bool same(hd_json_span a, hd_json_span b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static hd_status add_pattern(void *user, hd_json_span text, const char *at)
{
    const reader *r = user;
    (void)at;
    if (own.pattern_count - r->file_patterns == PATTERN_LIMIT) /* each is compared with each name */
        return hd_error_set(r->toml.err, HD_ERR_LIMIT, r->toml.name, HD_OFFSET_NONE, "more than %d patterns",
                            PATTERN_LIMIT);
    if (!hd_grow((void **)&own.patterns, &own.pattern_capacity, own.pattern_count, sizeof *own.patterns))
        return HD_NOMEM(r->toml.err);
    own.patterns[own.pattern_count++] = (group_pattern){text.data, own.count - 1};
    return HD_OK;
}

static hd_status finish_group(reader *r)
{
    if (!r->head) return HD_OK;
    if (!(r->seen & KEY_NAME)) return hd_toml_refuse(&r->toml, r->head, "this [[group]] has no name = \"...\"");
    for (size_t i = r->first; i + 1 < own.count; i++)
        if (same(own.list[i].name, own.list[own.count - 1].name))
            return hd_toml_refuse(&r->toml, r->head, "a second [[group]] of that name");
    for (size_t i = r->first_pattern; r->class.size && i < own.pattern_count; i++) {
        hd_status status = class_add_rule((hd_string){r->class.data, r->class.size}, own.patterns[i].glob, r->toml.err);
        if (status == HD_ERR_FORMAT)
            return hd_toml_refuse(&r->toml, r->class_at,
                                  "a class is compute, communication, copy, or a collective such as AllReduce");
        if (status != HD_OK) return status;
    }
    return HD_OK;
}

static hd_status read_head(reader *r)
{
    hd_json_span word;
    const char *at = r->toml.p;
    HD_TRY(finish_group(r));
    HD_TRY(hd_toml_head(&word, &r->toml));
    if (!hd_json_span_is(word, "group")) return hd_toml_refuse(&r->toml, at, "the only kind of table is [[group]]");
    if (own.count - r->first == GROUP_LIMIT)
        return hd_error_set(r->toml.err, HD_ERR_LIMIT, r->toml.name, HD_OFFSET_NONE, "more than %d groups",
                            GROUP_LIMIT);
    if (!hd_grow((void **)&own.list, &own.capacity, own.count, sizeof *own.list)) return HD_NOMEM(r->toml.err);
    own.list[own.count++] = (group){.first = r->first};
    r->head = at;
    r->seen = 0;
    r->class = (hd_json_span){"", 0};
    r->first_pattern = own.pattern_count;
    return HD_OK;
}

static bool is_colour(hd_json_span text)
{
    size_t digits = 0;
    while (digits + 1 < text.size && isxdigit((unsigned char)text.data[digits + 1])) digits++;
    return text.size == 7 && text.data[0] == '#' && digits == 6;
}

static hd_status read_pair(reader *r)
{
    const char *at = r->toml.p;
    hd_json_span key;
    unsigned which = 0;
    HD_TRY(hd_toml_key(&key, &r->toml));
    while (which < KEY_COUNT && !hd_json_span_is(key, keys[which])) which++;
    if (which == KEY_COUNT)
        return hd_toml_refuse(&r->toml, at, "a key is one of name, patterns, parent, class, colour");
    if (!r->head) return hd_toml_refuse(&r->toml, at, "a line [[group]] must come before this");
    if (r->seen & 1u << which) return hd_toml_refuse(&r->toml, at, "'%s' is given a second time", keys[which]);
    r->seen |= 1u << which;
    if (1u << which == KEY_PATTERNS)
        return hd_toml_strings(&r->toml, "patterns are an array of strings: patterns = [\"flash_fwd*\"]", add_pattern,
                               r);
    group *g = &own.list[own.count - 1];
    r->class_at = 1u << which == KEY_CLASS ? r->toml.p : r->class_at;
    HD_TRY(hd_toml_string(1u << which == KEY_NAME     ? &g->name
                          : 1u << which == KEY_PARENT ? &g->parent
                          : 1u << which == KEY_CLASS  ? &r->class
                                                      : &g->colour,
                          &r->toml, "a value is a string in double quotes: name = \"attention\""));
    if (1u << which != KEY_COLOUR || is_colour(g->colour)) return HD_OK;
    return hd_toml_refuse(&r->toml, at, "a colour is # and six hexadecimal digits: colour = \"#1f77b4\"");
}

/* "model/attention": names of the parents first. */
static hd_status find_path(const reader *r, group *g)
{
    char text[PATH_BYTES];
    hd_json_span parent = g->parent;
    snprintf(g->path, sizeof g->path, "%.*s", (int)g->name.size, g->name.data);
    for (int depth = 0; parent.size; depth++) {
        if (depth == GROUP_DEPTH || strlen(g->path) + parent.size + 2 > sizeof text)
            return hd_error_set(r->toml.err, HD_ERR_FORMAT, r->toml.name, HD_OFFSET_NONE,
                                "group '%.60s': its parents are more than %d, or one another's", g->name.data,
                                GROUP_DEPTH);
        snprintf(text, sizeof text, "%.*s/%.150s", (int)parent.size, parent.data, g->path);
        memcpy(g->path, text, sizeof text);
        hd_json_span next = {"", 0};
        for (size_t i = r->first; i < own.count; i++)
            if (same(own.list[i].name, parent)) next = own.list[i].parent;
        parent = next;
    }
    return HD_OK;
}

static hd_status read_tables(reader *r)
{
    while (hd_toml_more(&r->toml)) {
        HD_TRY(*r->toml.p == '[' ? read_head(r) : read_pair(r));
        HD_TRY(hd_toml_end_line(&r->toml));
    }
    HD_TRY(finish_group(r));
    for (size_t i = r->first; i < own.count; i++) {
        if (own.list[i].name.size + own.list[i].parent.size > PATH_BYTES - 2)
            return hd_error_set(r->toml.err, HD_ERR_LIMIT, r->toml.name, HD_OFFSET_NONE, "a name over %d bytes",
                                PATH_BYTES);
        HD_TRY(find_path(r, &own.list[i]));
        uint32_t *number = &own.list[i].number;
        for (*number = 0; strcmp(own.list[*number].path, own.list[i].path) != 0;) ++*number;
    }
    return HD_OK;
}

static hd_status add_text(const char *text, size_t size, const char *name, hd_error *err)
{
    reader r = {.first = own.count, .file_patterns = own.pattern_count};
    HD_TRY(hd_toml_open(&r.toml, text, size, name, &own.texts, err));
    hd_status status = read_tables(&r);
    hd_toml_close(&r.toml);
    if (status == HD_OK) return HD_OK;
    own.count = r.first;
    own.pattern_count = r.file_patterns;
    return status;
}

hd_status class_read_groups(const char *path, hd_error *err)
{
    char *text;
    size_t size;
    HD_TRY(hd_toml_read_file(&text, &size, path, err));
    hd_status status = add_text(text, size, path, err);
    free(text);
    return status;
}

hd_status class_read_shipped(const char *name, hd_error *err)
{
    static const struct {
        const char *name, *text;
        const size_t *size;
    } tables[] = {{"aiter", class_aiter, &class_aiter_size},
                  {"megatron", class_megatron, &class_megatron_size},
                  {"sglang", class_sglang, &class_sglang_size},
                  {"transformer-engine", class_transformer_engine, &class_transformer_engine_size},
                  {"vllm", class_vllm, &class_vllm_size}};
    char names[128] = "";
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i].name, name) == 0) {
            own.is_shipped = own.pattern_count == 0;
            return add_text(tables[i].text, *tables[i].size, name, err);
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", tables[i].name);
    }
    return hd_error_set(err, HD_ERR_IO, name, HD_OFFSET_NONE, "neither a file nor a table of groups: there are %s",
                        names);
}

uint32_t gpu_group_count(void)
{
    return own.pattern_count ? (uint32_t)own.count : 0;
}

const char *gpu_group_path(uint32_t number)
{
    return number == HD_NONE ? NULL : own.list[number].path;
}

hd_string gpu_group_colour(uint32_t number)
{
    const group *g = number == HD_NONE ? NULL : &own.list[number];
    for (const group *next; g && !g->colour.size; g = next) {
        next = NULL;
        for (size_t i = g->first; g->parent.size && i < own.count && own.list[i].first == g->first && !next; i++)
            if (same(own.list[i].name, g->parent)) next = &own.list[i];
    }
    return g ? (hd_string){g->colour.data, g->colour.size} : (hd_string){"", 0};
}

typedef struct kernel_name {
    hd_string whole;
    char text[HD_NAME_BYTES]; /* the short name */
    size_t size;
} kernel_name;

/* The first pattern from `at` on that matches; own.pattern_count: none does. */
static size_t next_match(const kernel_name *name, size_t at)
{
    bool is_short = name->size == name->whole.size && memcmp(name->text, name->whole.data, name->size) == 0;
    for (; at < own.pattern_count; at++) {
        const char *glob = own.patterns[at].glob;
        if (hd_glob_matches(glob, name->whole.data, name->whole.size, false)) break;
        if (!is_short && hd_glob_matches(glob, name->text, name->size, false)) break;
    }
    return at;
}

static void shorten(kernel_name *out, hd_string name)
{
    out->whole = name;
    out->size = hd_name_short(out->text, hd_name_plain(name));
}

uint32_t gpu_group_of_kernel(hd_string whole)
{
    kernel_name name;
    if (!own.pattern_count) return HD_NONE;
    shorten(&name, whole);
    size_t at = next_match(&name, 0);
    return at < own.pattern_count ? own.list[own.patterns[at].group].number : HD_NONE;
}

/* ---- names of a trace ---- */

bool gpu_group_names_init(gpu_group_names *names, const hd_trace *trace)
{
    *names = (gpu_group_names){.trace = trace};
    names->by_name = calloc((size_t)hd_trace_string_count(trace) + 1, sizeof *names->by_name);
    return names->by_name;
}

void gpu_group_names_deinit(gpu_group_names *names)
{
    free(names->by_name);
    free(names->is_used);
    *names = (gpu_group_names){0};
}

uint32_t gpu_group_of_string(gpu_group_names *names, uint32_t string)
{
    if (string == HD_STRING_NONE) return HD_NONE;
    uint32_t *known = &names->by_name[string];
    if (!*known) *known = gpu_group_of_kernel(hd_trace_string(names->trace, string)) + 2; /* HD_NONE + 2 is 1 */
    return *known - 2;
}

enum { NOTE_NAME = 100, NOTE_PATTERNS = 3 }; /* longer names are counted, not shown */

static void note_name(gpu_group_names *fit, hd_string whole)
{
    kernel_name name;
    shorten(&name, whole);
    size_t first = next_match(&name, 0), other = own.pattern_count;
    for (size_t at = first; at < own.pattern_count; at = next_match(&name, at + 1)) {
        fit->is_used[at] = true;
        if (other == own.pattern_count && own.patterns[at].group != own.patterns[first].group) other = at;
    }
    if (other == own.pattern_count) return;
    fit->claimed++;
    if (!*fit->example && name.size <= NOTE_NAME)
        snprintf(fit->example, sizeof fit->example, ": %.*s is in %s, not in %s", (int)name.size, name.text,
                 own.list[own.patterns[first].group].path, own.list[own.patterns[other].group].path);
}

bool gpu_group_names_notes(const char **out, gpu_group_names *fit)
{
    size_t unused = 0, shown = 0;
    char list[NOTE_PATTERNS * (NOTE_NAME + 2) + 1] = "";
    if (own.is_shipped || !own.pattern_count) return true;
    if (!(fit->is_used = calloc(own.pattern_count, sizeof *fit->is_used))) return false;
    for (uint32_t i = 0; i < hd_trace_string_count(fit->trace); i++)
        if (fit->by_name[i]) note_name(fit, hd_trace_string(fit->trace, i));
    for (size_t i = 0; i < own.pattern_count; i++) {
        if (fit->is_used[i]) continue;
        unused++;
        if (shown == NOTE_PATTERNS || strlen(own.patterns[i].glob) > NOTE_NAME) continue;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", shown++ ? ", " : ": ", own.patterns[i].glob);
    }
    if (unused) {
        snprintf(fit->notes[0], sizeof fit->notes[0], "%zu of %zu patterns of --groups match no kernel here%s%s",
                 unused, own.pattern_count, list, unused > shown && shown ? ", ..." : "");
        *out++ = fit->notes[0];
    }
    if (fit->claimed) {
        snprintf(fit->notes[1], sizeof fit->notes[1],
                 "patterns of several groups match %zu kernel name%s, and the first in the file counts%s", fit->claimed,
                 fit->claimed == 1 ? "" : "s", fit->example);
        *out++ = fit->notes[1];
    }
    return true;
}
