/* uprobe_cfi.c - the rules of an entry at an address, and the step that they make */
#include "capture/uprobe/uprobe_cfi.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture/uprobe/uprobe_cfi_impl.h"

enum {
    CFA_ADVANCE = 0x40, /* the low six bits are an operand of these three */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0,
    CFA_SET_LOC,
    CFA_ADVANCE1,
    CFA_ADVANCE2,
    CFA_ADVANCE4,
    CFA_OFFSET_EXTENDED,
    CFA_RESTORE_EXTENDED,
    CFA_UNDEFINED,
    CFA_SAME_VALUE,
    CFA_REGISTER,
    CFA_REMEMBER,
    CFA_RESTORE_STATE,
    CFA_DEF_CFA,
    CFA_DEF_CFA_REGISTER,
    CFA_DEF_CFA_OFFSET,
    CFA_DEF_CFA_EXPRESSION,
    CFA_EXPRESSION,
    CFA_OFFSET_EXTENDED_SF,
    CFA_DEF_CFA_SF,
    CFA_DEF_CFA_OFFSET_SF,
    CFA_VAL_OFFSET,
    CFA_VAL_OFFSET_SF,
    CFA_VAL_EXPRESSION,
    CFA_NEGATE_RA_STATE = 0x2d, /* aarch64: the return address is signed; the signature is cut off anyway */
    CFA_GNU_ARGS_SIZE = 0x2e,
};
enum { REMEMBERED = 16 };

typedef struct program {
    const cfi_entry *entry;
    hd_byte_reader reader;
    uint64_t location;
    cfi_row row, first; /* first: after the common instructions */
    cfi_row kept[REMEMBERED];
    unsigned kept_count;
    bool failed;
} program;

bool uprobe_memory_get(const uprobe_memory *memory, uint64_t address, uint64_t *out)
{
    if (address < memory->address || memory->size < 8 || address - memory->address > memory->size - 8) return false;
    memcpy(out, memory->data + (address - memory->address), 8);
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------------------- */

static void set(program *p, uint64_t number, cfi_how how, int64_t value)
{
    if (number < UPROBE_REGISTERS) p->row.at[number] = (cfi_rule){.how = how, .number = value};
}

static void set_expression(program *p, cfi_rule *rule, cfi_how how)
{
    uint64_t size = hd_byte_reader_varint(&p->reader);
    const uint8_t *expression = hd_byte_reader_take(&p->reader, size);
    if (!expression) p->failed = true;
    if (rule) *rule = (cfi_rule){how, 0, expression, size};
}

static void restore(program *p, uint64_t number)
{
    if (number < UPROBE_REGISTERS) p->row.at[number] = p->first.at[number];
}

static void set_cfa(program *p, uint64_t base, int64_t number)
{
    p->row.base = base;
    p->row.cfa = (cfi_rule){.how = CFI_IS, .number = number};
}

static void keep_or_take(program *p, bool is_keep)
{
    if (is_keep ? p->kept_count == REMEMBERED : !p->kept_count) {
        p->failed = true;
    } else if (is_keep) {
        p->kept[p->kept_count++] = p->row;
    } else {
        p->row = p->kept[--p->kept_count];
    }
}

static int64_t scaled(const program *p, int64_t value)
{
    return (int64_t)((uint64_t)value * (uint64_t)p->entry->data_step);
}

static void run_register(program *p, uint8_t instruction)
{
    hd_byte_reader *r = &p->reader;
    uint64_t number = hd_byte_reader_varint(r);
    cfi_rule *rule = number < UPROBE_REGISTERS ? &p->row.at[number] : NULL;
    switch (instruction) {
    case CFA_OFFSET_EXTENDED: set(p, number, CFI_AT, scaled(p, (int64_t)hd_byte_reader_varint(r))); break;
    case CFA_OFFSET_EXTENDED_SF: set(p, number, CFI_AT, scaled(p, cfi_signed(r))); break;
    case CFA_VAL_OFFSET: set(p, number, CFI_IS, scaled(p, (int64_t)hd_byte_reader_varint(r))); break;
    case CFA_VAL_OFFSET_SF: set(p, number, CFI_IS, scaled(p, cfi_signed(r))); break;
    case CFA_RESTORE_EXTENDED: restore(p, number); break;
    case CFA_UNDEFINED: set(p, number, CFI_UNDEFINED, 0); break;
    case CFA_SAME_VALUE: set(p, number, CFI_SAME, 0); break;
    case CFA_REGISTER: set(p, number, CFI_REGISTER, (int64_t)hd_byte_reader_varint(r)); break;
    case CFA_EXPRESSION: set_expression(p, rule, CFI_AT_EXPRESSION); break;
    case CFA_VAL_EXPRESSION: set_expression(p, rule, CFI_IS_EXPRESSION); break;
    case CFA_DEF_CFA: set_cfa(p, number, (int64_t)hd_byte_reader_varint(r)); break;
    case CFA_DEF_CFA_SF: set_cfa(p, number, scaled(p, cfi_signed(r))); break;
    case CFA_DEF_CFA_REGISTER: set_cfa(p, number, p->row.cfa.number); break;
    default: p->failed = true;
    }
}

static void run_other(program *p, uint8_t instruction)
{
    hd_byte_reader *r = &p->reader;
    uint64_t step = p->entry->code_step;
    switch (instruction) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE: break;
    case CFA_SET_LOC:
        p->failed |= p->entry->encoding & 0x70 || !cfi_pointer(r, p->entry->encoding, 0, 0, &p->location);
        break;
    case CFA_ADVANCE1: p->location += hd_byte_reader_le(r, 1) * step; break;
    case CFA_ADVANCE2: p->location += hd_byte_reader_le(r, 2) * step; break;
    case CFA_ADVANCE4: p->location += hd_byte_reader_le(r, 4) * step; break;
    case CFA_REMEMBER: keep_or_take(p, true); break;
    case CFA_RESTORE_STATE: keep_or_take(p, false); break;
    case CFA_DEF_CFA_OFFSET: set_cfa(p, p->row.base, (int64_t)hd_byte_reader_varint(r)); break;
    case CFA_DEF_CFA_OFFSET_SF: set_cfa(p, p->row.base, scaled(p, cfi_signed(r))); break;
    case CFA_DEF_CFA_EXPRESSION: set_expression(p, &p->row.cfa, CFI_IS_EXPRESSION); break;
    case CFA_GNU_ARGS_SIZE: hd_byte_reader_varint(r); break;
    default: run_register(p, instruction);
    }
}

