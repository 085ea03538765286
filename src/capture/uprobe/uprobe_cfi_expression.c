/* uprobe_cfi_expression.c - DWARF expressions, as far as unwind tables use them: the linkage table, signal frames */
#include "capture/uprobe/uprobe_cfi_impl.h"

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S,
    OP_CONST2U,
    OP_CONST2S,
    OP_CONST4U,
    OP_CONST4S,
    OP_CONST8U,
    OP_CONST8S,
    OP_CONSTU,
    OP_CONSTS,
    OP_DUP = 0x12,
    OP_DROP,
    OP_OVER,
    OP_SWAP = 0x16,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_MUL = 0x1e,
    OP_OR = 0x21,
    OP_PLUS,
    OP_PLUS_UCONST,
    OP_SHL,
    OP_SHR,
    OP_EQ = 0x29,
    OP_GE,
    OP_GT,
    OP_LE,
    OP_LT,
    OP_NE,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_NOP = 0x96,
};
enum { DEPTH = 16, OPERATIONS_MAX = 64 };

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

static uint64_t constant(hd_byte_reader *reader, uint8_t operation)
{
    switch (operation) {
    case OP_CONST1U: return hd_byte_reader_le(reader, 1);
    case OP_CONST1S: return (uint64_t)(int64_t)(int8_t)hd_byte_reader_le(reader, 1);
    case OP_CONST2U: return hd_byte_reader_le(reader, 2);
    case OP_CONST2S: return (uint64_t)(int64_t)(int16_t)hd_byte_reader_le(reader, 2);
    case OP_CONST4U: return hd_byte_reader_le(reader, 4);
    case OP_CONST4S: return (uint64_t)(int64_t)(int32_t)hd_byte_reader_le(reader, 4);
    case OP_CONSTU: return hd_byte_reader_varint(reader);
    case OP_CONSTS: return (uint64_t)cfi_signed(reader);
    default: return hd_byte_reader_le(reader, 8);
    }
}

static void two(machine *m, uint8_t operation)
{
    uint64_t b = pop(m), a = pop(m);
    switch (operation) {
    case OP_AND: push(m, a & b); break;
    case OP_MINUS: push(m, a - b); break;
    case OP_MUL: push(m, a * b); break;
    case OP_OR: push(m, a | b); break;
    case OP_PLUS: push(m, a + b); break;
    case OP_SHL: push(m, b < 64 ? a << b : 0); break;
    case OP_SHR: push(m, b < 64 ? a >> b : 0); break;
    case OP_EQ: push(m, a == b); break;
    case OP_GE: push(m, (int64_t)a >= (int64_t)b); break;
    case OP_GT: push(m, (int64_t)a > (int64_t)b); break;
    case OP_LE: push(m, (int64_t)a <= (int64_t)b); break;
    case OP_LT: push(m, (int64_t)a < (int64_t)b); break;
    case OP_NE: push(m, a != b); break;
    case OP_SWAP:
        push(m, b);
        push(m, a);
        break;
    case OP_OVER:
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
    if (operation >= OP_LIT0 && operation <= OP_LIT31) {
        push(m, (uint64_t)operation - OP_LIT0);
    } else if (operation >= OP_BREG0 && operation <= OP_BREG31) {
        unsigned number = operation - OP_BREG0;
        int64_t more = cfi_signed(reader);
        if (number >= UPROBE_REGISTERS || !(frame->known >> number & 1)) return UPROBE_STEP_BAD;
        push(m, frame->at[number] + (uint64_t)more);
    } else if (operation >= OP_CONST1U && operation <= OP_CONSTS) {
        push(m, constant(reader, operation));
    } else if (operation == OP_PLUS_UCONST) {
        push(m, pop(m) + hd_byte_reader_varint(reader));
    } else if (operation == OP_DEREF) {
        if (!uprobe_memory_get(memory, pop(m), &value)) return UPROBE_STEP_BEYOND;
        push(m, value);
    } else if (operation == OP_DUP) {
        value = pop(m);
        push(m, value);
        push(m, value);
    } else if (operation == OP_DROP) {
        pop(m);
    } else if (operation != OP_NOP) {
        two(m, operation);
    }
    return m->failed || reader->failed ? UPROBE_STEP_BAD : UPROBE_STEP_OK;
}

uprobe_step cfi_evaluate(const uint8_t *expression, size_t size, const uint64_t *pushed, const uprobe_frame *frame,
                         const uprobe_memory *memory, uint64_t *out)
{
    hd_byte_reader reader = hd_byte_reader_of(expression, size);
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
