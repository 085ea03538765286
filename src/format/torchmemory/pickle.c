/* pickle.c - the opcodes of a pickle that make plain values (protocols 0 to 5); nothing is looked up, or called */
#include "format/torchmemory/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "base/text/hex.h"

/* ---- the stack ---- */

static void push(pickle *p, pickle_value v)
{
    if (!hd_grow((void **)&p->stack, &p->stack_capacity, p->stack_count, sizeof v))
        p->no_memory = true;
    else
        p->stack[p->stack_count++] = v;
}

static pickle_value pop(pickle *p)
{
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (p->stack_count > floor) return p->stack[--p->stack_count];
    p->damaged = true;
    return (pickle_value){0};
}

static void push_mark(pickle *p)
{
    if (!hd_grow((void **)&p->marks, &p->mark_capacity, p->mark_count, sizeof *p->marks))
        p->no_memory = true;
    else
        p->marks[p->mark_count++] = p->stack_count;
}

static pickle_value new_holder(pickle *p, pickle_type type)
{
    if (p->holder_count >= HD_NONE - 1 ||
        !hd_grow((void **)&p->holders, &p->holder_capacity, p->holder_count, sizeof *p->holders)) {
        p->no_memory = true;
        return (pickle_value){0};
    }
    p->holders[p->holder_count] = (pickle_holder){HD_NONE, HD_NONE, 0, false};
    return (pickle_value){.type = (uint8_t)type, .number = (uint32_t)p->holder_count++};
}

/* The values from stack[from] on become items of a holder, and leave the stack. */
static void put_items(pickle *p, pickle_value holder, size_t from)
{
    size_t count = p->stack_count - from;
    if (holder.type != PICKLE_LIST && holder.type != PICKLE_DICT) {
        p->damaged |= holder.type != PICKLE_OPAQUE;
        p->stack_count = from;
        return;
    }
    if (holder.type == PICKLE_DICT) count -= count % 2;
    pickle_holder *h = &p->holders[holder.number];
    if (count && (p->piece_count >= HD_NONE - 1 ||
                  !hd_grow((void **)&p->pieces, &p->piece_capacity, p->piece_count, sizeof *p->pieces)))
        p->no_memory = true;
    for (size_t i = 0; i < count && !p->no_memory; i++) {
        if (!hd_grow((void **)&p->items, &p->item_capacity, p->item_count, sizeof *p->items)) p->no_memory = true;
        if (!p->no_memory) p->items[p->item_count++] = p->stack[from + i];
    }
    p->stack_count = from;
    if (!count || p->no_memory) return;
    uint32_t piece = (uint32_t)p->piece_count++;
    p->pieces[piece] = (pickle_piece){p->item_count - count, count, HD_NONE};
    if (h->last == HD_NONE)
        h->first = piece;
    else
        p->pieces[h->last].next = piece;
    h->last = piece;
    h->count += count;
}

/* What is above the last mark, or the last `count`, goes into the holder below it. */
static void append(pickle *p, bool marked, size_t count)
{
    if (marked && !p->mark_count) p->damaged = true;
    if (p->damaged) return;
    size_t from = marked ? p->marks[--p->mark_count] : p->stack_count - count;
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (from > p->stack_count || from < floor + 1) {
        p->damaged = true;
        return;
    }
    put_items(p, p->stack[from - 1], from);
}

/* The same into a new one. */
static void collect(pickle *p, pickle_type type, bool marked, size_t count)
{
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (marked ? !p->mark_count : p->stack_count - floor < count) {
        p->damaged = true;
        return;
    }
    size_t from = marked ? p->marks[--p->mark_count] : p->stack_count - count;
    pickle_value holder = new_holder(p, type);
    if (p->no_memory) return;
    put_items(p, holder, from);
    push(p, holder);
}

static void note_opaque(pickle *p, bool is_one)
{
    if (is_one && p->opaque++ == 0) p->opaque_at = p->at;
}

/* An object: `count` values make it. */
static void make_opaque(pickle *p, size_t count)
{
    for (size_t i = 0; i < count; i++) pop(p);
    note_opaque(p, true);
    push(p, (pickle_value){.type = PICKLE_OPAQUE});
}

/* ---- the memo ---- */

static void put_memo(pickle *p, uint64_t index)
{
    if (index > p->size || !p->stack_count) {
        p->damaged = true;
        return;
    }
    while (p->memo_count <= index && !p->no_memory) {
        if (!hd_grow((void **)&p->memo, &p->memo_capacity, p->memo_count, sizeof *p->memo))
            p->no_memory = true;
        else
            p->memo[p->memo_count++] = (pickle_value){0};
    }
    if (!p->no_memory) p->memo[index] = p->stack[p->stack_count - 1];
}

static void get_memo(pickle *p, uint64_t index)
{
    if (index < p->memo_count)
        push(p, p->memo[index]);
    else
        p->damaged = true;
}

/* ---- arguments of opcodes ---- */

static uint64_t take(pickle *p, unsigned width)
{
    if (p->size - p->at < width) {
        p->truncated = true;
        return 0;
    }
    p->at += width;
    return hd_le_get(p->data + p->at - width, width);
}