/* Until an instruction that is behind pc. */
static bool run(program *p, hd_byte_reader instructions, uint64_t pc)
{
    p->reader = instructions;
    while (hd_byte_reader_left(&p->reader) && !p->failed && !p->reader.failed) {
        uint8_t instruction = hd_byte_reader_u8(&p->reader);
        uint8_t operand = instruction & 0x3f;
        switch (instruction & 0xc0) {
        case CFA_ADVANCE: p->location += operand * p->entry->code_step; break;
        case CFA_OFFSET: set(p, operand, CFI_AT, scaled(p, (int64_t)hd_byte_reader_varint(&p->reader))); break;
        case CFA_RESTORE: restore(p, operand); break;
        default: run_other(p, instruction);
        }
        if (p->location > pc) break; /* what moves the location changes no rule */
    }
    return !p->failed && !p->reader.failed;
}

/* ---- the step -------------------------------------------------------------------------------------------- */

static uprobe_step find_cfa(const cfi_row *row, const uprobe_frame *frame, const uprobe_memory *memory, uint64_t *out)
{
    if (row->cfa.how == CFI_IS_EXPRESSION)
        return cfi_evaluate(row->cfa.expression, row->cfa.bytes, NULL, frame, memory, out);
    if (row->cfa.how != CFI_IS || row->base >= UPROBE_REGISTERS || !(frame->known >> row->base & 1))
        return UPROBE_STEP_BAD;
    *out = frame->at[row->base] + (uint64_t)row->cfa.number;
    return UPROBE_STEP_OK;
}

