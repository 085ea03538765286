/* stack_cfi.c - what .eh_frame says of one address, as a row
 *
 * Format   Linux Standard Base, "Exception Frames"; call frame instructions and expressions: DWARF 5, 6.4 and 2.5
 * Reads    .eh_frame_hdr's sorted table, the function's description (FDE) and its common part (CIE)
 * Gives    rules for three registers: the stack's and the frame's pointer, and the return address. Others are skipped.
 *          Expressions are worked out with the registers as unknowns, which gives the forms that rows have for what
 *          compilers and libc write: realigned stacks, PLTs, signal frames.
 * Limits   states remembered (8), the stack of an expression (8): beyond, the row is HARD
 * Errors   false: no such function, or bytes that make no sense
 */
#include "capture/stack_impl.h"

#if defined(__aarch64__)
enum { COLUMN_FP = 29, COLUMN_SP = 31 };
#else
enum { COLUMN_FP = 6, COLUMN_SP = 7 };
#endif
enum { REMEMBER_MAX = 8, VALUES_MAX = 8 };

/* ---- bytes ---------------------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *at, *end;
    bool failed;
} reader;

static uint64_t get(reader *r, unsigned size)
{
    uint64_t value = 0;
    if (r->failed || (size_t)(r->end - r->at) < size) {
        r->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)r->at[i] << (8 * i);
    r->at += size;
    return value;
}

static int64_t get_signed(reader *r, unsigned size)
{
    uint64_t value = get(r, size);
    return (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size);
}

static uint64_t get_uleb(reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)get(r, 1);
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

static int64_t get_sleb(reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = (uint8_t)get(r, 1);
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if ((byte & 0x40) && shift < 64) value |= ~UINT64_C(0) << shift;
        return (int64_t)value;
    }
}

static reader get_block(reader *r)
{
    uint64_t size = get_uleb(r);
    if (r->failed || size > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return (reader){r->end, r->end, true};
    }
    reader out = {r->at, r->at + size, false};
    r->at += size;
    return out;
}

/* A pointer in one of the encodings of exception frames; `base` is what DATAREL adds. */
static uint64_t get_encoded(reader *r, uint8_t encoding, uint64_t base)
{
    enum { OMIT = 0xff, PCREL = 0x10, DATAREL = 0x30 };
    uint64_t place = (uintptr_t)r->at, value;
    if (encoding == OMIT) return 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: value = get(r, 8); break;
    case 0x01: value = get_uleb(r); break;
    case 0x02: value = get(r, 2); break;
    case 0x03: value = get(r, 4); break;
    case 0x09: value = (uint64_t)get_sleb(r); break;
    case 0x0a: value = (uint64_t)get_signed(r, 2); break;
    case 0x0b: value = (uint64_t)get_signed(r, 4); break;
    default: r->failed = true; return 0;
    }
    if (value == 0) return 0;
    if ((encoding & 0x70) == PCREL) value += place;
    if ((encoding & 0x70) == DATAREL) value += base;
    return value;
}

/* ---- descriptions --------------------------------------------------------------------------------------- */

typedef struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_column;
    uint8_t encoding;
    bool augmented, signal;
    reader program;
} cie;

/* The entry at `at`: without its length. */
static reader entry_at(const uint8_t *at, const stack_tables *tables)
{
    reader r = {at, tables->high, at < tables->low || at >= tables->high};
    uint64_t size = get(&r, 4);
    if (size == 0xffffffff) size = get(&r, 8);
    if (size > (uint64_t)(r.end - r.at)) r.failed = true;
    if (!r.failed) r.end = r.at + size;
    return r;
}

