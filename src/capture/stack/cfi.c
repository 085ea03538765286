/* cfi.c - the .eh_frame rules of an address, as a row
 *
 * Takes    the rules of three registers (base/unwind/cfi.c): stack pointer, frame pointer, and return address.
 *          Expressions are evaluated symbolically over the registers, which covers the forms that compilers and libc
 *          write: realigned stacks, PLTs, signal frames.
 * Limits   remembered states (8), the stack of an expression (8): beyond, the row is HARD
 * Errors   false: no such function, or invalid bytes
 */
#include "base/unwind/cfi.h"
#include "capture/stack/impl.h"

#if defined(__aarch64__)
enum { COLUMN_FP = 29, COLUMN_SP = 31, COLUMN_RA = 30 };
#else
enum { COLUMN_FP = 6, COLUMN_SP = 7, COLUMN_RA = 16 };
#endif
enum { REMEMBER_MAX = 8, VALUES_MAX = 8 };
enum { RULE_CFA, RULE_FP, RULE_RA, RULES }; /* of a row */

/* ---- expressions ---- */

/* A register or nothing, plus an offset; or the memory there, plus `after`. */
typedef struct value {
    enum { VALUE_NUMBER, VALUE_SP, VALUE_FP } base;
    bool loaded;
    int64_t offset, after;
} value;

static void add_number(value *to, uint64_t number)
{
    int64_t *offset = to->loaded ? &to->after : &to->offset;
    *offset = (int64_t)((uint64_t)*offset + number);
}

static bool fold(value *a, const value *b, uint8_t code)
{
    if (code == HD_CFI_OP_PLUS && a->base == VALUE_NUMBER) {
        value sum = *b;
        add_number(&sum, (uint64_t)a->offset);
        *a = sum;
        return true;
    }
    if (code == HD_CFI_OP_PLUS && b->base == VALUE_NUMBER) {
        add_number(a, (uint64_t)b->offset);
        return true;
    }
    if (a->base != VALUE_NUMBER || b->base != VALUE_NUMBER) return false;
    switch (code) {
    case HD_CFI_OP_AND: a->offset &= b->offset; return true;
    case HD_CFI_OP_MINUS: add_number(a, 0 - (uint64_t)b->offset); return true;
    case HD_CFI_OP_SHL: a->offset = (int64_t)((uint64_t)a->offset << (b->offset & 63)); return true;
    case HD_CFI_OP_GE: a->offset = a->offset >= b->offset; return true;
    case HD_CFI_OP_GT: a->offset = a->offset > b->offset; return true;
    default: return false;
    }
}

/* One operation that pushes a value; false: another operation. */
static bool pushes(value *out, uint8_t code, hd_byte_reader *r, uint64_t pc)
{
    uint64_t number;
    *out = (value){.base = VALUE_NUMBER};
    if (hd_cfi_constant(&number, code, r)) {
        out->offset = (int64_t)number;
        return true;
    }
    if (code < HD_CFI_OP_BREG0 || code > HD_CFI_OP_BREG31) return false;
    out->offset = hd_byte_reader_sleb(r);
    switch (code - HD_CFI_OP_BREG0) {
    case COLUMN_SP: out->base = VALUE_SP; return true;
    case COLUMN_FP: out->base = VALUE_FP; return true;
    case COLUMN_RA: add_number(out, pc); return true; /* x86: the instruction pointer, in PLTs */
    default: return false;
    }
}

static bool evaluate(value *out, const hd_cfi_rule *rule, uint64_t pc)
{
    value stack[VALUES_MAX];
    unsigned depth = 0;
    hd_byte_reader r = hd_byte_reader_of(rule->expression, (size_t)rule->number);
    while (hd_byte_reader_left(&r) && !r.failed) {
        uint8_t code = hd_byte_reader_u8(&r);
        value *top = depth ? &stack[depth - 1] : NULL;
        if (code == HD_CFI_OP_DEREF && top && !top->loaded && top->base != VALUE_NUMBER) {
            top->loaded = true;
        } else if (code == HD_CFI_OP_PLUS_UCONST && top) {
            add_number(top, hd_byte_reader_varint(&r));
        } else if (depth < VALUES_MAX && pushes(&stack[depth], code, &r, pc)) {
            depth++;
        } else if (depth >= 2 && fold(&stack[depth - 2], &stack[depth - 1], code)) {
            depth--;
        } else {
            return false;
        }
    }
    if (depth != 1 || r.failed) return false;
    *out = stack[0];
    return true;
}

