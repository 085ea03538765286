/* record.c - reading records */
#include "capture/uprobe/record.h"

#include <asm/perf_regs.h>

#include "base/bytes.h"

/* The kernel's number of each of DWARF's registers. */
#if defined(__aarch64__)
static const uint8_t kernel_numbers[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
enum { KERNEL_PC = PERF_REG_ARM64_PC };
#else
static const uint8_t kernel_numbers[] = {
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,  PERF_REG_X86_DI,
    PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
    PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
};
enum { KERNEL_PC = PERF_REG_X86_IP };
#endif
enum { NUMBERS = sizeof kernel_numbers / sizeof *kernel_numbers };

uint64_t uprobe_record_registers(void)
{
    uint64_t mask = UINT64_C(1) << KERNEL_PC;
    for (unsigned i = 0; i < NUMBERS; i++) mask |= UINT64_C(1) << kernel_numbers[i];
    return mask;
}

int64_t uprobe_record_time(const uint8_t *record)
{
    struct perf_event_header header = uprobe_record_header(record);
    bool is_sample = header.type == PERF_RECORD_SAMPLE;
    size_t at = is_sample ? 32 : (size_t)header.size - 24;
    int64_t time;
    if (header.size < (is_sample ? UPROBE_SAMPLE_FIXED : UPROBE_TRAILER + sizeof header)) return 0;
    memcpy(&time, record + at, sizeof time);
    return time;
}

static void read_registers(uprobe_hit *out, hd_byte_reader *reader, uint64_t registers)
{
    uint64_t abi = hd_byte_reader_le(reader, 8), values[64] = {0};
    out->frame = (uprobe_frame){.pc = out->ip};
    if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
    for (unsigned i = 0; i < 64; i++) {
        if (registers >> i & 1) values[i] = hd_byte_reader_le(reader, 8);
    }
    if (abi != PERF_SAMPLE_REGS_ABI_64 || reader->failed) return;
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (!(registers >> kernel_numbers[i] & 1)) continue;
        out->frame.at[i] = values[kernel_numbers[i]];
        out->frame.known |= UINT64_C(1) << i;
    }
}

bool uprobe_record_hit(uprobe_hit *out, const uint8_t *record, uint64_t type, uint64_t registers)
{
    struct perf_event_header header = uprobe_record_header(record);
    hd_byte_reader reader = hd_byte_reader_of(record, header.size);
    *out = (uprobe_hit){0};
    if (header.size < UPROBE_SAMPLE_FIXED) return false;
    hd_byte_reader_take(&reader, sizeof header);
    out->id = hd_byte_reader_le(&reader, 8);
    out->ip = hd_byte_reader_le(&reader, 8);
    out->pid = (uint32_t)hd_byte_reader_le(&reader, 4);
    out->tid = (uint32_t)hd_byte_reader_le(&reader, 4);
    out->time_ns = (int64_t)hd_byte_reader_le(&reader, 8);
    out->cpu = (uint32_t)hd_byte_reader_le(&reader, 8);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        out->chain_count = hd_byte_reader_le(&reader, 8);
        if (out->chain_count > hd_byte_reader_left(&reader) / 8) return false;
        out->chain = hd_byte_reader_take(&reader, out->chain_count * 8);
    }
    if (type & PERF_SAMPLE_REGS_USER) read_registers(out, &reader, registers);
    if (type & PERF_SAMPLE_STACK_USER) {
        uint64_t size = hd_byte_reader_le(&reader, 8);
        const uint8_t *data = hd_byte_reader_take(&reader, size);
        uint64_t used = size ? hd_byte_reader_le(&reader, 8) : 0;
        if (!data || used > size) return false;
        out->stack = (uprobe_memory){data, out->frame.at[UPROBE_STACK_POINTER], used};
    }
    return !reader.failed;
}

bool uprobe_record_mapped(uprobe_mapped *out, const uint8_t *record)
{
    enum { FIXED = 72 };
    struct perf_event_header header = uprobe_record_header(record);
    if (header.size < FIXED + UPROBE_TRAILER) return false;
    const char *path = (const char *)record + FIXED;
    if (!memchr(path, 0, header.size - FIXED - UPROBE_TRAILER)) return false;
    hd_byte_reader reader = hd_byte_reader_of(record + sizeof header, FIXED - sizeof header);
    *out = (uprobe_mapped){.path = path};
    out->pid = (uint32_t)hd_byte_reader_le(&reader, 8);
    out->start = hd_byte_reader_le(&reader, 8);
    out->bytes = hd_byte_reader_le(&reader, 8);
    out->offset = hd_byte_reader_le(&reader, 8);
    if (header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        out->build_id_bytes = (uint32_t)hd_byte_reader_le(&reader, 4) & 0xff;
        out->build_id = hd_byte_reader_take(&reader, 20);
        return out->build_id_bytes <= 20;
    }
    out->device = hd_byte_reader_le(&reader, 8);
    out->inode = hd_byte_reader_le(&reader, 8);
    return true;
}
