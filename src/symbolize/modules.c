/* modules.c - reads the trace's keys `modules` and `symbols`
 *
 * Both are arrays of objects. An element that is not an object, or has no name, is counted and skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/hex.h"
#include "symbolize/impl.h"

/* ---- members ---- */

/* The decoded text of a member that is a string, in the arena; "" if it has none. NULL: no memory. */
static const char *text_of(hd_arena *arena, size_t *out_size, const char *object, const char *key)
{
    const char *value;
    hd_json_text text;
    size_t size;
    *out_size = 0;
    if (!hd_json_find(&value, &size, object, key) || *value != '"' || !hd_json_string(&text, value + 1)) return "";
    char *copy = hd_arena_alloc(arena, text.size + 1);
    if (!copy) return NULL;
    if (!text.escaped)
        memcpy(copy, text.data, size = text.size);
    else if (!hd_json_decode(copy, &size, &text))
        return "";
    if (memchr(copy, '\0', size)) return ""; /* no path has one */
    copy[size] = '\0';
    *out_size = size;
    return copy;
}

/* "0x7f…", all of the text. */
static bool parse_hex(uint64_t *out, const char *text, size_t size)
{
    *out = 0;
    if (size < 3 || size > 18 || text[0] != '0' || text[1] != 'x') return false;
    for (size_t i = 2; i < size; i++) {
        int digit = hd_hex_digit(text[i]);
        if (digit < 0) return false;
        *out = *out << 4 | (unsigned)digit;
    }
    return true;
}

/* A number, or text with 0x. */
static bool number_of(uint64_t *out, const char *object, const char *key)
{
    const char *value;
    hd_json_text text;
    hd_json_number number;
    size_t size;
    if (!hd_json_find(&value, &size, object, key)) return false;
    if (*value == '"') return hd_json_string(&text, value + 1) && parse_hex(out, text.data, text.size);
    if (!hd_json_is_digit(*value) || !hd_json_scan_number(&number, value) || !number.exact || number.scale)
        return false;
    *out = number.mantissa;
    return true;
}

/* ---- modules ---- */

static bool parse_build_id(sym_module *module)
{
    size_t size = strlen(module->build_id_text);
    if (size % 2 || size > 2 * SYM_BUILD_ID_BYTES) return false;
    for (size_t i = 0; i < size; i += 2) {
        int high = hd_hex_digit(module->build_id_text[i]), low = hd_hex_digit(module->build_id_text[i + 1]);
        if (high < 0 || low < 0) return false;
        module->build_id[i / 2] = (uint8_t)(high << 4 | low);
    }
    module->build_id_bytes = (uint32_t)(size / 2);
    return true;
}

/* Paths of files are absolute, or at least not names that the system uses for mappings without a file. */
static bool is_file(const char *path)
{
    return *path && *path != '[' && strncmp(path, "//", 2) != 0 && strncmp(path, "anon_inode:", 11) != 0;
}

