/* cfi.h - unwind tables (.eh_frame): the rules that lead from a frame to its caller's frame
 *
 *     pc ──hd_cfi_search──> address of an entry ──hd_cfi_entry_read──> entry ──hd_cfi_rules──> a row of rules
 *
 * Callers evaluate the rules: on a copy of a stack, or folded into a word for walks of the own stack.
 *
 * Format   Linux Standard Base, "Exception Frames"; DWARF 5, 6.4 (call frame instructions) and 2.5 (expressions)
 * Reads    only the given memory, which may be arbitrary. No allocation, no lock: also in signal handlers
 * Limits   a header with other than a sorted table of 4-byte offsets (what every linker writes) counts as none; so do
 *          records of 4 GiB or more. Registers from 64 on (vectors) are skipped
 */
#ifndef HD_BASE_UNWIND_CFI_H
#define HD_BASE_UNWIND_CFI_H

#include "base/bytes.h"

/* The bytes at `address`; nothing outside of them is read. */
typedef struct hd_cfi_memory {
    const uint8_t *data;
    uint64_t address, size;
} hd_cfi_memory;

/* The entry (FDE) of the last function that begins at or before pc, by the table of .eh_frame_hdr at `header`; false:
 * there is none. */
bool hd_cfi_search(uint64_t *out, const hd_cfi_memory *memory, uint64_t header, uint64_t pc);

/* The entry of a function, with the data it shares with others (CIE). Borrows the memory. */
typedef struct hd_cfi_entry {
    uint64_t begin, end; /* of the function */
    uint64_t code_step, return_register;
    int64_t data_step;
    bool is_signal; /* the kernel called a signal handler here */
    bool has_sizes;
    uint8_t encoding; /* of addresses */
    const uint8_t *data;
    uint64_t address;         /* of data */
    size_t common[2], own[2]; /* instructions in data, of the CIE and of the function: begin, end */
} hd_cfi_entry;

/* The entry at an address, if its function contains pc. */
bool hd_cfi_entry_read(hd_cfi_entry *out, const hd_cfi_memory *memory, uint64_t address, uint64_t pc);

typedef enum hd_cfi_how {
    HD_CFI_SAME, /* as in the frame itself */
    HD_CFI_UNDEFINED,
    HD_CFI_AT,            /* is stored at the CFA + number */
    HD_CFI_IS,            /* is the CFA + number */
    HD_CFI_REGISTER,      /* is that of the register `number` */
    HD_CFI_AT_EXPRESSION, /* is stored where the expression says; the CFA is pushed first */
    HD_CFI_IS_EXPRESSION,
} hd_cfi_how;

typedef struct hd_cfi_rule {
    hd_cfi_how how;
    uint32_t base;             /* of the CFA, which IS this register + number or IS_EXPRESSION; SAME: was not defined */
    int64_t number;            /* of an expression: its bytes */
    const uint8_t *expression; /* borrowed */
} hd_cfi_rule;

/* The rules at pc. `wanted`: a bit for each register. `rows` has room for `row_count` rows, each with a rule for the
 * CFA and one for each wanted register in order; the first row is the result, the second that of the CIE, and the
 * others are for remember_state. false: invalid instructions, or more remembered states. */
bool hd_cfi_rules(hd_cfi_rule *rows, unsigned row_count, uint64_t wanted, const hd_cfi_entry *entry, uint64_t pc);

/* ---- expressions ---- */

enum {
    HD_CFI_OP_DEREF = 0x06,
    HD_CFI_OP_CONST1U = 0x08,
    HD_CFI_OP_CONST8S = 0x0f,
    HD_CFI_OP_CONSTU,
    HD_CFI_OP_CONSTS,
    HD_CFI_OP_DUP,
    HD_CFI_OP_DROP,
    HD_CFI_OP_OVER,
    HD_CFI_OP_SWAP = 0x16,
    HD_CFI_OP_AND = 0x1a,
    HD_CFI_OP_MINUS = 0x1c,
    HD_CFI_OP_MUL = 0x1e,
    HD_CFI_OP_OR = 0x21,
    HD_CFI_OP_PLUS,
    HD_CFI_OP_PLUS_UCONST,
    HD_CFI_OP_SHL,
    HD_CFI_OP_SHR,
    HD_CFI_OP_EQ = 0x29,
    HD_CFI_OP_GE,
    HD_CFI_OP_GT,
    HD_CFI_OP_LE,
    HD_CFI_OP_LT,
    HD_CFI_OP_NE,
    HD_CFI_OP_LIT0 = 0x30,
    HD_CFI_OP_LIT31 = 0x4f,
    HD_CFI_OP_BREG0 = 0x70,
    HD_CFI_OP_BREG31 = 0x8f,
    HD_CFI_OP_NOP = 0x96,
};

/* The value pushed by an operation that needs only its operand; false: any other operation. */
bool hd_cfi_constant(uint64_t *out, uint8_t operation, hd_byte_reader *reader);

#endif
