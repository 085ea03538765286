/* trace_stacks.c - the tree of frames of a trace, from its stackFrames
 *
 * Reads    {"ID": {"name": …, "category": …, "parent": ID}, …}; ids are strings or numbers, "7" and 7 the same. Other
 *          members of a frame are ignored. Of frames with equal ids the last counts.
 * Damage   a frame that is not an object or has no name is named "[unknown]"; a frame whose caller is missing, is not
 *          an id or would close a circle gets a caller "[unknown]" of its own
 * Order    callers may come after their callees: frames are read first; then each chain of callers is followed up to a
 *          known node, and its nodes are made downward, without recursion
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "heddle/stacks.h"
#include "trace/impl.h"
#include "trace/stacks/trace_stacks.h"

/* An id as a number: twice its value if it is written in up to 18 digits, else an odd hash of its text. */
typedef uint64_t frame_id;
enum { ID_DIGITS = 18 };
static const int64_t ID_LIMIT = 1000000000000000000; /* numbers from here on have more digits */
#define NO_ID UINT64_MAX

typedef struct raw_frame {
    frame_id id, caller; /* caller NO_ID: none */
    uint32_t name, node; /* node HD_NONE: not made yet */
    uint8_t kind;
    bool is_open;    /* on the chain that is being followed */
    bool bad_caller; /* it has a caller that is not an id */
    bool is_damaged; /* and counted */
} raw_frame;

struct hd_trace_stacks {
    const hd_trace *trace;
    const hd_stacks *lent; /* the trace's own tree, whose ids are its nodes; NULL: the members below are in use */
    hd_stacks *tree;
    hd_strings texts; /* ids that are not numbers */
    bool has_texts;
    hd_map ids;       /* to frames; to nodes once all is read */
    int16_t *sf_keys; /* by shape: which key is `sf`, -1 none */
    uint32_t shape_count;
    uint64_t damaged;
};

typedef struct frame_reader {
    hd_trace_stacks *stacks;
    raw_frame *frames;
    size_t count, capacity;
    uint32_t unknown; /* name */
    char *decoded;
    size_t decoded_capacity;
} frame_reader;

/* ---- ids ---- */

static bool number_id(frame_id *out, const char *data, size_t size)
{
    uint64_t value = 0;
    if (size == 0 || size > ID_DIGITS || (data[0] == '0' && size > 1)) return false;
    for (size_t i = 0; i < size; i++) {
        if (!hd_json_is_digit(data[i])) return false;
        value = value * 10 + (uint64_t)(data[i] - '0');
    }
    *out = value * 2;
    return true;
}

static frame_id text_id(uint32_t text)
{
    return (uint64_t)text * 2 + 1;
}

/* NO_ID: no memory. */
static frame_id make_id(hd_trace_stacks *s, const char *data, size_t size)
{
    frame_id id;
    if (number_id(&id, data, size)) return id;
    uint32_t text = hd_strings_intern(&s->texts, data, size);
    return text == HD_STRING_NONE ? NO_ID : text_id(text);
}

/* ---- one frame ---- */

static hd_status not_an_object(hd_error *err)
{
    return hd_error_set(err, HD_ERR_DAMAGED, NULL, HD_OFFSET_NONE, "stackFrames is not a JSON object of frames");
}

/* The decoded text of a string; false: no memory. Invalid UTF-8 is left unchanged. */
static bool decode(hd_string *out, frame_reader *r, const hd_json_text *text)
{
    *out = (hd_string){text->data, text->size};
    if (!text->escaped) return true;
    if (!hd_reserve(&r->decoded, &r->decoded_capacity, text->size + 1)) return false;
    if (hd_json_decode(r->decoded, &out->size, text)) out->data = r->decoded;
    return true;
}

/* An id as a number: 7, and 7.0 as well. */
static frame_id id_of_number(hd_trace_stacks *s, const char *data, size_t size)
{
    hd_json_number number;
    if (memchr(data, '.', size) && hd_json_scan_number(&number, data) && number.exact && !number.negative) {
        char digits[24];
        while (number.scale && number.mantissa % 10 == 0) {
            number.mantissa /= 10;
            number.scale--;
        }
        int length = number.scale ? 0 : snprintf(digits, sizeof digits, "%llu", (unsigned long long)number.mantissa);
        if (length) return make_id(s, digits, (size_t)length);
    }
    return make_id(s, data, size);
}

