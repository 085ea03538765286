/* pickle.c - the opcodes of a pickle that make plain values (protocols 0 to 5); nothing is looked up, or called */
#include "format/pickle/pickle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"

/* ---- values ---- */

enum { NO_OPCODE = INT32_MAX, COUNT_MAX = (1 << 30) - 1 }; /* NO_OPCODE: a None that no opcode made */
static const pickle_ref PICKLE_HELD = (pickle_ref)1 << 31;

static uint64_t take(pickle_input *in, unsigned width)
{
    if (in->size - in->at < width) {
        in->truncated = true;
        return 0;
    }
    in->at += width;
    return hd_le_get(in->data + in->at - width, width);
}

static pickle_value take_text(pickle_input *in, uint64_t size)
{
    pickle_value v = {.type = PICKLE_TEXT, .number = (uint32_t)size, .bits = in->at};
    in->truncated |= size > in->size - in->at;
    if (!in->truncated) in->at += (size_t)size;
    return v;
}

/* Two's complement of `size` bytes. */
static pickle_value take_long(pickle_input *in, uint64_t size)
{
    in->truncated |= size > in->size - in->at;
    if (in->truncated) return (pickle_value){0};
    const uint8_t *bytes = in->data + in->at;
    in->at += (size_t)size;
    bool fits = size <= 8, is_address = size == 9 && bytes[8] == 0; /* up to 2^64 - 1 */
    uint64_t value = fits || is_address ? hd_le_get(bytes, size < 8 ? (unsigned)size : 8) : 0;
    if (fits && size && size < 8 && bytes[size - 1] & 0x80) value |= UINT64_MAX << 8 * size;
    return (pickle_value){.type = fits ? PICKLE_INT : is_address ? PICKLE_LARGE : PICKLE_OPAQUE, .bits = value};
}

/* A line of protocol 0. */
static hd_string take_line(pickle_input *in)
{
    const uint8_t *start = in->data + in->at, *end = memchr(start, '\n', in->size - in->at);
    if (!end) {
        in->truncated = true;
        return (hd_string){"", 0};
    }
    in->at += (size_t)(end - start) + 1;
    return (hd_string){(const char *)start, (size_t)(end - start)};
}

static pickle_value take_number_line(pickle_input *in, bool is_float)
{
    hd_string line = take_line(in);
    char text[64];
    int64_t value = 0;
    if (line.size && line.data[line.size - 1] == 'L') line.size--;
    if (!is_float && line.size == 2 && (memcmp(line.data, "00", 2) == 0 || memcmp(line.data, "01", 2) == 0))
        return (pickle_value){.type = PICKLE_BOOL, .bits = line.data[1] == '1'};
    if (!is_float) {
        bool fits = hd_fixed_parse_whole(&value, line.data, line.size);
        return (pickle_value){.type = fits ? PICKLE_INT : PICKLE_OPAQUE, .bits = (uint64_t)value};
    }
    size_t size = line.size < sizeof text ? line.size : sizeof text - 1;
    memcpy(text, line.data, size);
    text[size] = '\0';
    double number = strtod(text, NULL);
    pickle_value v = {.type = PICKLE_FLOAT};
    memcpy(&v.bits, &number, sizeof number);
    return v;
}

static pickle_value take_text_line(pickle_input *in, bool quoted)
{
    hd_string line = take_line(in);
    size_t trim = quoted && line.size >= 2 ? 1 : 0;
    if (in->truncated) return (pickle_value){0};
    return (pickle_value){.type = PICKLE_TEXT,
                          .number = (uint32_t)(line.size - 2 * trim),
                          .bits = (uint64_t)((const uint8_t *)line.data + trim - in->data)};
}

/* The value made by a single opcode, after the opcode; PICKLE_ABSENT: it makes none, and nothing is consumed. */
static pickle_value take_value(pickle_input *in, uint8_t op)
{
    switch (op) {
    case 'N': return (pickle_value){.type = PICKLE_NONE};
    case 0x88:
    case 0x89: return (pickle_value){.type = PICKLE_BOOL, .bits = op == 0x88};
    case 'J': return (pickle_value){.type = PICKLE_INT, .bits = (uint64_t)(int64_t)(int32_t)take(in, 4)};
    case 'K': return (pickle_value){.type = PICKLE_INT, .bits = take(in, 1)};
    case 'M': return (pickle_value){.type = PICKLE_INT, .bits = take(in, 2)};
    case 'G': return (pickle_value){.type = PICKLE_FLOAT, .bits = __builtin_bswap64(take(in, 8))};
    case 0x8a: return take_long(in, take(in, 1));
    case 0x8b: return take_long(in, take(in, 4));
    case 'I':
    case 'L':
    case 'F': return take_number_line(in, op == 'F');
    case 0x8c:
    case 'U':
    case 'C': return take_text(in, take(in, 1));
    case 'X':
    case 'T':
    case 'B': return take_text(in, take(in, 4));
    case 0x8d:
    case 0x8e: return take_text(in, take(in, 8));
    case 'V':
    case 'S': return take_text_line(in, op == 'S');
    default: return (pickle_value){.type = PICKLE_ABSENT};
    }
}