/* The value of a register in the caller. One that cannot be told is not known there; that is bad only if it is used. */
static uprobe_step find_register(const cfi_rule *rule, unsigned number, uint64_t cfa, const uprobe_frame *frame,
                                 const uprobe_memory *memory, uint64_t *out)
{
    uint64_t address = cfa + (uint64_t)rule->number;
    uprobe_step step;
    switch (rule->how) {
    case CFI_SAME: *out = frame->at[number]; return frame->known >> number & 1 ? UPROBE_STEP_OK : UPROBE_STEP_BAD;
    case CFI_UNDEFINED: return UPROBE_STEP_END;
    case CFI_IS: *out = address; return UPROBE_STEP_OK;
    case CFI_AT: return uprobe_memory_get(memory, address, out) ? UPROBE_STEP_OK : UPROBE_STEP_BEYOND;
    case CFI_REGISTER:
        if ((uint64_t)rule->number >= UPROBE_REGISTERS || !(frame->known >> rule->number & 1)) return UPROBE_STEP_BAD;
        *out = frame->at[rule->number];
        return UPROBE_STEP_OK;
    default: break;
    }
    step = cfi_evaluate(rule->expression, rule->bytes, &cfa, frame, memory, &address);
    if (step != UPROBE_STEP_OK) return step;
    if (rule->how == CFI_IS_EXPRESSION) {
        *out = address;
        return UPROBE_STEP_OK;
    }
    return uprobe_memory_get(memory, address, out) ? UPROBE_STEP_OK : UPROBE_STEP_BEYOND;
}

static uprobe_step apply(const cfi_row *row, const cfi_entry *entry, uprobe_frame *frame, const uprobe_memory *memory)
{
    uprobe_frame caller = {.is_interrupted = entry->is_signal};
    uint64_t cfa, value;
    uprobe_step step = find_cfa(row, frame, memory, &cfa);
    if (step != UPROBE_STEP_OK) return step;
    for (unsigned i = 0; i < UPROBE_REGISTERS; i++) {
        bool is_return = i == entry->return_register;
        if (i == UPROBE_STACK_POINTER && row->at[i].how == CFI_SAME) continue;
        step = find_register(&row->at[i], i, cfa, frame, memory, &value);
        if (is_return && step != UPROBE_STEP_OK) return step;
        if (step != UPROBE_STEP_OK) continue;
        caller.at[i] = value;
        caller.known |= UINT64_C(1) << i;
        if (is_return) caller.pc = value;
    }
    if (row->at[UPROBE_STACK_POINTER].how == CFI_SAME) {
        caller.at[UPROBE_STACK_POINTER] = cfa;
        caller.known |= UINT64_C(1) << UPROBE_STACK_POINTER;
    }
    *frame = caller;
    return UPROBE_STEP_OK;
}

/* ---- rules of an address --------------------------------------------------------------------------------- */

enum { CACHED = 2048 };

typedef struct cfi_cached {
    const uprobe_elf *elf; /* NULL: free */
    uint64_t pc;
    uprobe_step found; /* OK, or why there are no rules */
    cfi_entry entry;
    cfi_row row;
} cfi_cached;

struct uprobe_cfi_cache {
    cfi_cached at[CACHED];
};

uprobe_cfi_cache *uprobe_cfi_cache_new(void)
{
    return calloc(1, sizeof(uprobe_cfi_cache));
}

void uprobe_cfi_cache_free(uprobe_cfi_cache *cache)
{
    free(cache);
}

static uprobe_step find_rules(cfi_entry *entry, cfi_row *row, const uprobe_elf *elf, uint64_t pc)
{
    program p;
    if (!cfi_find(elf, pc, entry)) return UPROBE_STEP_NONE;
    p.entry = entry;
    p.location = entry->begin;
    p.kept_count = 0;
    p.failed = false;
    memset(&p.row, 0, sizeof p.row);
    memset(&p.first, 0, sizeof p.first);
    if (!run(&p, entry->common, UINT64_MAX)) return UPROBE_STEP_BAD;
    p.first = p.row;
    p.location = entry->begin;
    if (!run(&p, entry->own, pc)) return UPROBE_STEP_BAD;
    *row = p.row;
    return UPROBE_STEP_OK;
}

uprobe_step uprobe_cfi_step(uprobe_cfi_cache *cache, const uprobe_elf *elf, uint64_t pc, uprobe_frame *frame,
                            const uprobe_memory *memory)
{
    cfi_cached alone, *place = &alone;
    uint64_t looked = frame->is_interrupted ? pc : pc - 1;
    if (cache) place = &cache->at[hd_fold(looked ^ (uintptr_t)elf, UINT64_C(0x9e3779b97f4a7c15)) % CACHED];
    if (!cache || place->elf != elf || place->pc != looked) {
        place->elf = elf;
        place->pc = looked;
        place->found = find_rules(&place->entry, &place->row, elf, looked);
    }
    return place->found == UPROBE_STEP_OK ? apply(&place->row, &place->entry, frame, memory) : place->found;
}
