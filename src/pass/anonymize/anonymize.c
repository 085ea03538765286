/* anonymize.c - the pass: which texts of a trace are replaced, by where they are used
 *
 *   hosts  names and labels of tracks, names of hosts and network addresses wherever they are
 *   paths  files and frames of stacks, but for those of frameworks
 *   args   keys and values of arguments, metadata, string ids, categories, and the names that a program chose: of
 *          ranges, counters, flows, operators of its own
 *   names  kernels, and operators of frameworks
 *
 * Kernels whose class or role depends on their name keep it, as do API calls, copies and waits of a GPU.
 */
#include "pass/anonymize/anonymize.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/class/class.h"
#include "model/roles/trace_roles.h"
#include "pass/anonymize/impl.h"
#include "trace/chunk.h"
#include "trace/text.h"

enum { NAMES, PATHS, ARGS, HOSTS, KINDS };
static const char *const kind_names[KINDS] = {"names", "paths", "args", "hosts"};
static const char *const codes[KINDS] = {"anonymize.names", "anonymize.paths", "anonymize.args", "anonymize.hosts"};

/* Places of names that are replaced, after those of hd_copy_place. */
enum { OWN_NAME = HD_COPY_PLACES, FRAME, KERNEL, ALL_PLACES };

typedef struct anonymizer {
    const hd_trace *trace;
    hd_builder *builder;
    anon_words words;
    bool kinds[KINDS];
    uint32_t *made[ALL_PLACES]; /* by string: that of the builder, of names the copy's added string; HD_NONE: not yet */
    uint8_t *metadata_kinds;    /* by string: 1 << kind of a metadata value; 1 << KINDS of the frames of stacks */
    uint64_t counts[KINDS];
    hd_roles roles;
    hd_json_out text;
} anonymizer;

/* ---- texts ---- */

/* The kind that replaces all words of a text in that place; KINDS: none does. */
static int kind_of(const anonymizer *a, unsigned place, uint32_t id, hd_string text)
{
    bool is_path = a->kinds[PATHS] && place != KERNEL && anon_is_path(text);
    switch (place) {
    case HD_COPY_NAME:
    case HD_COPY_NUMBER: return KINDS;
    case HD_COPY_TRACK: return a->kinds[HOSTS] ? HOSTS : is_path ? PATHS : KINDS;
    case FRAME: return a->kinds[PATHS] ? PATHS : KINDS;
    case KERNEL: return a->kinds[NAMES] ? NAMES : KINDS;
    case HD_COPY_CATEGORY:
        if (hd_role_of(text, (hd_string){"", 0}) != HD_ROLE_OTHER) return KINDS;
        break;
    case HD_COPY_METADATA:
        for (int kind = 0; kind < KINDS; kind++) {
            if (a->kinds[kind] && a->metadata_kinds[id] >> kind & 1) return kind;
        }
        break;
    default: break;
    }
    return is_path ? PATHS : a->kinds[ARGS] ? ARGS : KINDS;
}

/* Writes the text for that place to a->text; returns the kind that changed it, KINDS: none. */
static int make_text(anonymizer *a, unsigned place, uint32_t id)
{
    hd_string text = hd_trace_string(a->trace, id);
    int kind = kind_of(a, place, id, text);
    bool is_json = place == HD_COPY_JSON || place == HD_COPY_METADATA, changed;
    a->words.all = kind != KINDS;
    a->words.addresses = a->kinds[HOSTS] && place != HD_COPY_NAME && place != HD_COPY_NUMBER && place != KERNEL;
    a->text.size = 0;
    if (is_json)
        changed = anon_put_json(&a->text, &a->words, text,
                                place == HD_COPY_METADATA && a->metadata_kinds[id] >> KINDS && !a->kinds[NAMES]);
    else if (place == FRAME)
        changed = anon_put_frame(&a->text, &a->words, text, a->kinds[NAMES]);
    else
        changed = anon_put_text(&a->text, &a->words, text);
    return !changed ? KINDS : kind == KINDS ? HOSTS : kind;
}

static uint32_t intern_text(anonymizer *a, unsigned place, uint32_t id)
{
    int kind = make_text(a, place, id);
    if (a->text.failed) return HD_STRING_NONE;
    if (kind != KINDS) a->counts[kind]++;
    return hd_builder_intern(a->builder, a->text.data, a->text.size);
}