/* The value on the stack or in a container; an opcode that makes no plain value: an object. */
static pickle_value decode(const pickle *p, pickle_ref ref)
{
    if (ref == NO_OPCODE) return (pickle_value){.type = PICKLE_NONE};
    if (ref & PICKLE_HELD) {
        ref &= ~PICKLE_HELD;
        return (pickle_value){.type = p->holders[ref].is_dict ? PICKLE_DICT : PICKLE_LIST, .number = ref};
    }
    pickle_input in = {.data = p->in.data, .size = p->in.size, .at = (size_t)ref + 1};
    pickle_value v = take_value(&in, in.data[ref]);
    if (v.type == PICKLE_ABSENT) v.type = PICKLE_OPAQUE;
    return v;
}

/* ---- the stack ---- */

static void push(pickle *p, pickle_ref v)
{
    if (!hd_grow((void **)&p->stack, &p->stack_capacity, p->stack_count, sizeof v))
        p->no_memory = true;
    else
        p->stack[p->stack_count++] = v;
}

static pickle_ref pop(pickle *p)
{
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (p->stack_count > floor) return p->stack[--p->stack_count];
    p->in.damaged = true;
    return NO_OPCODE;
}

static void push_mark(pickle *p)
{
    if (!hd_grow((void **)&p->marks, &p->mark_capacity, p->mark_count, sizeof *p->marks))
        p->no_memory = true;
    else
        p->marks[p->mark_count++] = (uint32_t)p->stack_count;
}

static pickle_ref new_holder(pickle *p, bool is_dict)
{
    if (!hd_grow((void **)&p->holders, &p->holder_capacity, p->holder_count, sizeof *p->holders)) {
        p->no_memory = true;
        return NO_OPCODE;
    }
    p->holders[p->holder_count] = (pickle_holder){.first = HD_NONE, .last = HD_NONE, .is_dict = is_dict};
    return PICKLE_HELD | (uint32_t)p->holder_count++;
}

static pickle_holder *holder_of(const pickle *p, pickle_ref ref)
{
    return ref & PICKLE_HELD ? &p->holders[ref & ~PICKLE_HELD] : NULL;
}

/* The newest piece, whose items are the last ones, shares the items of an equal one. */
static void share_items(pickle *p, uint32_t number)
{
    pickle_piece *piece = &p->pieces[number];
    const pickle_ref *items = p->items + piece->first;
    size_t size = piece->count * sizeof *items;
    uint64_t hash = hd_hash(items, size);
    uint32_t same;
    HD_SLOTS_FIND(same, &p->lists, hash,
                  p->pieces[same].count == piece->count && memcmp(p->items + p->pieces[same].first, items, size) == 0)
    if (same == HD_SLOTS_NONE) {
        p->no_memory |= !hd_slots_add(&p->lists, hash, number);
        return;
    }
    p->item_count = piece->first;
    piece->first = p->pieces[same].first;
}

/* The values from stack[from] on become items of a holder, and leave the stack. */
static void put_items(pickle *p, pickle_ref holder, size_t from)
{
    pickle_holder *h = holder_of(p, holder);
    size_t count = p->stack_count - from;
    if (!h) {
        p->in.damaged |= decode(p, holder).type != PICKLE_OPAQUE;
        p->stack_count = from;
        return;
    }
    if (h->is_dict) count -= count % 2;
    if (count && !hd_grow((void **)&p->pieces, &p->piece_capacity, p->piece_count, sizeof *p->pieces))
        p->no_memory = true;
    for (size_t i = 0; i < count && !p->no_memory; i++) {
        if (!hd_grow((void **)&p->items, &p->item_capacity, p->item_count, sizeof *p->items)) p->no_memory = true;
        if (!p->no_memory) p->items[p->item_count++] = p->stack[from + i];
    }
    p->stack_count = from;
    if (!count || p->no_memory) return;
    uint32_t piece = (uint32_t)p->piece_count++;
    p->pieces[piece] = (pickle_piece){(uint32_t)(p->item_count - count), (uint32_t)count, HD_NONE};
    if (!h->is_dict) share_items(p, piece);
    if (h->last == HD_NONE)
        h->first = piece;
    else
        p->pieces[h->last].next = piece;
    h->last = piece;
    h->count = count < (size_t)COUNT_MAX - h->count ? h->count + (uint32_t)count : COUNT_MAX;
}