static bool read_cie(cie *out, const uint8_t *at, const stack_tables *tables)
{
    reader r = entry_at(at, tables);
    if (get(&r, 4) != 0) return false; /* its id */
    uint8_t version = (uint8_t)get(&r, 1);
    if (r.failed || (version != 1 && version != 3)) return false;
    const char *augmentation = (const char *)r.at;
    while (get(&r, 1)) continue;
    if (r.failed) return false;
    *out = (cie){.code_align = get_uleb(&r), .data_align = get_sleb(&r)};
    out->ra_column = version == 1 ? get(&r, 1) : get_uleb(&r);
    if (*augmentation == 'z') {
        reader data = get_block(&r);
        out->augmented = true;
        for (const char *c = augmentation + 1; *c; c++) {
            if (*c == 'R')
                out->encoding = (uint8_t)get(&data, 1);
            else if (*c == 'P')
                get_encoded(&data, (uint8_t)get(&data, 1), 0);
            else if (*c == 'L')
                get(&data, 1);
            else if (*c == 'S')
                out->signal = true;
            else if (*c != 'B') /* aarch64: signed with the other key */
                break;
        }
        if (data.failed) return false;
    } else if (*augmentation) {
        return false;
    }
    out->program = r;
    return !r.failed;
}

/* The description whose first address is the last one not above pc. */
static const uint8_t *find_fde(const stack_tables *tables, uint64_t pc)
{
    enum { SORTED = 0x3b }; /* 4 bytes each, from the header */
    reader r = {tables->header, tables->high, tables->header < tables->low || tables->header >= tables->high};
    uint64_t base = (uintptr_t)tables->header;
    uint8_t version = (uint8_t)get(&r, 1), frame = (uint8_t)get(&r, 1), count_as = (uint8_t)get(&r, 1);
    if (get(&r, 1) != SORTED || version != 1) return NULL;
    get_encoded(&r, frame, base);
    uint64_t count = get_encoded(&r, count_as, base);
    if (r.failed || count == 0 || count > (uint64_t)(r.end - r.at) / 8) return NULL;
    int64_t key = (int64_t)(pc - base);
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int32_t start;
        memcpy(&start, r.at + middle * 8, 4);
        if (start <= key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return NULL;
    int32_t offset;
    memcpy(&offset, r.at + (low - 1) * 8 + 4, 4);
    return tables->header + offset;
}

/* ---- rules ---------------------------------------------------------------------------------------------- */

typedef enum rule_kind { RULE_SAME, RULE_UNDEFINED, RULE_OFFSET, RULE_EXPRESSION, RULE_OTHER } rule_kind;

typedef struct rule {
    rule_kind kind;
    int64_t offset;
    reader expression;
} rule;

typedef struct rules {
    uint64_t cfa_column;
    int64_t cfa_offset;
    bool cfa_is_expression;
    reader cfa_expression;
    rule fp, ra;
} rules;

typedef struct machine {
    const cie *common;
    uint64_t address, pc;
    rules now, initial, remembered[REMEMBER_MAX];
    unsigned depth;
    bool hard;
} machine;

static rule *rule_of(machine *m, rules *in, uint64_t column)
{
    if (column == COLUMN_FP) return &in->fp;
    return column == m->common->ra_column ? &in->ra : NULL;
}

static void set_rule(machine *m, uint64_t column, rule_kind kind, int64_t offset)
{
    rule *r = rule_of(m, &m->now, column);
    if (r) *r = (rule){.kind = kind, .offset = offset};
}

static void restore_rule(machine *m, uint64_t column)
{
    rule *r = rule_of(m, &m->now, column);
    if (r) *r = *rule_of(m, &m->initial, column);
}

static void set_expression(machine *m, uint64_t column, reader expression)
{
    rule *r = rule_of(m, &m->now, column);
    if (r) *r = (rule){.kind = RULE_EXPRESSION, .expression = expression};
}

static void set_cfa(machine *m, uint64_t column, int64_t offset)
{
    m->now.cfa_column = column;
    m->now.cfa_offset = offset;
    m->now.cfa_is_expression = false;
}

/* Instructions that define the CFA. */
static bool step_cfa(machine *m, uint8_t code, reader *r)
{
    int64_t align = m->common->data_align;
    uint64_t column;
    switch (code) {
    case 0x0c: /* def_cfa */
        column = get_uleb(r);
        set_cfa(m, column, (int64_t)get_uleb(r));
        return true;
    case 0x12: /* def_cfa_sf */
        column = get_uleb(r);
        set_cfa(m, column, get_sleb(r) * align);
        return true;
    case 0x0d: set_cfa(m, get_uleb(r), m->now.cfa_offset); return true;          /* def_cfa_register */
    case 0x0e: set_cfa(m, m->now.cfa_column, (int64_t)get_uleb(r)); return true; /* def_cfa_offset */
    case 0x13: set_cfa(m, m->now.cfa_column, get_sleb(r) * align); return true;  /* def_cfa_offset_sf */
    case 0x0f:                                                                   /* def_cfa_expression */
        m->now.cfa_is_expression = true;
        m->now.cfa_expression = get_block(r);
        return true;
    default: return false;
    }
}

/* Instructions that say where a register is. */
static bool step_register(machine *m, uint8_t code, reader *r)
{
    int64_t align = m->common->data_align;
    uint64_t column;
    if (code < 0x05 || (code > 0x11 && (code < 0x14 || code > 0x16) && code != 0x2f)) return false;
    column = get_uleb(r);
    switch (code) {
    case 0x05: set_rule(m, column, RULE_OFFSET, (int64_t)get_uleb(r) * align); return true;  /* offset_extended */
    case 0x11: set_rule(m, column, RULE_OFFSET, get_sleb(r) * align); return true;           /* .. _sf */
    case 0x2f: set_rule(m, column, RULE_OFFSET, -(int64_t)get_uleb(r) * align); return true; /* GNU_negative_.. */
    case 0x06: restore_rule(m, column); return true;                                         /* restore_extended */
    case 0x07: set_rule(m, column, RULE_UNDEFINED, 0); return true;                          /* undefined */
    case 0x08: set_rule(m, column, RULE_SAME, 0); return true;                               /* same_value */
    case 0x09:                                                                               /* register */
    case 0x14: set_rule(m, column, RULE_OTHER, 0), get_uleb(r); return true;                 /* val_offset */
    case 0x15: set_rule(m, column, RULE_OTHER, 0), get_sleb(r); return true;                 /* .. _sf */
    case 0x10: set_expression(m, column, get_block(r)); return true;                         /* expression */
    case 0x16: set_rule(m, column, RULE_OTHER, 0), get_block(r); return true;                /* val_expression */
    default: return false;
    }
}

static bool step_state(machine *m, uint8_t code)
{
    if (code == 0x0a) { /* remember_state */
        if (m->depth == REMEMBER_MAX) return false;
        m->remembered[m->depth++] = m->now;
        return true;
    }
    if (m->depth == 0) return false;
    m->now = m->remembered[--m->depth]; /* restore_state */
    return true;
}

/* Until the location is behind pc. False: an instruction that makes no sense. */
static bool run(machine *m, reader program)
{
    reader *r = &program;
    while (r->at < r->end && !r->failed) {
        uint8_t code = (uint8_t)get(r, 1), low = code & 0x3f;
        uint64_t advance = 0;
        switch (code & 0xc0) {
        case 0x40: advance = low; break;
        case 0x80: set_rule(m, low, RULE_OFFSET, (int64_t)get_uleb(r) * m->common->data_align); continue;
        case 0xc0: restore_rule(m, low); continue;
        default:
            if (code == 0 || code == 0x2d) continue; /* nop; negate_ra_state, window_save */
            if (code == 0x01)
                advance = get_encoded(r, m->common->encoding, 0) - m->address; /* set_loc */
            else if (code >= 0x02 && code <= 0x04)
                advance = get(r, 1u << (code - 2));
            else if (code == 0x2e)
                get_uleb(r); /* GNU_args_size */
            else if (code == 0x0a || code == 0x0b ? !step_state(m, code)
                                                  : !step_cfa(m, code, r) && !step_register(m, code, r))
                return false;
            if (code > 0x04) continue;
            if (code == 0x01) m->address += advance, advance = 0;
        }
        m->address += advance * m->common->code_align;
        if (m->address > m->pc) return true;
    }
    return !r->failed;
}

/* ---- expressions ---------------------------------------------------------------------------------------- */

/* A register or nothing, and the offset; or what is in memory there, and `after`. */
typedef struct value {
    enum { VALUE_NUMBER, VALUE_SP, VALUE_FP } base;
    bool loaded;
    int64_t offset, after;
} value;

static bool fold(value *a, const value *b, uint8_t code)
{
    if (code == 0x22 && a->base == VALUE_NUMBER) { /* plus */
        value sum = *b;
        *(sum.loaded ? &sum.after : &sum.offset) += a->offset;
        *a = sum;
        return true;
    }
    if (code == 0x22 && b->base == VALUE_NUMBER) {
        *(a->loaded ? &a->after : &a->offset) += b->offset;
        return true;
    }
    if (a->base != VALUE_NUMBER || b->base != VALUE_NUMBER) return false;
    switch (code) {
    case 0x1a: a->offset &= b->offset; return true;
    case 0x1c: a->offset -= b->offset; return true;
    case 0x24: a->offset = (int64_t)((uint64_t)a->offset << (b->offset & 63)); return true;
    case 0x2a: a->offset = a->offset >= b->offset; return true;
    case 0x2b: a->offset = a->offset > b->offset; return true;
    default: return false;
    }
}

/* One operation that pushes a value; false: it is none. */
static bool pushes(value *out, uint8_t code, reader *r, const machine *m)
{
    *out = (value){.base = VALUE_NUMBER};
    if (code >= 0x30 && code <= 0x4f) { /* lit */
        out->offset = code - 0x30;
    } else if (code >= 0x70 && code <= 0x8f) { /* breg */
        unsigned column = code - 0x70u;
        out->offset = get_sleb(r);
        if (column == COLUMN_SP)
            out->base = VALUE_SP;
        else if (column == COLUMN_FP)
            out->base = VALUE_FP;
        else if (column == m->common->ra_column)
            out->offset += (int64_t)m->pc; /* x86: the instruction pointer, in PLTs */
        else
            return false;
    } else if (code >= 0x08 && code <= 0x0f) { /* const1u … const8s */
        unsigned size = 1u << ((code - 0x08) / 2);
        out->offset = code & 1 ? get_signed(r, size) : (int64_t)get(r, size);
    } else if (code == 0x10) {
        out->offset = (int64_t)get_uleb(r);
    } else if (code == 0x11) {
        out->offset = get_sleb(r);
    } else {
        return false;
    }
    return true;
}

static bool evaluate(value *out, reader expression, const machine *m)
{
    value stack[VALUES_MAX];
    unsigned depth = 0;
    reader *r = &expression;
    while (r->at < r->end && !r->failed) {
        uint8_t code = (uint8_t)get(r, 1);
        value *top = depth ? &stack[depth - 1] : NULL;
        if (code == 0x06 && top && !top->loaded && top->base != VALUE_NUMBER) { /* deref */
            top->loaded = true;
        } else if (code == 0x23 && top) { /* plus_uconst */
            *(top->loaded ? &top->after : &top->offset) += (int64_t)get_uleb(r);
        } else if (depth < VALUES_MAX && pushes(&stack[depth], code, r, m)) {
            depth++;
        } else if (depth >= 2 && fold(&stack[depth - 2], &stack[depth - 1], code)) {
            depth--;
        } else {
            return false;
        }
    }
    if (depth != 1 || r->failed) return false;
    *out = stack[0];
    return true;
}

/* ---- the row -------------------------------------------------------------------------------------------- */

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static bool put_cfa(stack_row *out, const machine *m)
{
    value v = {.base = VALUE_NUMBER, .offset = m->now.cfa_offset};
    if (m->now.cfa_is_expression) {
        if (!evaluate(&v, m->now.cfa_expression, m)) return false;
    } else if (m->now.cfa_column == COLUMN_SP) {
        v.base = VALUE_SP;
    } else if (m->now.cfa_column == COLUMN_FP) {
        v.base = VALUE_FP;
    }
    if (v.base == VALUE_NUMBER || !fits(v.offset) || !fits(v.after)) return false;
    if (v.base == VALUE_SP)
        out->cfa = v.loaded ? STACK_CFA_AT_SP : STACK_CFA_SP;
    else
        out->cfa = v.loaded ? STACK_CFA_AT_FP : STACK_CFA_FP;
    out->cfa_offset = (int32_t)v.offset;
    out->cfa_after = (int32_t)v.after;
    return true;
}

static bool put_fp(stack_row *out, const machine *m)
{
    const rule *fp = &m->now.fp;
    value v;
    out->fp = STACK_FP_SAME;
    if (fp->kind == RULE_SAME || fp->kind == RULE_UNDEFINED) return true;
    if (fp->kind == RULE_OFFSET && fits(fp->offset)) {
        out->fp = STACK_FP_AT_CFA;
        out->fp_offset = (int32_t)fp->offset;
        return true;
    }
    if (fp->kind != RULE_EXPRESSION || !evaluate(&v, fp->expression, m)) return false;
    if (v.base != VALUE_FP || v.loaded || !fits(v.offset)) return false;
    out->fp = STACK_FP_AT_FP;
    out->fp_offset = (int32_t)v.offset;
    return true;
}

static stack_row row_of(const machine *m)
{
    const rule *ra = &m->now.ra;
    stack_row out = {.kind = STACK_ROW_STEP};
    if (ra->kind == RULE_UNDEFINED) return (stack_row){.kind = STACK_ROW_END};
    if (ra->kind == RULE_OFFSET && fits(ra->offset))
        out.ra_offset = (int32_t)ra->offset;
    else if (ra->kind == RULE_SAME)
        out.ra_in_register = true;
    else
        return (stack_row){.kind = STACK_ROW_HARD};
    if (!put_cfa(&out, m) || !put_fp(&out, m)) return (stack_row){.kind = STACK_ROW_HARD};
    return out;
}

bool stack_cfi_row_of(stack_row *out, const uint8_t *fde, const stack_tables *tables, uint64_t pc)
{
    cie common;
    reader r = entry_at(fde, tables);
    const uint8_t *field = r.at;
    uint64_t back = get(&r, 4);
    if (r.failed || back == 0 || back > (uint64_t)(field - tables->low)) return false;
    if (!read_cie(&common, field - back, tables)) return false;
    uint64_t start = get_encoded(&r, common.encoding, 0), size = get_encoded(&r, common.encoding & 0x0f, 0);
    if (r.failed || pc < start || pc - start >= size) return false;
    if (common.augmented) get_block(&r);
    if (common.signal) {
        *out = (stack_row){.kind = STACK_ROW_SIGNAL};
        return true;
    }
    machine m = {.common = &common, .address = start, .pc = pc};
#if defined(__x86_64__)
    m.now.ra.kind = RULE_OTHER; /* until the CIE says where it is */
#endif
    m.pc = UINT64_MAX; /* the CIE's instructions hold everywhere */
    if (!run(&m, common.program)) return false;
    m.initial = m.now;
    m.pc = pc;
    m.address = start;
    if (r.failed || !run(&m, r)) return false;
    *out = row_of(&m);
    return true;
}

bool stack_cfi_row(stack_row *out, const stack_tables *tables, uint64_t pc)
{
    const uint8_t *fde = find_fde(tables, pc);
    return fde && stack_cfi_row_of(out, fde, tables, pc);
}