static void push_text(pickle *p, uint64_t size)
{
    if (p->truncated || size > p->size - p->at) {
        p->truncated = true;
        return;
    }
    if (size > UINT32_MAX) {
        p->damaged = true;
        return;
    }
    push(p, (pickle_value){.type = PICKLE_TEXT, .number = (uint32_t)size, .bits = p->at});
    p->at += (size_t)size;
}

/* Two's complement of `size` bytes. */
static void push_long(pickle *p, uint64_t size)
{
    if (p->truncated || size > p->size - p->at) {
        p->truncated = true;
        return;
    }
    const uint8_t *bytes = p->data + p->at;
    p->at += (size_t)size;
    bool fits = size <= 8, is_address = size == 9 && bytes[8] == 0; /* up to 2^64 - 1 */
    uint64_t value = fits || is_address ? hd_le_get(bytes, size < 8 ? (unsigned)size : 8) : 0;
    if (fits && size && size < 8 && bytes[size - 1] & 0x80) value |= UINT64_MAX << 8 * size;
    push(p, (pickle_value){.type = fits ? PICKLE_INT : is_address ? PICKLE_LARGE : PICKLE_OPAQUE, .bits = value});
    note_opaque(p, !fits && !is_address);
}

/* A line of protocol 0. */
static hd_string take_line(pickle *p)
{
    const uint8_t *start = p->data + p->at, *end = memchr(start, '\n', p->size - p->at);
    if (!end) {
        p->truncated = true;
        return (hd_string){"", 0};
    }
    p->at += (size_t)(end - start) + 1;
    return (hd_string){(const char *)start, (size_t)(end - start)};
}

static void push_number_line(pickle *p, bool is_float)
{
    hd_string line = take_line(p);
    char text[64];
    int64_t value = 0;
    if (p->truncated) return;
    if (line.size && line.data[line.size - 1] == 'L') line.size--;
    if (!is_float && line.size == 2 && (memcmp(line.data, "00", 2) == 0 || memcmp(line.data, "01", 2) == 0)) {
        push(p, (pickle_value){.type = PICKLE_BOOL, .bits = line.data[1] == '1'});
    } else if (!is_float) {
        bool fits = hd_fixed_parse_whole(&value, line.data, line.size);
        note_opaque(p, !fits);
        push(p, (pickle_value){.type = fits ? PICKLE_INT : PICKLE_OPAQUE, .bits = (uint64_t)value});
    } else {
        size_t size = line.size < sizeof text ? line.size : sizeof text - 1;
        memcpy(text, line.data, size);
        text[size] = '\0';
        double number = strtod(text, NULL);
        pickle_value v = {.type = PICKLE_FLOAT};
        memcpy(&v.bits, &number, sizeof number);
        push(p, v);
    }
}

static void push_text_line(pickle *p, bool quoted)
{
    hd_string line = take_line(p);
    size_t trim = quoted && line.size >= 2 ? 1 : 0;
    if (p->truncated) return;
    push(p, (pickle_value){.type = PICKLE_TEXT,
                           .number = (uint32_t)(line.size - 2 * trim),
                           .bits = (uint64_t)((const uint8_t *)line.data + trim - p->data)});
}

static uint64_t take_index_line(pickle *p)
{
    hd_string line = take_line(p);
    int64_t value = -1;
    if (!p->truncated && (!hd_fixed_parse_whole(&value, line.data, line.size) || value < 0)) p->damaged = true;
    return (uint64_t)value;
}

/* ---- opcodes ---- */

static void run_constant(pickle *p, uint8_t op)
{
    pickle_value v = {.type = PICKLE_INT};
    switch (op) {
    case 'N': v.type = PICKLE_NONE; break;
    case 0x88:
    case 0x89:
        v.type = PICKLE_BOOL;
        v.bits = op == 0x88;
        break;
    case 'J': v.bits = (uint64_t)(int64_t)(int32_t)take(p, 4); break;
    case 'K': v.bits = take(p, 1); break;
    case 'M': v.bits = take(p, 2); break;
    default: /* 'G', big-endian */
        v.type = PICKLE_FLOAT;
        v.bits = __builtin_bswap64(take(p, 8));
        break;
    }
    if (!p->truncated) push(p, v);
}

static void run_memo(pickle *p, uint8_t op)
{
    bool is_put = op == 'q' || op == 'r' || op == 'p';
    uint64_t index = op == 'p' || op == 'g' ? take_index_line(p) : take(p, op == 'q' || op == 'h' ? 1 : 4);
    if (p->truncated || p->damaged) return;
    if (is_put)
        put_memo(p, index);
    else
        get_memo(p, index);
}

static void run_holder(pickle *p, uint8_t op)
{
    switch (op) {
    case ']':
    case ')':
    case 0x8f: push(p, new_holder(p, PICKLE_LIST)); break;
    case '}': push(p, new_holder(p, PICKLE_DICT)); break;
    case 'a': append(p, false, 1); break;
    case 's': append(p, false, 2); break;
    case 'e':
    case 'u':
    case 0x90: append(p, true, 0); break;
    case 'd': collect(p, PICKLE_DICT, true, 0); break;
    case 0x85:
    case 0x86:
    case 0x87: collect(p, PICKLE_LIST, false, op - 0x84u); break;
    default: collect(p, PICKLE_LIST, true, 0); break; /* 'l', 't', 0x91 */
    }
}