/* Appends everything above the last mark, or the last `count` values, to the container below. */
static void append(pickle *p, bool marked, size_t count)
{
    if (marked && !p->mark_count) p->in.damaged = true;
    if (p->in.damaged) return;
    size_t from = marked ? p->marks[--p->mark_count] : p->stack_count - count;
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (from > p->stack_count || from < floor + 1) {
        p->in.damaged = true;
        return;
    }
    put_items(p, p->stack[from - 1], from);
}

/* The same into a new one. */
static void collect(pickle *p, bool is_dict, bool marked, size_t count)
{
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (marked ? !p->mark_count : p->stack_count - floor < count) {
        p->in.damaged = true;
        return;
    }
    size_t from = marked ? p->marks[--p->mark_count] : p->stack_count - count;
    pickle_ref holder = new_holder(p, is_dict);
    if (p->no_memory) return;
    put_items(p, holder, from);
    push(p, holder);
}

static void note_opaque(pickle *p, bool is_one)
{
    if (is_one && p->opaque++ == 0) p->opaque_at = p->in.at;
}

/* An object: `count` values make it. */
static void make_opaque(pickle *p, size_t count)
{
    for (size_t i = 0; i < count; i++) pop(p);
    note_opaque(p, true);
    push(p, p->op_at);
}

/* ---- the memo ---- */

static void put_memo(pickle *p, uint64_t index)
{
    if (index > p->in.size || !p->stack_count) {
        p->in.damaged = true;
        return;
    }
    while (p->memo_count <= index && !p->no_memory) {
        if (!hd_grow((void **)&p->memo, &p->memo_capacity, p->memo_count, sizeof *p->memo))
            p->no_memory = true;
        else
            p->memo[p->memo_count++] = NO_OPCODE;
    }
    if (!p->no_memory) p->memo[index] = p->stack[p->stack_count - 1];
}

static void get_memo(pickle *p, uint64_t index)
{
    if (index < p->memo_count)
        push(p, p->memo[index]);
    else
        p->in.damaged = true;
}

/* ---- opcodes ---- */

static uint64_t take_index_line(pickle_input *in)
{
    hd_string line = take_line(in);
    int64_t value = -1;
    if (!in->truncated && (!hd_fixed_parse_whole(&value, line.data, line.size) || value < 0)) in->damaged = true;
    return (uint64_t)value;
}

static void run_memo(pickle *p, uint8_t op)
{
    pickle_input *in = &p->in;
    bool is_put = op == 'q' || op == 'r' || op == 'p';
    uint64_t index = op == 'p' || op == 'g' ? take_index_line(in) : take(in, op == 'q' || op == 'h' ? 1 : 4);
    if (in->truncated || in->damaged) return;
    if (is_put)
        put_memo(p, index);
    else
        get_memo(p, index);
}

/* An opcode that would look up, call or build something. */
static void run_object(pickle *p, uint8_t op)
{
    switch (op) {
    case 'c':
        take_line(&p->in);
        take_line(&p->in);
        if (!p->in.truncated) make_opaque(p, 0);
        break;
    case 0x93:
    case 0x81:
    case 'R': make_opaque(p, 2); break;
    case 0x92: make_opaque(p, 3); break;
    case 'Q': make_opaque(p, 1); break;
    case 'b': pop(p); break; /* the state of the object below */
    default: p->in.damaged = true; break;
    }
}

static void run_structure(pickle *p, uint8_t op)
{
    switch (op) {
    case 0x80: take(&p->in, 1); break;
    case 0x95: take(&p->in, 8); break;
    case '(': push_mark(p); break;
    case '0': pop(p); break;
    case 0x94: put_memo(p, p->memo_count); break;
    case 'h':
    case 'j':
    case 'g':
    case 'q':
    case 'r':
    case 'p': run_memo(p, op); break;
    case ']':
    case ')':
    case 0x8f: push(p, new_holder(p, false)); break;
    case '}': push(p, new_holder(p, true)); break;
    case 'a': append(p, false, 1); break;
    case 's': append(p, false, 2); break;
    case 'e':
    case 'u':
    case 0x90: append(p, true, 0); break;
    case 'd': collect(p, true, true, 0); break;
    case 0x85:
    case 0x86:
    case 0x87: collect(p, false, false, op - 0x84u); break;
    case 'l':
    case 't':
    case 0x91: collect(p, false, true, 0); break;
    default: run_object(p, op); break;
    }
}