static bool is_same(const sym_module *a, const sym_module *b)
{
    if (!a->is_file && a->bias != b->bias) return false; /* mappings without a file have addresses of the process */
    return strcmp(a->path, b->path) == 0 && a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

static bool push_module(symbolizer *s, const sym_module *module)
{
    if (s->module_count >= HD_NONE ||
        !hd_grow((void **)&s->modules, &s->module_capacity, s->module_count, sizeof *s->modules))
        return false;
    s->modules[s->module_count++] = *module;
    return true;
}

/* A text that finds the module. Equal modules under one text are merged, since a file is mapped in parts; for different
 * ones the target is ambiguous, and an additional module represents them. */
static bool add_key(symbolizer *s, const char *text, uint32_t index)
{
    size_t size = strlen(text);
    if (!size) return true;
    uint32_t before = atomic_load(&s->keys.count), key = hd_strings_intern(&s->keys, text, size);
    if (key == HD_STRING_NONE || !hd_grow((void **)&s->key_modules, &s->key_capacity, key, sizeof *s->key_modules))
        return false;
    if (key >= before) {
        s->key_modules[key] = index;
        return true;
    }
    const sym_module *known = &s->modules[s->key_modules[key]];
    if (known->is_ambiguous || is_same(known, &s->modules[index])) return true;
    const sym_module several = {.name = text, .path = "", .build_id_text = "", .is_ambiguous = true};
    s->key_modules[key] = (uint32_t)s->module_count;
    return push_module(s, &several);
}

/* false: no memory. *out_good: the object is a module. */
static bool add_module(symbolizer *s, bool *out_good, const char *object)
{
    size_t name_size, path_size, id_size, process_size;
    sym_module m = {0};
    m.name = text_of(&s->arena, &name_size, object, "name");
    m.path = text_of(&s->arena, &path_size, object, "path");
    m.build_id_text = text_of(&s->arena, &id_size, object, "buildId");
    const char *process = text_of(&s->arena, &process_size, object, "pid");
    if (!m.name || !m.path || !m.build_id_text || !process) return false;
    *out_good = (name_size || path_size) && parse_build_id(&m);
    if (!*out_good) return true;
    const char *slash = strrchr(m.path, '/'), *offsets;
    m.has_offsets = hd_json_find(&offsets, &id_size, object, "fileOffsets") && *offsets == 't';
    if (!name_size) m.name = slash ? slash + 1 : m.path;
    m.is_file = is_file(m.path);
    m.has_range = number_of(&m.start, object, "start") && number_of(&m.end, object, "end") && m.end > m.start;
    if (!number_of(&m.bias, object, "bias")) m.has_range = false;
    if (m.has_range) {
        s->several |= s->process_of && strcmp(s->process_of, process) != 0;
        s->process_of = process;
    }
    return push_module(s, &m);
}

static bool add_keys(symbolizer *s)
{
    size_t count = s->module_count;
    for (size_t i = 0; i < count; i++) {
        if (!add_key(s, s->modules[i].name, (uint32_t)i)) return false;
    }
    for (size_t i = 0; i < count; i++) {
        const sym_module *m = &s->modules[i];
        if (strcmp(m->path, m->name) != 0 && !add_key(s, m->path, (uint32_t)i)) return false;
    }
    return true;
}

sym_module *sym_module_find(const symbolizer *s, const char *text, size_t size)
{
    uint32_t key = s->has_keys ? hd_strings_find(&s->keys, text, size) : HD_NONE;
    return key == HD_NONE ? NULL : &s->modules[s->key_modules[key]];
}

static int by_start(const void *a, const void *b)
{
    const sym_mapping *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->module < y->module ? -1 : x->module > y->module;
}

/* In a merged trace the process of an address is unknown, and another process's module would give a wrong name.
 * Addresses in a module of their own process were already resolved by the reader. */
static bool sort_mapped(symbolizer *s)
{
    s->mapped = malloc((s->module_count + 1) * sizeof *s->mapped);
    if (!s->mapped) return false;
    for (size_t i = 0; i < s->module_count && !s->several; i++) {
        const sym_module *m = &s->modules[i];
        if (m->has_range && m->is_file) s->mapped[s->mapped_count++] = (sym_mapping){m->start, (uint32_t)i};
    }
    hd_sort(s->mapped, s->mapped_count, sizeof *s->mapped, by_start);
    return true;
}

/* If several contain the address, because one replaced another: the first in the trace among a few that begin last. */
sym_module *sym_module_at(const symbolizer *s, uint64_t address)
{
    enum { LOOK_BACK = 16 };
    size_t begun = hd_sorted_up_to(address, s->mapped, s->mapped_count, sizeof *s->mapped);
    uint32_t found = HD_NONE;
    for (size_t i = begun; i-- > 0 && begun - i <= LOOK_BACK;) {
        uint32_t module = s->mapped[i].module;
        if (address < s->modules[module].end && module < found) found = module;
    }
    if (found == HD_NONE) return NULL;
    sym_module *m = &s->modules[found];
    sym_module *first = sym_module_find(s, *m->path ? m->path : m->name, strlen(*m->path ? m->path : m->name));
    return first && is_same(first, m) ? first : m;
}

/* ---- symbols ---- */

static bool add_symbol(symbolizer *s, bool *out_good, const char *object)
{
    size_t name_size;
    uint64_t start, size;
    const char *name = text_of(&s->arena, &name_size, object, "name");
    if (!name) return false;
    *out_good = name_size && number_of(&start, object, "start") &&
                (number_of(&size, object, "size") || number_of(&size, object, "bytes")) && size;
    if (!*out_good) return true;
    return sym_range_add(s, start, size, name, name_size) == HD_OK;
}

/* ---- arrays ---- */

typedef bool take_object(symbolizer *s, bool *out_good, const char *object);

/* The text is valid JSON up to where it is not, since an object was skipped before it is looked into. */
static hd_status read_objects(symbolizer *s, const char *text, const char *key, take_object *take, uint64_t *out_bad)
{
    const char *p = hd_json_skip_space(text);
    bool is_array = *p == '[';
    p = hd_json_skip_space(is_array ? p + 1 : p);
    while (is_array && *p != ']') {
        bool good = false;
        const char *end = hd_json_skip_value(p);
        if (!end) break;
        if (*p == '{' && !take(s, &good, p)) return HD_NOMEM(s->err);
        *out_bad += !good;
        p = hd_json_skip_space(end);
        if (*p != ',') break;
        p = hd_json_skip_space(p + 1);
    }
    if (is_array && *p == ']') return HD_OK;
    return hd_error_set(s->err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "the key \"%s\" of the trace is not an array",
                        key);
}

static hd_status read_key(symbolizer *s, const char *key, take_object *take, uint64_t *out_bad)
{
    hd_string json = hd_trace_metadata_find(s->trace, key);
    if (!json.size) return HD_OK;
    char *text = malloc(json.size + HD_JSON_PADDING); /* padding that the trace's string has not */
    if (!text) return HD_NOMEM(s->err);
    memcpy(text, json.data, json.size);
    memset(text + json.size, 0, HD_JSON_PADDING);
    hd_status status = read_objects(s, text, key, take, out_bad);
    free(text);
    return status;
}

hd_status sym_modules_read(symbolizer *s)
{
    HD_TRY(hd_strings_init(&s->keys, s->err));
    s->has_keys = true;
    HD_TRY(read_key(s, "modules", add_module, &s->bad_modules));
    if (!add_keys(s) || !sort_mapped(s)) return HD_NOMEM(s->err);
    return read_key(s, "symbols", add_symbol, &s->bad_symbols);
}