/* The value at p, which ends at `end`, is a frame's parent. */
static hd_status read_caller(raw_frame *out, frame_reader *r, const char *p, const char *end, hd_error *err)
{
    hd_json_text text;
    hd_string decoded;
    if (*p == 'n') return HD_OK; /* null */
    if (*p == '"') {
        if (!hd_json_string(&text, p + 1)) return not_an_object(err);
        if (!decode(&decoded, r, &text)) return HD_NOMEM(err);
        out->caller = make_id(r->stacks, decoded.data, decoded.size);
    } else if (*p == '-' || hd_json_is_digit(*p)) {
        out->caller = id_of_number(r->stacks, p, (size_t)(end - p));
    } else {
        out->bad_caller = true;
        return HD_OK;
    }
    return out->caller == NO_ID ? HD_NOMEM(err) : HD_OK;
}

static hd_status read_member(raw_frame *out, frame_reader *r, const hd_json_text *key, const char *p, const char *end,
                             hd_error *err)
{
    hd_json_text text;
    hd_string decoded;
    if (key->size == 6 && memcmp(key->data, "parent", 6) == 0) return read_caller(out, r, p, end, err);
    if (*p != '"') return HD_OK;
    bool is_name = key->size == 4 && memcmp(key->data, "name", 4) == 0;
    if (!is_name && !(key->size == 8 && memcmp(key->data, "category", 8) == 0)) return HD_OK;
    if (!hd_json_string(&text, p + 1)) return not_an_object(err);
    if (!decode(&decoded, r, &text)) return HD_NOMEM(err);
    if (is_name)
        out->name = hd_stacks_name(r->stacks->tree, decoded.data, decoded.size);
    else
        out->kind = (uint8_t)hd_frame_kind_of(decoded);
    return out->name == HD_NONE ? HD_NOMEM(err) : HD_OK;
}

/* p is after the key of a member; *out after its value. */
static hd_status find_value(const char **out_value, const char **out, const char *p, hd_error *err)
{
    p = hd_json_skip_space(p);
    if (*p != ':') return not_an_object(err);
    *out_value = hd_json_skip_space(p + 1);
    *out = hd_json_skip_value(*out_value);
    return *out ? HD_OK : not_an_object(err);
}