/* false: that was the end. */
static bool run_opcode(pickle *p)
{
    pickle_input *in = &p->in;
    p->op_at = (pickle_ref)in->at;
    uint8_t op = (uint8_t)take(in, 1);
    if (in->truncated || op == '.') return false;
    pickle_value v = take_value(in, op);
    if (v.type != PICKLE_ABSENT && !in->truncated) {
        push(p, p->op_at);
        note_opaque(p, v.type == PICKLE_OPAQUE);
    } else if (!in->truncated) {
        run_structure(p, op);
    }
    return !in->damaged && !in->truncated && !p->no_memory;
}

/* A list or dict in place of a dict's key is held to be appended to the list below it, like all above it: the item of a
 * list of one is written without a mark. */
static void append_waiting(pickle *p, size_t from)
{
    size_t at = from;
    while (at < p->stack_count && !(p->stack[at] & PICKLE_HELD)) at += 2;
    if (at == from || at >= p->stack_count) return;
    while (p->stack_count > at && !p->no_memory) {
        pickle_ref below = p->stack[p->stack_count - 2];
        if (decode(p, below).type == PICKLE_LIST)
            put_items(p, below, p->stack_count - 1);
        else
            p->stack_count--;
    }
}

/* Puts together the rest when a pickle ends early: each mark's values go into the container below it. */
static void unwind(pickle *p)
{
    while (p->mark_count && !p->no_memory) {
        size_t from = p->marks[--p->mark_count];
        if (from > p->stack_count) from = p->stack_count;
        pickle_holder *h = from ? holder_of(p, p->stack[from - 1]) : NULL;
        if (h) {
            if (h->is_dict) append_waiting(p, from);
            put_items(p, p->stack[from - 1], from);
            h->is_open = true;
        } else {
            p->stack_count = from;
        }
    }
}

bool pickle_read(pickle *out, const uint8_t *data, size_t size)
{
    assert(size <= PICKLE_SIZE_LIMIT);
    *out = (pickle){.in = {.data = data, .size = size}, .root = {.type = PICKLE_NONE}};
    pickle_input *in = &out->in;
    while (run_opcode(out)) {}
    if (in->damaged) in->at = out->op_at;
    bool is_whole = !in->damaged && !in->truncated;
    if (!is_whole) unwind(out);
    if (out->stack_count) out->root = decode(out, out->stack[is_whole ? out->stack_count - 1 : 0]);
    free(out->stack);
    free(out->memo);
    free(out->marks);
    hd_slots_deinit(&out->lists);
    return !out->no_memory;
}

void pickle_deinit(pickle *p)
{
    free(p->items);
    free(p->pieces);
    free(p->holders);
}

/* ---- looking at values ---- */

bool pickle_next(pickle_value *out, pickle_cursor *c, const pickle *p, pickle_value holder)
{
    if (holder.type != PICKLE_LIST && holder.type != PICKLE_DICT) return false;
    if (!c->begun) *c = (pickle_cursor){p->holders[holder.number].first, 0, true};
    if (c->piece == HD_NONE) return false;
    const pickle_piece *piece = &p->pieces[c->piece];
    *out = decode(p, p->items[piece->first + c->at++]);
    if (c->at == piece->count) *c = (pickle_cursor){piece->next, 0, true};
    return true;
}

void pickle_identity(uint64_t out[2], const pickle *p, pickle_value list)
{
    const pickle_holder *h = &p->holders[list.number];
    bool is_one = h->first != HD_NONE && h->first == h->last;
    out[0] = is_one ? p->pieces[h->first].first : list.number;
    out[1] = is_one ? p->pieces[h->first].count : 0;
}

hd_string pickle_text(const pickle *p, pickle_value value)
{
    if (value.type != PICKLE_TEXT) return (hd_string){"", 0};
    return (hd_string){(const char *)p->in.data + value.bits, value.number};
}

void pickle_find_all(pickle_value *out, const char *const *keys, size_t count, const pickle *p, pickle_value dict)
{
    pickle_cursor c = {0};
    pickle_value name, value;
    for (size_t i = 0; i < count; i++) out[i] = (pickle_value){.type = PICKLE_ABSENT};
    if (dict.type != PICKLE_DICT) return;
    while (pickle_next(&name, &c, p, dict) && pickle_next(&value, &c, p, dict)) {
        hd_string text = pickle_text(p, name);
        for (size_t i = 0; i < count; i++) {
            if (strlen(keys[i]) == text.size && memcmp(text.data, keys[i], text.size) == 0) out[i] = value;
        }
    }
}

pickle_value pickle_find(const pickle *p, pickle_value dict, const char *key)
{
    pickle_value found;
    pickle_find_all(&found, &key, 1, p, dict);
    return found;
}
