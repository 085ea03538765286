/* pickle.c - the opcodes of a pickle that make plain values (protocols 0 to 5); nothing is looked up, or called */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/pickle/impl.h"
#include "trace/text.h"

enum { COUNT_MAX = (1 << 29) - 1 };

/* What the memo stores: the number of a list, dict or text, or of another value among the texts. */
#define MEMO_DICT (1u << 31)
#define MEMO_LIST (1u << 30)
#define MEMO_NUMBER (MEMO_LIST - 1)
#define MEMO_NOTHING UINT32_MAX

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
    p->in.damaged = true;
    return (pickle_value){.type = PICKLE_NONE};
}

static void push_mark(pickle *p)
{
    if (!hd_grow((void **)&p->marks, &p->mark_capacity, p->mark_count, sizeof *p->marks))
        p->no_memory = true;
    else
        p->marks[p->mark_count++] = (uint32_t)p->stack_count;
}

static pickle_value new_holder(pickle *p, bool is_dict)
{
    if (p->holder_count > MEMO_NUMBER ||
        !hd_grow((void **)&p->holders, &p->holder_capacity, p->holder_count, sizeof *p->holders)) {
        p->no_memory = true;
        return (pickle_value){.type = PICKLE_NONE};
    }
    p->holders[p->holder_count] = (pickle_holder){.first = HD_NONE, .last = HD_NONE, .is_dict = is_dict};
    return (pickle_value){.type = is_dict ? PICKLE_DICT : PICKLE_LIST, .number = (uint32_t)p->holder_count++};
}

static bool is_holder(pickle_value v)
{
    return v.type == PICKLE_LIST || v.type == PICKLE_DICT;
}

static pickle_holder *holder_of(const pickle *p, pickle_value v)
{
    return is_holder(v) ? &p->holders[v.number] : NULL;
}