/* A frame's object, which is known to be valid JSON. */
static hd_status read_frame(raw_frame *out, frame_reader *r, const char *p, hd_error *err)
{
    hd_json_text key;
    const char *value = p;
    p = hd_json_skip_space(p + 1);
    while (*p == '"') {
        p = hd_json_string(&key, p + 1);
        if (!p) return not_an_object(err);
        HD_TRY(find_value(&value, &p, p, err));
        HD_TRY(read_member(out, r, &key, value, p, err));
        p = hd_json_skip_space(p);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return HD_OK;
}

/* ---- all frames ---- */

static void count_damage(hd_trace_stacks *s, raw_frame *frame)
{
    s->damaged += !frame->is_damaged;
    frame->is_damaged = true;
}

static hd_status add_frame(frame_reader *r, const raw_frame *frame, hd_error *err)
{
    hd_trace_stacks *s = r->stacks;
    const hd_map_entry *known = hd_map_find(&s->ids, frame->id, 0);
    if (known) { /* the earlier frame is lost */
        raw_frame *earlier = &r->frames[known->value];
        s->damaged += !earlier->is_damaged;
        *earlier = *frame;
        return HD_OK;
    }
    if (r->count >= HD_NONE - 1)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 stack frames");
    if (!hd_grow((void **)&r->frames, &r->capacity, r->count, sizeof *r->frames) ||
        !hd_map_set(&s->ids, frame->id, 0, (uint32_t)r->count))
        return HD_NOMEM(err);
    r->frames[r->count++] = *frame;
    return HD_OK;
}

static hd_status read_frames(frame_reader *r, const char *p, hd_error *err)
{
    hd_json_text key;
    hd_string decoded;
    const char *value = p;
    p = hd_json_skip_space(p);
    if (*p != '{') return not_an_object(err);
    p = hd_json_skip_space(p + 1);
    while (*p == '"') {
        raw_frame frame = {.caller = NO_ID, .node = HD_NONE};
        p = hd_json_string(&key, p + 1);
        if (!p) return not_an_object(err);
        if (!decode(&decoded, r, &key)) return HD_NOMEM(err);
        frame.id = make_id(r->stacks, decoded.data, decoded.size);
        if (frame.id == NO_ID) return HD_NOMEM(err);
        HD_TRY(find_value(&value, &p, p, err));
        if (*value == '{') HD_TRY(read_frame(&frame, r, value, err));
        if (frame.name == 0) {
            count_damage(r->stacks, &frame);
            frame.name = r->unknown;
            frame.kind = HD_FRAME_MARK;
        }
        HD_TRY(add_frame(r, &frame, err));
        p = hd_json_skip_space(p);
        if (*p != ',') break;
        p = hd_json_skip_space(p + 1);
        if (*p != '"') return not_an_object(err);
    }
    if (*p != '}' || *hd_json_skip_space(p + 1) != '\0') return not_an_object(err);
    return HD_OK;
}

/* ---- the tree ---- */

/* The circle that a chain closed: its frames are chain[i …], where chain[i] is the caller of the last one. */
static void count_circle(frame_reader *r, const uint32_t *chain, size_t depth, uint32_t again)
{
    for (size_t i = depth; i-- > 0;) {
        count_damage(r->stacks, &r->frames[chain[i]]);
        if (chain[i] == again) return;
    }
}

/* The caller of the top frame of a chain: a node, or HD_NONE and *out_next is a frame to be made first. */
static uint32_t caller_node(uint32_t *out_next, frame_reader *r, const uint32_t *chain, size_t depth)
{
    hd_trace_stacks *s = r->stacks;
    raw_frame *frame = &r->frames[chain[depth - 1]];
    if (frame->caller == NO_ID && !frame->bad_caller) return HD_STACK_NONE;
    const hd_map_entry *known = frame->bad_caller ? NULL : hd_map_find(&s->ids, frame->caller, 0);
    if (known) {
        const raw_frame *caller = &r->frames[known->value];
        *out_next = known->value;
        if (caller->node != HD_NONE) return caller->node;
        if (!caller->is_open) return HD_NONE;
        count_circle(r, chain, depth, known->value);
    }
    *out_next = HD_NONE;
    count_damage(s, frame);
    return hd_stacks_push(s->tree, HD_STACK_NONE, r->unknown, HD_FRAME_MARK);
}

static hd_status make_nodes(frame_reader *r, hd_error *err)
{
    uint32_t *chain = malloc((r->count + 1) * sizeof *chain);
    if (!chain) return HD_NOMEM(err);
    bool fine = true;
    for (uint32_t i = 0; fine && i < r->count; i++) {
        size_t depth = 0;
        uint32_t next = i, node = HD_NONE;
        if (r->frames[i].node != HD_NONE) continue;
        while (node == HD_NONE && fine) {
            chain[depth++] = next;
            r->frames[next].is_open = true;
            next = HD_NONE;
            node = caller_node(&next, r, chain, depth);
            fine = node != HD_NONE || next != HD_NONE;
        }
        while (fine && depth > 0) {
            raw_frame *frame = &r->frames[chain[--depth]];
            node = hd_stacks_push(r->stacks->tree, node, frame->name, (hd_frame_kind)frame->kind);
            frame->node = node;
            frame->is_open = false;
            fine = node != HD_NONE;
        }
    }
    free(chain);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status read_tree(hd_trace_stacks *s, hd_string json, hd_error *err)
{
    char *text = hd_json_copy(json.data, json.size);
    if (!text) return HD_NOMEM(err);
    frame_reader r = {.stacks = s, .unknown = hd_stacks_name(s->tree, "[unknown]", 9)};
    hd_status status = r.unknown == HD_NONE ? HD_NOMEM(err) : read_frames(&r, text, err);
    free(text);
    if (status == HD_OK) status = make_nodes(&r, err);
    for (size_t i = 0; status == HD_OK && i < s->ids.count; i++)
        s->ids.entries[i].value = r.frames[s->ids.entries[i].value].node;
    free(r.frames);
    free(r.decoded);
    return status;
}

/* ---- a trace's stacks ---- */

static bool find_sf_keys(hd_trace_stacks *s)
{
    uint32_t key = hd_trace_find_string(s->trace, "sf", 2);
    s->shape_count = key == HD_NONE ? 0 : hd_trace_shape_count(s->trace);
    s->sf_keys = malloc(((size_t)s->shape_count + 1) * sizeof *s->sf_keys);
    if (!s->sf_keys) return false;
    for (uint32_t i = 0; i < s->shape_count; i++) {
        int index = hd_shape_find(hd_trace_shape_at(s->trace, i), key, HD_SCOPE_EVENT);
        s->sf_keys[i] = (int16_t)(index <= INT16_MAX ? index : -1);
    }
    return true;
}

static hd_status read_own(hd_trace_stacks *s, hd_error *err)
{
    HD_TRY(hd_stacks_new(&s->tree, err));
    HD_TRY(hd_strings_init(&s->texts, err));
    s->has_texts = true;
    hd_string json = hd_trace_metadata_find(s->trace, "stackFrames");
    if (json.size) HD_TRY(read_tree(s, json, err));
    hd_stacks_freeze(s->tree);
    return HD_OK;
}

hd_status hd_trace_stacks_new(hd_trace_stacks **out, const hd_trace *trace, hd_error *err)
{
    *out = NULL;
    hd_trace_stacks *s = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    s->trace = trace;
    s->lent = hd_kept_stacks_tree(trace);
    hd_status status = find_sf_keys(s) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && !s->lent) status = read_own(s, err);
    if (status == HD_OK)
        *out = s;
    else
        hd_trace_stacks_free(s);
    return status;
}

void hd_trace_stacks_free(hd_trace_stacks *stacks)
{
    if (!stacks) return;
    hd_stacks_free(stacks->tree);
    if (stacks->has_texts) hd_strings_deinit(&stacks->texts);
    hd_map_deinit(&stacks->ids);
    free(stacks->sf_keys);
    free(stacks);
}

const hd_stacks *hd_trace_stacks_tree(const hd_trace_stacks *stacks)
{
    return stacks->lent ? stacks->lent : stacks->tree;
}

uint64_t hd_trace_stacks_last_id(const hd_trace_stacks *stacks)
{
    uint64_t last = 0;
    if (stacks->lent) return hd_stacks_count(stacks->lent) - 1;
    for (size_t i = 0; i < stacks->ids.count; i++) {
        frame_id id = stacks->ids.entries[i].a;
        if (id % 2 == 0 && id / 2 > last) last = id / 2;
    }
    return last;
}

bool hd_trace_stacks_has_id(const hd_trace_stacks *stacks, uint64_t id)
{
    if (stacks->lent) return id > 0 && id < hd_stacks_count(stacks->lent);
    return hd_map_find(&stacks->ids, id * 2, 0) != NULL;
}

void hd_trace_stacks_ids(uint64_t *out, const hd_trace_stacks *stacks)
{
    uint32_t count = hd_stacks_count(hd_trace_stacks_tree(stacks));
    for (uint32_t i = 0; i < count; i++) out[i] = stacks->lent && i > 0 ? i : UINT64_MAX;
    for (size_t i = 0; i < stacks->ids.count; i++) {
        frame_id id = stacks->ids.entries[i].a;
        uint32_t node = stacks->ids.entries[i].value;
        if (id % 2 == 0 && id / 2 < out[node]) out[node] = id / 2;
    }
}

uint64_t hd_trace_stacks_damaged(const hd_trace_stacks *stacks)
{
    return stacks->damaged;
}

static uint32_t node_of_id(const hd_trace_stacks *s, frame_id id)
{
    if (s->lent) return id % 2 == 0 && id / 2 < hd_stacks_count(s->lent) ? (uint32_t)(id / 2) : HD_STACK_NONE;
    const hd_map_entry *known = hd_map_find(&s->ids, id, 0);
    return known ? known->value : HD_STACK_NONE;
}

static uint32_t node_of_text(const hd_trace_stacks *s, hd_string text)
{
    frame_id id;
    if (!number_id(&id, text.data, text.size)) {
        uint32_t known = s->lent ? HD_NONE : hd_strings_find(&s->texts, text.data, text.size);
        if (known == HD_NONE) return HD_STACK_NONE;
        id = text_id(known);
    }
    return node_of_id(s, id);
}

static uint32_t node_of_int(const hd_trace_stacks *s, int64_t number)
{
    char digits[24];
    if (number >= 0 && number < ID_LIMIT) return node_of_id(s, (uint64_t)number * 2);
    int size = snprintf(digits, sizeof digits, "%lld", (long long)number);
    return node_of_text(s, (hd_string){digits, (size_t)size});
}

uint32_t hd_trace_stacks_node(const hd_trace_stacks *stacks, hd_arg_type type, int64_t bits)
{
    switch (type) {
    case HD_ARG_INT: return node_of_int(stacks, bits);
    case HD_ARG_STRING:
    case HD_ARG_NUMBER: return node_of_text(stacks, hd_trace_string(stacks->trace, (uint32_t)bits));
    case HD_ARG_DECIMAL: {
        int64_t mantissa = hd_decimal_mantissa(bits);
        for (unsigned i = hd_decimal_scale(bits); i-- > 0; mantissa /= 10) {
            if (mantissa % 10) return HD_STACK_NONE;
        }
        return node_of_int(stacks, mantissa);
    }
    default: return HD_STACK_NONE;
    }
}

uint32_t hd_trace_stacks_of(const hd_trace_stacks *stacks, const hd_event *event)
{
    if (event->shape >= stacks->shape_count || !event->args) return HD_STACK_NONE;
    int index = stacks->sf_keys[event->shape];
    if (index < 0) return HD_STACK_NONE;
    return hd_trace_stacks_node(stacks, hd_trace_shape_at(stacks->trace, event->shape)->keys[index].type,
                                hd_column_at(&event->args->columns[index], event->args_row));
}