static uint32_t text_of(void *user, hd_copy_place place, uint32_t source)
{
    anonymizer *a = user;
    uint32_t *made = &a->made[place][source];
    if (*made == HD_NONE) *made = intern_text(a, place, source);
    return *made;
}

/* ---- names of events ---- */

static bool means_the_same(hd_string category, hd_string before, hd_string after, hd_row_sort row)
{
    return hd_role_on(category, before, row) == hd_role_on(category, after, row) &&
           gpu_class_of_kernel(before) == gpu_class_of_kernel(after) &&
           gpu_collective_of(before) == gpu_collective_of(after);
}

/* The place by whose rule the name of a slice is replaced; HD_COPY_NAME: it stays. */
static unsigned place_of_slice(anonymizer *a, const hd_event *event)
{
    hd_string category = hd_trace_string(a->trace, event->category), name = hd_trace_string(a->trace, event->name);
    switch (hd_roles_at(&a->roles, event->category, event->name, event->track)) {
    case HD_ROLE_KERNEL: break;
    case HD_ROLE_COPY:
    case HD_ROLE_SET:
    case HD_ROLE_SYNC:
    case HD_ROLE_OVERHEAD: return HD_COPY_NAME;
    case HD_ROLE_RUNTIME:
    case HD_ROLE_DRIVER: {
        hd_role role = hd_role_of((hd_string){"", 0}, name);
        bool is_api = role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER || hd_launch_sort_of(name);
        return is_api ? HD_COPY_NAME : OWN_NAME;
    }
    case HD_ROLE_OP: return anon_is_framework(name) ? KERNEL : OWN_NAME;
    case HD_ROLE_PYTHON: return FRAME;
    default: return OWN_NAME;
    }
    if (!a->kinds[NAMES]) return HD_COPY_NAME;
    a->words.all = true;
    a->words.addresses = false;
    a->text.size = 0;
    anon_put_text(&a->text, &a->words, name);
    hd_row_sort row = hd_roles_row(&a->roles, event->track);
    return means_the_same(category, name, (hd_string){a->text.data, a->text.size}, row) ? KERNEL : HD_COPY_NAME;
}

static unsigned place_of_name(anonymizer *a, const hd_block *block, uint32_t row)
{
    hd_event event;
    switch (block->kind) {
    case HD_KIND_SAMPLE: return FRAME;
    case HD_KIND_SLICE: break;
    case HD_KIND_END:
        if (hd_column_at(&block->columns[HD_COL_PARTNER], row) < 0) break;
        block = hd_trace_block_of(&row, a->trace, HD_KIND_SLICE,
                                  (uint64_t)hd_column_at(&block->columns[HD_COL_PARTNER], row));
        break;
    default: return OWN_NAME;
    }
    hd_block_event(&event, block, row);
    return place_of_slice(a, &event);
}

/* An id for hd_copy_change. */
static uint32_t name_for(anonymizer *a, hd_copy *copy, unsigned place, uint32_t source)
{
    uint32_t *made = &a->made[place][source];
    if (*made == HD_NONE) *made = hd_copy_add_string(copy, intern_text(a, place, source));
    return *made;
}

static hd_status change_names(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    anonymizer *a = user;
    const uint32_t strings = hd_trace_string_count(a->trace);
    int64_t *names = hd_copy_change(rows, HD_COL_NAME);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        if (names[i] == HD_STRING_NONE || names[i] >= strings) continue;
        unsigned place = place_of_name(a, rows->block, i);
        if (place != HD_COPY_NAME) names[i] = name_for(a, copy, place, (uint32_t)names[i]);
        if (names[i] == HD_NONE) return HD_NOMEM(err);
    }
    return a->text.failed ? HD_NOMEM(err) : HD_OK;
}

/* ---- metadata ---- */