/* The newest piece, whose items are the last ones, shares the items of an equal one. */
static void share_items(pickle *p, uint32_t number)
{
    pickle_piece *piece = &p->pieces[number];
    const pickle_value *items = p->items + piece->first;
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

/* A piece of so many items; false: no memory. */
static bool add_piece(uint32_t *out, pickle *p, size_t count, bool is_dict)
{
    uint32_t *reused = is_dict && count < PICKLE_REUSED ? &p->free_pieces[count] : NULL;
    if (reused && *reused != HD_NONE) {
        *out = *reused;
        *reused = p->pieces[*out].next;
        p->pieces[*out].next = HD_NONE;
        return true;
    }
    bool fine = p->item_count + count < UINT32_MAX && p->piece_count < HD_NONE &&
                hd_grow((void **)&p->pieces, &p->piece_capacity, p->piece_count, sizeof *p->pieces);
    while (fine && p->item_capacity - p->item_count < count)
        fine = hd_grow((void **)&p->items, &p->item_capacity, p->item_capacity, sizeof *p->items);
    if (!fine) return false;
    p->item_count += count;
    *out = (uint32_t)p->piece_count++;
    p->pieces[*out] = (pickle_piece){(uint32_t)(p->item_count - count), (uint32_t)count, HD_NONE};
    return true;
}

/* ---- the stream ---- */

enum { SHALLOW = 2 }; /* marks: the root, and lists of the stream or one of their items */

/* Whether the holder on the stack at `at` is a list of the list of the stream: the root, pairs of its members, the key,
 * the list, its lists. *out_list: its number. Marks are those of the root and the list, or of either, or none. */
static bool is_streamed(uint64_t *out_list, const pickle *p, size_t at)
{
    size_t marks = p->mark_count;
    bool is_marked = marks && p->marks[marks - 1] > 1;
    size_t list = (is_marked ? p->marks[marks - 1] : at) - 1;
    marks -= is_marked;
    if (at < 3 || at >= p->stack_count || list < 2 || list >= at || marks > 1 || (marks && p->marks[0] != 1))
        return false;
    if (marks ? list % 2 != 0 : list != 2) return false;
    pickle_value key = p->stack[list - 1], lists = p->stack[list];
    if (p->stack[0].type != PICKLE_DICT || lists.type != PICKLE_LIST || key.type != PICKLE_TEXT ||
        !hd_string_is(pickle_text(p, key), p->stream.key))
        return false;
    for (size_t i = list + 1; i < at; i++) {
        if (p->stack[i].type != PICKLE_LIST) return false;
    }
    *out_list = p->holders[lists.number].count + (is_marked ? at - list - 1 : 0);
    return true;
}

/* Leaves its memory to others; nothing finds it any more. */
static void forget(pickle *p, pickle_value v)
{
    pickle_holder *h = v.type == PICKLE_DICT ? &p->holders[v.number] : NULL;
    if (!h || h->is_gone) return;
    if (h->first != HD_NONE && h->first == h->last && p->pieces[h->first].count < PICKLE_REUSED) {
        uint32_t *reused = &p->free_pieces[p->pieces[h->first].count];
        p->pieces[h->first].next = *reused;
        *reused = h->first;
    }
    *h = (pickle_holder){.first = HD_NONE, .last = HD_NONE, .is_dict = true, .is_gone = true};
}

static void stream_items(pickle *p, uint64_t list, size_t from, size_t count)
{
    p->in.status = p->stream.take(p->stream.user, list, p->stack + from, count);
    p->in.truncated |= p->in.status != HD_OK;
    for (size_t i = 0; i < count; i++) forget(p, p->stack[from + i]);
}

/* The values from stack[from] on become items of a holder, and leave the stack. */
static void put_items(pickle *p, pickle_value holder, size_t from)
{
    pickle_holder *h = holder_of(p, holder);
    size_t count = p->stack_count - from;
    uint64_t list;
    uint32_t piece;
    p->stack_count = from;
    if (!h) {
        p->in.damaged |= holder.type != PICKLE_OPAQUE;
        return;
    }
    if (h->is_dict) count -= count % 2;
    if (!count) return;
    bool is_below = from && p->stack[from - 1].type == PICKLE_LIST && p->stack[from - 1].number == holder.number;
    h->count = count < (size_t)COUNT_MAX - h->count ? h->count + (uint32_t)count : COUNT_MAX;
    if (p->stream.take && !h->is_dict && is_below && is_streamed(&list, p, from - 1)) {
        stream_items(p, list, from, count);
        return;
    }
    if (p->stream.is_shallow && !h->is_dict && p->mark_count > SHALLOW) return;
    if (!add_piece(&piece, p, count, h->is_dict)) {
        p->no_memory = true;
        return;
    }
    memcpy(p->items + p->pieces[piece].first, p->stack + from, count * sizeof *p->items);
    if (!h->is_dict) share_items(p, piece);
    if (h->last == HD_NONE)
        h->first = piece;
    else
        p->pieces[h->last].next = piece;
    h->last = piece;
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
    pickle_value holder = new_holder(p, is_dict);
    if (p->no_memory) return;
    put_items(p, holder, from);
    push(p, holder);
}

static void note_opaque(pickle *p, bool is_one)
{
    if (is_one && p->opaque++ == 0) p->opaque_at = place(&p->in);
}

/* An object: `count` values make it. */
static void make_opaque(pickle *p, size_t count)
{
    for (size_t i = 0; i < count; i++) pop(p);
    note_opaque(p, true);
    push(p, (pickle_value){.type = PICKLE_OPAQUE});
}

/* ---- the memo ---- */

static uint32_t memo_of(pickle *p, pickle_value v)
{
    if (is_holder(v)) return v.number | (v.type == PICKLE_DICT ? MEMO_DICT : MEMO_LIST);
    if (v.type == PICKLE_TEXT) return head_of(v)->number;
    if (p->text_count > MEMO_NUMBER || !hd_grow((void **)&p->texts, &p->text_capacity, p->text_count, sizeof v)) {
        p->no_memory = true;
        return MEMO_NOTHING;
    }
    p->texts[p->text_count] = v;
    return (uint32_t)p->text_count++;
}

/* Member by member: a value that is made elsewhere and copied waits for its parts. */
static void set_value(pickle_value *out, const pickle *p, uint32_t memo)
{
    if (memo == MEMO_NOTHING) {
        *out = (pickle_value){.type = PICKLE_NONE};
    } else if (!(memo & (MEMO_DICT | MEMO_LIST))) {
        *out = p->texts[memo];
    } else {
        out->type = memo & MEMO_DICT ? PICKLE_DICT : PICKLE_LIST;
        memset(out->zero, 0, sizeof out->zero);
        out->number = memo & MEMO_NUMBER;
        out->bits = 0;
    }
}

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
            p->memo[p->memo_count++] = MEMO_NOTHING;
    }
    if (!p->no_memory) p->memo[index] = memo_of(p, p->stack[p->stack_count - 1]);
}

