/* stack_rows.c - rows by address
 *
 * Rows that have been worked out stand in a table of 64-bit words, each a row and what tells its address from others in
 * its set. The set's number and that tag are the product of the address and an odd number, modulo 2^48, which no other
 * address has: so a word is right or is not there, and it is read and written whole, without locks, by any thread and
 * in signal handlers. Rows that do not fit into 30 bits are worked out again each time.
 *
 * The table is this library's only large static memory: 512 KB, of which a program touches what it uses.
 *
 * Where the tables of an address are: _dl_find_object (glibc 2.35 on), which takes no lock; else dl_iterate_phdr.
 */
#include <link.h>
#include <stdatomic.h>

#include "capture/stack_impl.h"

enum { SET_BITS = 14, WAYS = 4, TAG_BITS = 48 - SET_BITS, ROW_BITS = 64 - TAG_BITS };

static struct {
    atomic_uint_least64_t words[1 << SET_BITS][WAYS];
    atomic_uint generation;
} table;

/* ---- packing: kind 3, CFA 2, frame pointer 2, return address 1, CFA's offset 14, frame pointer's 7 ------------ */

enum { CFA_BITS = 14, FP_BITS = 7, OFFSET_UNIT = 8 };

static bool pack_signed(uint64_t *out, int32_t offset, unsigned bits)
{
    int32_t units = offset / OFFSET_UNIT, limit = 1 << (bits - 1);
    *out = *out << bits | ((uint64_t)units & ((1u << bits) - 1));
    return offset % OFFSET_UNIT == 0 && units >= -limit && units < limit;
}

static int32_t unpack_signed(uint64_t *row, unsigned bits)
{
    uint64_t units = *row & ((1u << bits) - 1);
    *row >>= bits;
    return (int32_t)(units << (32 - bits)) >> (32 - bits);
}

/* Where the return address is if not in a register. */
static inline int32_t usual_ra(const stack_row *row)
{
#if defined(__aarch64__)
    return row->fp == STACK_FP_AT_CFA ? row->fp_offset + 8 : -8;
#else
    (void)row;
    return -8;
#endif
}

static bool pack(uint64_t *out, const stack_row *row)
{
    *out = 0;
    if (row->kind == STACK_ROW_STEP) {
        if (!row->ra_in_register && row->ra_offset != usual_ra(row)) return false;
        *out = ((uint64_t)row->cfa << 2 | row->fp) << 1 | row->ra_in_register;
        if (!pack_signed(out, row->cfa_offset, CFA_BITS) || !pack_signed(out, row->fp_offset, FP_BITS)) return false;
    }
    *out = *out << 3 | row->kind;
    return true;
}

static inline stack_row unpack(uint64_t row)
{
    stack_row out = {.kind = row & 7};
    row >>= 3;
    out.fp_offset = unpack_signed(&row, FP_BITS) * OFFSET_UNIT;
    out.cfa_offset = unpack_signed(&row, CFA_BITS) * OFFSET_UNIT;
    out.ra_in_register = row & 1;
    out.fp = row >> 1 & 3;
    out.cfa = row >> 3 & 3;
    out.ra_offset = usual_ra(&out);
    return out;
}

/* ---- tables by address ---------------------------------------------------------------------------------- */

/* glibc's struct dl_find_object, on machines whose unwinder needs no more. */
typedef struct found_object {
    unsigned long long flags;
    void *start, *end, *map, *header;
    unsigned long long reserved[7];
} found_object;

extern int libc_find_object(void *pc, found_object *out) __asm__("_dl_find_object") __attribute__((weak));

typedef struct search {
    uint64_t pc;
    stack_tables tables;
    bool found;
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *user)
{
    search *s = user;
    (void)size;
    const uint8_t *header = NULL;
    uint64_t low = UINT64_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_GNU_EH_FRAME) header = (const uint8_t *)(uintptr_t)start;
        if (segment->p_type != PT_LOAD) continue;
        if (start < low) low = start;
        if (start + segment->p_memsz > high) high = start + segment->p_memsz;
    }
    if (s->pc < low || s->pc >= high) return 0;
    s->found = true;
    s->tables = (stack_tables){(const uint8_t *)(uintptr_t)low, (const uint8_t *)(uintptr_t)high, header};
    return 1;
}

static bool find_tables(stack_tables *out, uint64_t pc)
{
    found_object object;
    search s = {.pc = pc};
    if (&libc_find_object) {
        if (libc_find_object((void *)(uintptr_t)pc, &object)) return false;
        *out = (stack_tables){object.start, object.end, object.header};
        return true;
    }
    dl_iterate_phdr(look_at, &s);
    *out = s.tables;
    return s.found;
}

/* ---- code without tables -------------------------------------------------------------------------------- */

/* libgcc's list of code that programs register as they make it. */
extern const void *_Unwind_Find_FDE(void *pc, void *bases) __attribute__((weak));

#if defined(__x86_64__)
/* Whether the instruction before `at` may be a call. */
static bool is_after_call(const uint8_t *at)
{
    if (at[-5] == 0xe8) return true;
    for (int size = 2; size <= 7; size++) { /* ff /2 with its operand */
        if (at[-size] == 0xff && (at[-size + 1] & 0x38) == 0x10) return true;
    }
    return false;
}