static void look_at_metadata(anonymizer *a)
{
    static const struct {
        const char *key;
        int kind;
    } keys[] = {{"modules", PATHS}, {"traceName", PATHS}, {"stackFrames", PATHS}, {"stackFrames", KINDS}};
    for (size_t i = 0; i < hd_trace_metadata_count(a->trace); i++) {
        const hd_metadata *m = hd_trace_metadata_at(a->trace, i);
        hd_string key = hd_trace_string(a->trace, m->key), value = hd_trace_string(a->trace, m->value);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            if (hd_string_is(key, keys[k].key)) a->metadata_kinds[m->value] |= (uint8_t)(1 << keys[k].kind);
        }
        if (anon_is_host_key(key)) {
            a->metadata_kinds[m->value] |= 1 << HOSTS;
            anon_add_host(&a->words, value);
        } else if (!hd_string_is(key, "stackFrames")) {
            anon_add_hosts_in(&a->words, value);
        }
    }
}

/* ---- the pass ---- */

static hd_status parse_kinds(bool out[KINDS], const char *text, hd_error *err)
{
    if (!text) text = "paths,args,hosts";
    while (*text) {
        size_t size = strcspn(text, ","), kind = 0;
        while (kind < KINDS && !(strlen(kind_names[kind]) == size && memcmp(kind_names[kind], text, size) == 0)) kind++;
        if (kind == KINDS)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "\"%.*s\" is none of names, paths, args, hosts", (int)(size < 40 ? size : 40), text);
        out[kind] = true;
        text += size + (text[size] == ',');
    }
    return HD_OK;
}

hd_status hd_anonymize_valid(const hd_anonymize *options, hd_error *err)
{
    bool kinds[KINDS] = {false};
    if (options->salt && !*options->salt)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the salt is empty");
    HD_TRY(parse_kinds(kinds, options->kinds, err));
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i]) return HD_OK;
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "nothing is to be replaced: name a kind");
}

static hd_status init(anonymizer *a, const hd_anonymize *options, hd_error *err)
{
    size_t strings = (size_t)hd_trace_string_count(a->trace) + 1;
    HD_TRY(parse_kinds(a->kinds, options->kinds, err));
    if (!anon_key(a->words.key, options->salt))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "the system has no random numbers for the salt: give one");
    for (int i = 0; i < ALL_PLACES; i++) {
        a->made[i] = malloc(strings * sizeof *a->made[i]);
        if (!a->made[i]) return HD_NOMEM(err);
        memset(a->made[i], 0xff, strings * sizeof *a->made[i]);
    }
    a->metadata_kinds = calloc(strings, 1);
    if (!a->metadata_kinds || !hd_roles_init(&a->roles, a->trace)) return HD_NOMEM(err);
    look_at_metadata(a);
    return hd_builder_new(&a->builder, err);
}

static void deinit(anonymizer *a)
{
    for (int i = 0; i < ALL_PLACES; i++) free(a->made[i]);
    free(a->metadata_kinds);
    free(a->text.data);
    if (a->roles.trace) hd_roles_deinit(&a->roles);
}

static hd_status copy_all(anonymizer *a, hd_error *err)
{
    hd_copy *copy;
    const hd_copy_hooks hooks = {.user = a, .rows = change_names};
    HD_TRY(hd_copy_new(&copy, a->trace, a->builder, err));
    hd_copy_set_text(copy, text_of, a);
    hd_status status = hd_copy_tracks(copy, NULL, NULL, err);
    if (status == HD_OK) status = hd_copy_events(copy, &hooks, err);
    if (status == HD_OK) status = hd_copy_surroundings(copy, err);
    hd_copy_free(copy);
    for (int i = 0; i < KINDS; i++) {
        if (a->counts[i])
            hd_builder_ledger(a->builder, "anonymize", codes[i], HD_LEDGER_NOTE, a->counts[i], HD_OFFSET_NONE);
    }
    return status == HD_OK && a->text.failed ? HD_NOMEM(err) : status;
}

hd_status hd_anonymize_trace(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_anonymize *options,
                             hd_error *err)
{
    anonymizer a = {.trace = trace};
    *out = NULL;
    *result = (hd_pass_result){0};
    hd_status status = init(&a, options, err);
    if (status == HD_OK) status = copy_all(&a, err);
    deinit(&a);
    if (status == HD_OK) return hd_builder_finish(out, a.builder, err);
    hd_builder_free(a.builder);
    return status;
}