static void get_memo(pickle *p, uint64_t index)
{
    pickle_value v;
    if (index < p->memo_count) {
        set_value(&v, p, p->memo[index]);
        push(p, v);
    } else {
        p->in.damaged = true;
    }
}

/* ---- opcodes ---- */

static uint64_t take_index_line(pickle_input *in)
{
    hd_string line = pickle_take_line(in);
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
        pickle_take_line(&p->in);
        pickle_take_line(&p->in);
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

/* Values of the memo, one after the other, which is what most of a snapshot's bytes are; up to what is anything
 * else. */
static void run_gets(pickle *p)
{
    const uint8_t *at = p->in.p, *last = p->in.end - 5;
    size_t count = p->stack_count;
    for (; at <= last && (*at == 'j' || *at == 'h') && count < p->stack_capacity; count++) {
        uint32_t index = *at == 'h' ? at[1] : (uint32_t)hd_le_get(at + 1, 4);
        if (index >= p->memo_count) break;
        set_value(&p->stack[count], p, p->memo[index]);
        at += *at == 'h' ? 2 : 5;
    }
    p->stack_count = count;
    p->in.p = at;
}

/* false: that was the end. */
static bool run_opcode(pickle *p)
{
    if (p->in.end - p->in.p >= 5) run_gets(p);
    pickle_input *in = &p->in;
    p->op_at = place(in);
    uint8_t op = (uint8_t)take(in, 1);
    if (in->truncated || op == '.') return false;
    pickle_value v = pickle_take_value(p, op);
    if (v.type != PICKLE_ABSENT && !in->truncated) {
        push(p, v);
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
    while (at < p->stack_count && !is_holder(p->stack[at])) at += 2;
    if (at == from || at >= p->stack_count) return;
    while (p->stack_count > at && !p->no_memory) {
        pickle_value below = p->stack[p->stack_count - 2];
        if (below.type == PICKLE_LIST)
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

hd_status pickle_read(pickle *out, const hd_pieces *pieces, const pickle_stream *stream, hd_error *err)
{
    *out = (pickle){.in = {.window.pieces = pieces, .size = pieces->size, .err = err}, .root = {.type = PICKLE_NONE}};
    pickle_input *in = &out->in;
    if (stream) out->stream = *stream;
    for (int i = 0; i < PICKLE_REUSED; i++) out->free_pieces[i] = HD_NONE;
    while (run_opcode(out)) {}
    in->at = in->damaged ? out->op_at : place(in);
    bool is_whole = !in->damaged && !in->truncated;
    if (!is_whole && in->status == HD_OK) unwind(out);
    if (out->stack_count) out->root = out->stack[is_whole ? out->stack_count - 1 : 0];
    free(out->stack);
    free(out->memo);
    free(out->marks);
    out->stack = NULL;
    out->memo = out->marks = NULL;
    hd_slots_deinit(&out->lists);
    hd_slots_deinit(&out->text_slots);
    hd_bytes_deinit(&out->line);
    hd_window_deinit(&in->window);
    return out->no_memory ? HD_NOMEM(err) : in->status;
}

void pickle_deinit(pickle *p)
{
    hd_arena_deinit(&p->arena);
    free(p->texts);
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
    *out = p->items[piece->first + c->at++];
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
    (void)p;
    if (value.type != PICKLE_TEXT) return (hd_string){"", 0};
    return (hd_string){bytes_of(value), value.number};
}

uint64_t pickle_text_offset(const pickle *p, pickle_value text)
{
    (void)p;
    return text.type == PICKLE_TEXT ? head_of(text)->offset : HD_OFFSET_NONE;
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
            if (text.size && *text.data == *keys[i] && hd_string_is(text, keys[i])) out[i] = value;
        }
    }
}

pickle_value pickle_find(const pickle *p, pickle_value dict, const char *key)
{
    pickle_value found;
    pickle_find_all(&found, &key, 1, p, dict);
    return found;
}