/* What the code after a call does tells how its frame is made: the trampolines that CPython makes for perf, and the one
 * that returns from signal handlers in libcs whose own has no table. */
static bool row_of_code(stack_row *out, const uint8_t *at)
{
    static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; /* mov $15, %rax; syscall */
    *out = (stack_row){.kind = STACK_ROW_STEP, .ra_offset = -8};
    if (at[0] == 0x48 && at[1] == 0x83 && at[2] == 0xc4 && at[3] < 0x80 && at[4] == 0xc3) {
        out->cfa_offset = at[3] + 8; /* add $imm, %rsp; ret */
        return true;
    }
    if (at[0] == 0x5d && at[1] == 0xc3) { /* pop %rbp; ret */
        *out = (stack_row){STACK_ROW_STEP, STACK_CFA_SP, STACK_FP_AT_CFA, false, 16, -16, -8};
        return true;
    }
    if (at[0] == 0xc9 && at[1] == 0xc3) { /* leave; ret */
        *out = (stack_row){STACK_ROW_STEP, STACK_CFA_FP, STACK_FP_AT_CFA, false, 16, -16, -8};
        return true;
    }
    out->kind = STACK_ROW_SIGNAL;
    return memcmp(at, sigreturn, sizeof sigreturn) == 0;
}
#endif

/* A function that the one before it "returns" to, as a stack is made by hand (makecontext): a call is never the last
 * instruction before it, as there is no function. */
static bool is_before_function(const stack_tables *tables, uint64_t pc)
{
    stack_row row;
    return tables->header && stack_cfi_row(&row, tables, pc + 1);
}

static stack_row row_without_tables(uint64_t pc, bool in_module)
{
    stack_row row = {.kind = STACK_ROW_GUESS};
    uint8_t bases[64];
    const uint8_t *fde = !in_module && &_Unwind_Find_FDE ? _Unwind_Find_FDE((void *)(uintptr_t)pc, bases) : NULL;
    stack_tables anywhere = {(const uint8_t *)8, (const uint8_t *)UINTPTR_MAX, NULL};
    if (fde && stack_cfi_row_of(&row, fde, &anywhere, pc)) return row;
    if (!stack_readable((pc & ~UINT64_C(7)) - 8, 32))
        return (stack_row){.kind = in_module ? STACK_ROW_GUESS : STACK_ROW_NO_CODE};
#if defined(__x86_64__)
    const uint8_t *code = (const uint8_t *)(uintptr_t)(pc + 1);
    if (row_of_code(&row, code)) return row;
    row = (stack_row){.kind = in_module || is_after_call(code) ? STACK_ROW_GUESS : STACK_ROW_NO_CODE};
#endif
    return row;
}

/* ---- rows by address ------------------------------------------------------------------------------------ */

static __attribute__((noinline)) stack_row learn(uint64_t pc, atomic_uint_least64_t *set, uint64_t tag)
{
    stack_tables tables;
    stack_row row;
    uint64_t packed;
    unsigned generation = atomic_load(&table.generation), way = 0;
    bool in_module = find_tables(&tables, pc);
    if (!in_module || !tables.header || !stack_cfi_row(&row, &tables, pc)) {
        row = row_without_tables(pc, in_module);
        if (in_module && is_before_function(&tables, pc)) row.kind = STACK_ROW_END;
    }
    if (!set || row.kind == STACK_ROW_NO_CODE || !pack(&packed, &row)) return row;
    while (way < WAYS && atomic_load_explicit(&set[way], memory_order_relaxed)) way++;
    if (way == WAYS) way = tag % WAYS;
    atomic_store(&set[way], tag << ROW_BITS | packed);
    /* If rows were forgotten meanwhile, this one may be of what is not there any more. */
    if (atomic_load(&table.generation) != generation) atomic_store(&set[way], 0);
    return row;
}

stack_row stack_row_of(uint64_t pc, bool *learned)
{
    const uint64_t mask = (UINT64_C(1) << 48) - 1;
    uint64_t hash = pc * UINT64_C(0x9e3779b97f4b) & mask, tag = hash & ((UINT64_C(1) << TAG_BITS) - 1);
    atomic_uint_least64_t *set = table.words[hash >> TAG_BITS];
    if (__builtin_expect(pc > mask, 0)) {
        *learned = true;
        return learn(pc, NULL, 0);
    }
    for (int way = 0; way < WAYS; way++) {
        uint64_t word = atomic_load_explicit(&set[way], memory_order_relaxed);
        if (word >> ROW_BITS == tag && word) return unpack(word & ((UINT64_C(1) << ROW_BITS) - 1));
    }
    *learned = true;
    return learn(pc, set, tag);
}

void stack_rows_forget(void)
{
    atomic_fetch_add(&table.generation, 1);
    for (size_t set = 0; set < sizeof table.words / sizeof *table.words; set++) {
        for (int way = 0; way < WAYS; way++) {
            if (atomic_load_explicit(&table.words[set][way], memory_order_relaxed))
                atomic_store_explicit(&table.words[set][way], 0, memory_order_relaxed);
        }
    }
}
