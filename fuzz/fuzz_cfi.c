/* fuzz_cfi.c - libFuzzer target: any bytes as unwind tables
 *
 * They begin with the header, as .eh_frame_hdr before .eh_frame. Properties: nothing is read beyond them; an entry
 * holds the address that it was asked for; expressions stand in the bytes; both that work rules out, walks of the own
 * stack and those of copies, end.
 */
#include <stdlib.h>

#include "base/unwind/cfi.h"
#include "capture/stack/impl.h"
#include "capture/uprobe/cfi.h"

enum { BASE = 0x100000, ROOM = 4, REGISTERS = 33, FUNCTIONS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void check_rule(const hd_cfi_rule *rule, const hd_cfi_memory *memory)
{
    if (rule->how != HD_CFI_IS_EXPRESSION && rule->how != HD_CFI_AT_EXPRESSION) return;
    require(rule->expression >= memory->data && rule->number >= 0);
    require((uint64_t)rule->number <= memory->size - (uint64_t)(rule->expression - memory->data));
}

static void look_at(const hd_cfi_memory *memory, uint64_t pc)
{
    hd_cfi_rule rows[ROOM][1 + REGISTERS];
    hd_cfi_entry entry;
    uint64_t address;
    if (!hd_cfi_search(&address, memory, BASE, pc) || !hd_cfi_entry_read(&entry, memory, address, pc)) return;
    require(entry.begin <= pc && pc < entry.end);
    if (!hd_cfi_rules(*rows, ROOM, (UINT64_C(1) << REGISTERS) - 1, &entry, pc)) return;
    for (unsigned i = 0; i < 1 + REGISTERS; i++) check_rule(&rows[0][i], memory);
}

static void step_from(const uprobe_elf *elf, uint64_t pc)
{
    static uint8_t stack[1024];
    const uprobe_memory memory = {stack, 0x7fff0000, sizeof stack};
    uprobe_frame frame = {.pc = pc, .known = UINT64_MAX, .is_interrupted = true};
    for (unsigned i = 0; i < UPROBE_REGISTERS; i++) frame.at[i] = memory.address + 8 * i;
    uprobe_cfi_step(NULL, elf, pc, &frame, &memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const hd_cfi_memory memory = {data, BASE, size};
    const stack_tables tables = {data, data + size, data};
    const uprobe_elf elf = {.data = data,
                            .size = size,
                            .loads = {{BASE, 0, size, false}},
                            .load_count = 1,
                            .hdr_address = BASE,
                            .hdr_bytes = size};
    for (unsigned i = 0; i < FUNCTIONS_MAX && size >= 12 && (size - 12) / 8 > i; i++) {
        int32_t start;
        memcpy(&start, data + 12 + (size_t)i * 8, sizeof start);
        for (int more = 0; more < 40; more += 13) {
            stack_row row;
            int64_t distance = (int64_t)start + more;
            look_at(&memory, BASE + (uint64_t)distance);
            stack_cfi_row(&row, &tables, (uintptr_t)data + (uint64_t)distance);
            step_from(&elf, BASE + (uint64_t)distance);
        }
    }
    return 0;
}