/* ---- the row ---- */

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static bool put_cfa(stack_row *out, const hd_cfi_rule *cfa, uint64_t pc)
{
    value v = {.base = VALUE_NUMBER, .offset = cfa->number};
    if (cfa->how == HD_CFI_IS_EXPRESSION) {
        if (!evaluate(&v, cfa, pc)) return false;
    } else if (cfa->how == HD_CFI_IS && cfa->base == COLUMN_SP) {
        v.base = VALUE_SP;
    } else if (cfa->how == HD_CFI_IS && cfa->base == COLUMN_FP) {
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

static bool put_fp(stack_row *out, const hd_cfi_rule *fp, uint64_t pc)
{
    value v;
    out->fp = STACK_FP_SAME;
    if (fp->how == HD_CFI_SAME || fp->how == HD_CFI_UNDEFINED) return true;
    if (fp->how == HD_CFI_AT && fits(fp->number)) {
        out->fp = STACK_FP_AT_CFA;
        out->fp_offset = (int32_t)fp->number;
        return true;
    }
    if (fp->how != HD_CFI_AT_EXPRESSION || !evaluate(&v, fp, pc)) return false;
    if (v.base != VALUE_FP || v.loaded || !fits(v.offset)) return false;
    out->fp = STACK_FP_AT_FP;
    out->fp_offset = (int32_t)v.offset;
    return true;
}

static stack_row row_of(const hd_cfi_rule *rules, uint64_t pc)
{
    const hd_cfi_rule *ra = &rules[RULE_RA];
    stack_row out = {.kind = STACK_ROW_STEP};
    if (ra->how == HD_CFI_UNDEFINED) return (stack_row){.kind = STACK_ROW_END};
    if (ra->how == HD_CFI_AT && fits(ra->number))
        out.ra_offset = (int32_t)ra->number;
    else if (ra->how == HD_CFI_SAME && COLUMN_RA < COLUMN_SP) /* x86: no register is meant */
        out.ra_in_register = true;
    else
        return (stack_row){.kind = STACK_ROW_HARD};
    if (!put_cfa(&out, &rules[RULE_CFA], pc) || !put_fp(&out, &rules[RULE_FP], pc))
        return (stack_row){.kind = STACK_ROW_HARD};
    return out;
}

static hd_cfi_memory memory_of(const stack_tables *tables)
{
    return (hd_cfi_memory){tables->low, (uintptr_t)tables->low, (uint64_t)(tables->high - tables->low)};
}

bool stack_cfi_row_of(stack_row *out, uint64_t fde, const stack_tables *tables, uint64_t pc)
{
    hd_cfi_memory memory = memory_of(tables);
    hd_cfi_entry entry;
    hd_cfi_rule rows[2 + REMEMBER_MAX][RULES];
    const uint64_t wanted = UINT64_C(1) << COLUMN_FP | UINT64_C(1) << COLUMN_RA;
    if (!hd_cfi_entry_read(&entry, &memory, fde, pc) || entry.return_register != COLUMN_RA) return false;
    if (entry.is_signal) {
        *out = (stack_row){.kind = STACK_ROW_SIGNAL};
        return true;
    }
    if (!hd_cfi_rules(*rows, 2 + REMEMBER_MAX, wanted, &entry, pc)) return false;
    *out = row_of(*rows, pc);
    return true;
}

bool stack_cfi_row(stack_row *out, const stack_tables *tables, uint64_t pc)
{
    hd_cfi_memory memory = memory_of(tables);
    uint64_t fde;
    return hd_cfi_search(&fde, &memory, (uintptr_t)tables->header, pc) && stack_cfi_row_of(out, fde, tables, pc);
}
