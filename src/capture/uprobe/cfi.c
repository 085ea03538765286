/* cfi.c - the step that rules make, with the registers of a frame and a copy of its stack */
#include "capture/uprobe/cfi.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/unwind/cfi.h"

enum { RULES = 1 + UPROBE_REGISTERS, REMEMBERED = 16, DEPTH = 16, OPERATIONS_MAX = 64 };

bool uprobe_memory_get(const uprobe_memory *memory, uint64_t address, uint64_t *out)
{
    if (address < memory->address || memory->size < 8 || address - memory->address > memory->size - 8) return false;
    memcpy(out, memory->data + (address - memory->address), 8);
    return true;
}

/* ---- expressions ---- */

typedef struct machine {
    uint64_t stack[DEPTH];
    unsigned depth;
    bool failed;
} machine;

static void push(machine *m, uint64_t value)
{
    if (m->depth == DEPTH)
        m->failed = true;
    else
        m->stack[m->depth++] = value;
}

static uint64_t pop(machine *m)
{
    if (m->depth) return m->stack[--m->depth];
    m->failed = true;
    return 0;
}

static void two(machine *m, uint8_t operation)
{
    uint64_t b = pop(m), a = pop(m);
    switch (operation) {
    case HD_CFI_OP_AND: push(m, a & b); break;
    case HD_CFI_OP_MINUS: push(m, a - b); break;
    case HD_CFI_OP_MUL: push(m, a * b); break;
    case HD_CFI_OP_OR: push(m, a | b); break;
    case HD_CFI_OP_PLUS: push(m, a + b); break;
    case HD_CFI_OP_SHL: push(m, b < 64 ? a << b : 0); break;
    case HD_CFI_OP_SHR: push(m, b < 64 ? a >> b : 0); break;
    case HD_CFI_OP_EQ: push(m, a == b); break;
    case HD_CFI_OP_GE: push(m, (int64_t)a >= (int64_t)b); break;
    case HD_CFI_OP_GT: push(m, (int64_t)a > (int64_t)b); break;
    case HD_CFI_OP_LE: push(m, (int64_t)a <= (int64_t)b); break;
    case HD_CFI_OP_LT: push(m, (int64_t)a < (int64_t)b); break;
    case HD_CFI_OP_NE: push(m, a != b); break;
    case HD_CFI_OP_SWAP:
        push(m, b);
        push(m, a);
        break;
    case HD_CFI_OP_OVER:
        push(m, a);
        push(m, b);
        push(m, a);
        break;
    default: m->failed = true;
    }
}

static uprobe_step one(machine *m, hd_byte_reader *reader, uint8_t operation, const uprobe_frame *frame,
                       const uprobe_memory *memory)
{
    uint64_t value;
    if (hd_cfi_constant(&value, operation, reader)) {
        push(m, value);
    } else if (operation >= HD_CFI_OP_BREG0 && operation <= HD_CFI_OP_BREG31) {
        unsigned number = operation - HD_CFI_OP_BREG0;
        int64_t more = hd_byte_reader_sleb(reader);
        if (number >= UPROBE_REGISTERS || !(frame->known >> number & 1)) return UPROBE_STEP_BAD;
        push(m, frame->at[number] + (uint64_t)more);
    } else if (operation == HD_CFI_OP_PLUS_UCONST) {
        push(m, pop(m) + hd_byte_reader_varint(reader));
    } else if (operation == HD_CFI_OP_DEREF) {
        if (!uprobe_memory_get(memory, pop(m), &value)) return UPROBE_STEP_BEYOND;
        push(m, value);
    } else if (operation == HD_CFI_OP_DUP) {
        value = pop(m);
        push(m, value);
        push(m, value);
    } else if (operation == HD_CFI_OP_DROP) {
        pop(m);
    } else if (operation != HD_CFI_OP_NOP) {
        two(m, operation);
    }
    return m->failed || reader->failed ? UPROBE_STEP_BAD : UPROBE_STEP_OK;
}

/* `pushed`: the initial stack entry, or NULL. */
static uprobe_step evaluate(const hd_cfi_rule *rule, const uint64_t *pushed, const uprobe_frame *frame,
                            const uprobe_memory *memory, uint64_t *out)
{
    hd_byte_reader reader = hd_byte_reader_of(rule->expression, (size_t)rule->number);
    machine m = {.depth = 0};
    if (pushed) push(&m, *pushed);
    for (unsigned count = 0; hd_byte_reader_left(&reader); count++) {
        uprobe_step step =
            count < OPERATIONS_MAX ? one(&m, &reader, hd_byte_reader_u8(&reader), frame, memory) : UPROBE_STEP_BAD;
        if (step != UPROBE_STEP_OK) return step;
    }
    *out = pop(&m);
    return m.failed ? UPROBE_STEP_BAD : UPROBE_STEP_OK;
}

/* ---- the step ---- */

static uprobe_step find_cfa(const hd_cfi_rule *cfa, const uprobe_frame *frame, const uprobe_memory *memory,
                            uint64_t *out)
{
    if (cfa->how == HD_CFI_IS_EXPRESSION) return evaluate(cfa, NULL, frame, memory, out);
    if (cfa->how != HD_CFI_IS || cfa->base >= UPROBE_REGISTERS || !(frame->known >> cfa->base & 1))
        return UPROBE_STEP_BAD;
    *out = frame->at[cfa->base] + (uint64_t)cfa->number;
    return UPROBE_STEP_OK;
}