/* What would look up, call or build something. */
static void run_object(pickle *p, uint8_t op)
{
    switch (op) {
    case 'c':
        take_line(p);
        take_line(p);
        if (!p->truncated) make_opaque(p, 0);
        break;
    case 0x93: make_opaque(p, 2); break;
    case 0x81:
    case 'R': make_opaque(p, 2); break;
    case 0x92: make_opaque(p, 3); break;
    case 'Q': make_opaque(p, 1); break;
    default: pop(p); break; /* 'b': the state of what is below */
    }
}

static void run_text(pickle *p, uint8_t op)
{
    switch (op) {
    case 0x8c:
    case 'U':
    case 'C': push_text(p, take(p, 1)); break;
    case 'X':
    case 'T':
    case 'B': push_text(p, take(p, 4)); break;
    case 0x8d:
    case 0x8e: push_text(p, take(p, 8)); break;
    default: push_text_line(p, op == 'S'); break;
    }
}

/* false: that was the end. */
static bool run_opcode(pickle *p)
{
    uint8_t op = (uint8_t)take(p, 1);
    if (p->truncated || op == '.') return false;
    if (op == 0x80)
        take(p, 1);
    else if (op == 0x95)
        take(p, 8);
    else if (op == '(')
        push_mark(p);
    else if (op == '0')
        pop(p);
    else if (op == 0x94)
        put_memo(p, p->memo_count);
    else if (op == 0x8a || op == 0x8b)
        push_long(p, take(p, op == 0x8a ? 1 : 4));
    else if (op == 'I' || op == 'L' || op == 'F')
        push_number_line(p, op == 'F');
    else if (memchr("NJKMG\x88\x89", op, 7))
        run_constant(p, op);
    else if (memchr("hjgqrp", op, 6))
        run_memo(p, op);
    else if (memchr("])}aseudlt\x8f\x90\x91\x85\x86\x87", op, 16))
        run_holder(p, op);
    else if (memchr("\x8cUCXTB\x8d\x8eVS", op, 10))
        run_text(p, op);
    else if (memchr("c\x93\x81R\x92Qb", op, 7))
        run_object(p, op);
    else
        p->damaged = true;
    return !p->damaged && !p->truncated && !p->no_memory;
}

/* What is not put together yet when a pickle ends early: each mark's values go into what is below it. */
static void unwind(pickle *p)
{
    while (p->mark_count && !p->no_memory) {
        size_t from = p->marks[--p->mark_count];
        if (from > p->stack_count) from = p->stack_count;
        pickle_value holder = from ? p->stack[from - 1] : (pickle_value){0};
        if (holder.type == PICKLE_LIST || holder.type == PICKLE_DICT) {
            put_items(p, holder, from);
            p->holders[holder.number].is_open = true;
        } else {
            p->stack_count = from;
        }
    }
}

bool pickle_read(pickle *out, const uint8_t *data, size_t size)
{
    *out = (pickle){.data = data, .size = size};
    size_t before = 0;
    do before = out->at;
    while (run_opcode(out));
    if (out->damaged) out->at = before;
    if (out->damaged || out->truncated) unwind(out);
    if (out->stack_count) out->root = out->stack[out->damaged || out->truncated ? 0 : out->stack_count - 1];
    return !out->no_memory;
}

void pickle_deinit(pickle *p)
{
    free(p->items);
    free(p->stack);
    free(p->memo);
    free(p->marks);
    free(p->pieces);
    free(p->holders);
}

/* ---- looking at values ---- */

bool pickle_next(const pickle_value **out, pickle_cursor *c, const pickle *p, const pickle_value *holder)
{
    if (holder->type != PICKLE_LIST && holder->type != PICKLE_DICT) return false;
    if (!c->begun) *c = (pickle_cursor){p->holders[holder->number].first, 0, true};
    if (c->piece == HD_NONE) return false;
    const pickle_piece *piece = &p->pieces[c->piece];
    *out = &p->items[piece->first + c->at++];
    if (c->at == piece->count) *c = (pickle_cursor){piece->next, 0, true};
    return true;
}

hd_string pickle_text(const pickle *p, const pickle_value *value)
{
    if (!value || value->type != PICKLE_TEXT) return (hd_string){"", 0};
    return (hd_string){(const char *)p->data + value->bits, value->number};
}

const pickle_value *pickle_find(const pickle *p, const pickle_value *dict, const char *key)
{
    pickle_cursor c = {0};
    const pickle_value *name, *value, *found = NULL;
    if (!dict || dict->type != PICKLE_DICT) return NULL;
    while (pickle_next(&name, &c, p, dict) && pickle_next(&value, &c, p, dict)) {
        hd_string text = pickle_text(p, name);
        if (text.size == strlen(key) && memcmp(text.data, key, text.size) == 0) found = value;
    }
    return found;
}
