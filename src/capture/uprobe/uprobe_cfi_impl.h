/* uprobe_cfi_impl.h - what the files of the unwind tables share: the reader, the row of rules */
#ifndef HD_CAPTURE_UPROBE_CFI_IMPL_H
#define HD_CAPTURE_UPROBE_CFI_IMPL_H

#include "base/bytes.h"
#include "capture/uprobe/uprobe_cfi.h"

typedef enum cfi_how {
    CFI_SAME, /* as in the frame itself */
    CFI_UNDEFINED,
    CFI_AT,            /* stands at cfa + number */
    CFI_IS,            /* is cfa + number */
    CFI_REGISTER,      /* is that of the register `number` */
    CFI_AT_EXPRESSION, /* stands where the expression says */
    CFI_IS_EXPRESSION,
} cfi_how;

typedef struct cfi_rule {
    cfi_how how;
    int64_t number;
    const uint8_t *expression;
    size_t bytes;
} cfi_rule;

typedef struct cfi_row {
    cfi_rule cfa; /* CFI_IS: register `base` + number; CFI_IS_EXPRESSION */
    uint64_t base;
    cfi_rule at[UPROBE_REGISTERS];
} cfi_row;

/* Of a function, or of what functions share (the CIE). */
typedef struct cfi_entry {
    uint64_t code_step;
    int64_t data_step;
    uint64_t return_register;
    uint8_t encoding; /* of addresses */
    bool has_sizes, is_signal;
    hd_byte_reader common, own; /* instructions */
    uint64_t begin, end;
} cfi_entry;

static inline int64_t cfi_signed(hd_byte_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = hd_byte_reader_u8(reader);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        if ((byte & 0x40) && shift + 7 < 64) value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    reader->failed = true;
    return 0;
}

/* uprobe_cfi_find.c: the entry of an address; false: none */
bool cfi_find(const uprobe_elf *elf, uint64_t pc, cfi_entry *out);
/* An address as .eh_frame writes it; `address` is that of the reader's next byte. */
bool cfi_pointer(hd_byte_reader *reader, uint8_t encoding, uint64_t address, uint64_t data_base, uint64_t *out);

/* uprobe_cfi_expression.c. `pushed`: what stands on the stack at first, or NULL. */
uprobe_step cfi_evaluate(const uint8_t *expression, size_t size, const uint64_t *pushed, const uprobe_frame *frame,
                         const uprobe_memory *memory, uint64_t *out);

#endif