/* The value of a register in the caller. An undeterminable one is unknown there, which matters only if it is used. */
static uprobe_step find_register(const hd_cfi_rule *rule, unsigned number, uint64_t cfa, const uprobe_frame *frame,
                                 const uprobe_memory *memory, uint64_t *out)
{
    uint64_t address = cfa + (uint64_t)rule->number;
    uprobe_step step;
    switch (rule->how) {
    case HD_CFI_SAME: *out = frame->at[number]; return frame->known >> number & 1 ? UPROBE_STEP_OK : UPROBE_STEP_BAD;
    case HD_CFI_UNDEFINED: return UPROBE_STEP_END;
    case HD_CFI_IS: *out = address; return UPROBE_STEP_OK;
    case HD_CFI_AT: return uprobe_memory_get(memory, address, out) ? UPROBE_STEP_OK : UPROBE_STEP_BEYOND;
    case HD_CFI_REGISTER:
        if ((uint64_t)rule->number >= UPROBE_REGISTERS || !(frame->known >> rule->number & 1)) return UPROBE_STEP_BAD;
        *out = frame->at[rule->number];
        return UPROBE_STEP_OK;
    default: break;
    }
    step = evaluate(rule, &cfa, frame, memory, &address);
    if (step != UPROBE_STEP_OK) return step;
    if (rule->how == HD_CFI_IS_EXPRESSION) {
        *out = address;
        return UPROBE_STEP_OK;
    }
    return uprobe_memory_get(memory, address, out) ? UPROBE_STEP_OK : UPROBE_STEP_BEYOND;
}

static uprobe_step apply(const hd_cfi_rule *rules, const hd_cfi_entry *entry, uprobe_frame *frame,
                         const uprobe_memory *memory)
{
    uprobe_frame caller = {.is_interrupted = entry->is_signal};
    const hd_cfi_rule *of = rules + 1;
    uint64_t cfa, value;
    uprobe_step step = find_cfa(&rules[0], frame, memory, &cfa);
    if (step != UPROBE_STEP_OK) return step;
    for (unsigned i = 0; i < UPROBE_REGISTERS; i++) {
        bool is_return = i == entry->return_register;
        if (i == UPROBE_STACK_POINTER && of[i].how == HD_CFI_SAME) continue;
        step = find_register(&of[i], i, cfa, frame, memory, &value);
        if (is_return && step != UPROBE_STEP_OK) return step;
        if (step != UPROBE_STEP_OK) continue;
        caller.at[i] = value;
        caller.known |= UINT64_C(1) << i;
        if (is_return) caller.pc = value;
    }
    if (of[UPROBE_STACK_POINTER].how == HD_CFI_SAME) {
        caller.at[UPROBE_STACK_POINTER] = cfa;
        caller.known |= UINT64_C(1) << UPROBE_STACK_POINTER;
    }
    *frame = caller;
    return UPROBE_STEP_OK;
}

/* ---- rules of an address ---- */

enum { CACHED = 2048 };

typedef struct cfi_cached {
    const uprobe_elf *elf; /* NULL: free */
    uint64_t pc;
    uprobe_step found; /* OK, or why there are no rules */
    hd_cfi_entry entry;
    hd_cfi_rule rules[RULES];
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

/* The segment that an address is in. */
static hd_cfi_memory memory_at(const uprobe_elf *elf, uint64_t address)
{
    for (uint32_t i = 0; i < elf->load_count; i++) {
        const uprobe_load *load = &elf->loads[i];
        if (address >= load->address && address - load->address < load->size)
            return (hd_cfi_memory){elf->data + load->offset, load->address, load->size};
    }
    return (hd_cfi_memory){0};
}

static uprobe_step find_rules(hd_cfi_entry *entry, hd_cfi_rule *rules, const uprobe_elf *elf, uint64_t pc)
{
    hd_cfi_rule rows[2 + REMEMBERED][RULES];
    uint64_t address;
    hd_cfi_memory memory = memory_at(elf, elf->hdr_address);
    if (!elf->hdr_bytes || !hd_cfi_search(&address, &memory, elf->hdr_address, pc)) return UPROBE_STEP_NONE;
    memory = memory_at(elf, address);
    if (!hd_cfi_entry_read(entry, &memory, address, pc) || entry->return_register >= UPROBE_REGISTERS)
        return UPROBE_STEP_NONE;
    if (!hd_cfi_rules(*rows, 2 + REMEMBERED, (UINT64_C(1) << UPROBE_REGISTERS) - 1, entry, pc)) return UPROBE_STEP_BAD;
    memcpy(rules, *rows, sizeof *rows);
    return UPROBE_STEP_OK;
}

uprobe_step uprobe_cfi_step(uprobe_cfi_cache *cache, const uprobe_elf *elf, uint64_t pc, uprobe_frame *frame,
                            const uprobe_memory *memory)
{
    cfi_cached alone, *place = &alone;
    uint64_t looked = frame->is_interrupted ? pc : pc - 1;
    if (cache) place = &cache->at[hd_hash_pair(looked, (uintptr_t)elf) % CACHED];
    if (!cache || place->elf != elf || place->pc != looked) {
        place->elf = elf;
        place->pc = looked;
        place->found = find_rules(&place->entry, place->rules, elf, looked);
    }
    return place->found == UPROBE_STEP_OK ? apply(place->rules, &place->entry, frame, memory) : place->found;
}
