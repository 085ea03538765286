/* rows.c - rows by address
 *
 * Computed rows are cached in a table of 64-bit words, each a row and a tag that identifies its address within its set.
 * Set number and tag are the product of the address and an odd number, modulo 2^48, which is unique per address: so a
 * word is either right or absent, and it is read and written atomically, without locks, by any thread and in signal
 * handlers. Rows that do not fit into 30 bits are computed each time.
 *
 * The table is this library's only large static memory: 512 KB, of which a program touches only the used part.
 *
 * The tables of an address are found by _dl_find_object (glibc 2.35 on), which takes no lock; else by dl_iterate_phdr.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>

#include "capture/stack/impl.h"

stack_table stack_rows;

/* ---- bits ---- */

static bool pack_signed(uint64_t *out, int32_t offset, unsigned at, unsigned bits)
{
    int32_t units = offset / STACK_OFFSET_UNIT, limit = 1 << (bits - 1);
    *out |= ((uint64_t)(int64_t)units & ((UINT64_C(1) << bits) - 1)) << at;
    return offset % STACK_OFFSET_UNIT == 0 && units >= -limit && units < limit;
}

static bool pack(uint64_t *out, const stack_row *row)
{
    *out = (uint64_t)row->kind;
    if (row->kind != STACK_ROW_STEP) return true;
    if (row->cfa_after || (!row->ra_in_register && row->ra_offset != stack_usual_ra(row->fp, row->fp_offset)))
        return false;
    *out |= (uint64_t)row->cfa << 27 | (uint64_t)row->fp << 25 | (uint64_t)row->ra_in_register << 24;
    return pack_signed(out, row->cfa_offset, STACK_CFA_AT, STACK_CFA_BITS) &&
           pack_signed(out, row->fp_offset, STACK_FP_AT, STACK_FP_BITS);
}

/* ---- tables by address ---- */

/* glibc's struct dl_find_object, on machines whose unwinder needs no further members. */
typedef struct found_object {
    unsigned long long flags;
    void *start, *end, *map, *header;
    unsigned long long reserved[7];
} found_object;

/* Looked up once, since this library may be loaded with an older glibc than it was built with. */
static int (*libc_find_object)(void *pc, found_object *out);
__attribute__((constructor)) static void look_up_find_object(void)
{
    *(void **)&libc_find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
}

typedef struct search {
    uint64_t pc;
    stack_tables tables;
    bool found;
} search;

static int match_module(struct dl_phdr_info *info, size_t size, void *user)
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
    if (libc_find_object) {
        if (libc_find_object((void *)(uintptr_t)pc, &object)) return false;
        *out = (stack_tables){object.start, object.end, object.header};
        return true;
    }
    stack_objects(match_module, &s);
    *out = s.tables;
    return s.found;
}

/* ---- code without tables ---- */

/* libgcc's list of code that programs register when they generate it. */
extern const void *_Unwind_Find_FDE(void *pc, void *bases) __attribute__((weak));

#if defined(__x86_64__)
/* Whether the instruction before `at` may be a call. `before` bytes there may be read. */
static bool is_after_call(const uint8_t *at, int before)
{
    if (before >= 5 && at[-5] == 0xe8) return true;
    for (int size = 2; size <= 7 && size <= before; size++) { /* ff /2 with its operand */
        if (at[-size] == 0xff && (at[-size + 1] & 0x38) == 0x10) return true;
    }
    return false;
}

/* The frame pointer is saved right below the return address. */
static stack_row by_frame(stack_cfa cfa)
{
    return (stack_row){
        .kind = STACK_ROW_STEP, .cfa = cfa, .fp = STACK_FP_AT_CFA, .cfa_offset = 16, .fp_offset = -16, .ra_offset = -8};
}

/* Recognises frames by the code after a call: the trampolines that CPython makes for perf, and the signal return
 * trampoline of libcs that have no table for it. */
static bool row_of_code(stack_row *out, const uint8_t *at)
{
    static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; /* mov $15, %rax; syscall */
    *out = (stack_row){.kind = STACK_ROW_STEP, .ra_offset = -8};
    if (at[0] == 0x48 && at[1] == 0x83 && at[2] == 0xc4 && at[3] < 0x80 && at[4] == 0xc3) {
        out->cfa_offset = at[3] + 8; /* add $imm, %rsp; ret */
        return true;
    }
    if (at[0] == 0x5d && at[1] == 0xc3) { /* pop %rbp; ret */
        *out = by_frame(STACK_CFA_SP);
        return true;
    }
    if (at[0] == 0xc9 && at[1] == 0xc3) { /* leave; ret */
        *out = by_frame(STACK_CFA_FP);
        return true;
    }
    out->kind = STACK_ROW_SIGNAL;
    return memcmp(at, sigreturn, sizeof sigreturn) == 0;
}
#elif defined(__aarch64__)
/* The kernel's own signal return trampoline, which has no table from Linux 5.8 on and is recognised by its code: mov
 * x8, #139; svc #0. */
static bool row_of_code(stack_row *out, const uint8_t *at)
{
    static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
    *out = (stack_row){.kind = STACK_ROW_SIGNAL};
    return memcmp(at, sigreturn, sizeof sigreturn) == 0;
}
#endif

/* A function entered by a "return" from a hand-made stack (makecontext): there is no call instruction before it, since
 * no function is there. */
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
    if (fde && stack_cfi_row_of(&row, (uintptr_t)fde, &anywhere, pc)) return row;
    uint64_t start = pc & ~UINT64_C(7);
    if (!stack_readable(start, 24)) return (stack_row){.kind = in_module ? STACK_ROW_GUESS : STACK_ROW_NO_CODE};
#if STACK_SUPPORTED
    const uint8_t *code = (const uint8_t *)(uintptr_t)(pc + 1);
    if (row_of_code(&row, code)) return row;
    row = (stack_row){.kind = STACK_ROW_GUESS};
#endif
#if defined(__x86_64__)
    int before = stack_readable(start - 8, 8) ? 8 : (int)(pc + 1 - start);
    row = (stack_row){.kind = in_module || is_after_call(code, before) ? STACK_ROW_GUESS : STACK_ROW_NO_CODE};
#endif
    return row;
}

/* ---- rows by address ---- */

static void keep(uint64_t pc, uint64_t bits, unsigned generation)
{
    uint64_t hash = stack_hash(pc), tag = hash & ((UINT64_C(1) << STACK_TAG_BITS) - 1);
    atomic_uint_least64_t *set = stack_rows.words[hash >> STACK_TAG_BITS];
    unsigned way = 0;
    while (way < STACK_WAYS && atomic_load_explicit(&set[way], memory_order_relaxed)) way++;
    if (way == STACK_WAYS) way = tag % STACK_WAYS;
    atomic_store(&set[way], tag << STACK_ROW_BITS | bits);
    /* If rows were dropped meanwhile, this one may be of unmapped code. */
    if (atomic_load(&stack_rows.generation) != generation) atomic_store(&set[way], 0);
}

stack_row stack_row_learn(uint64_t pc)
{
    stack_tables tables;
    stack_row row;
    uint64_t bits;
    unsigned generation = atomic_load(&stack_rows.generation);
    bool in_module = find_tables(&tables, pc);
    if (!in_module || !tables.header || !stack_cfi_row(&row, &tables, pc)) {
        row = row_without_tables(pc, in_module);
        if (in_module && row.kind != STACK_ROW_SIGNAL && is_before_function(&tables, pc)) row.kind = STACK_ROW_END;
    }
    if (pc >> 48 == 0 && row.kind != STACK_ROW_NO_CODE && pack(&bits, &row)) keep(pc, bits, generation);
    return row;
}

void stack_rows_forget(void)
{
    atomic_fetch_add(&stack_rows.generation, 1);
    for (size_t set = 0; set < sizeof stack_rows.words / sizeof *stack_rows.words; set++) {
        for (int way = 0; way < STACK_WAYS; way++) {
            if (atomic_load_explicit(&stack_rows.words[set][way], memory_order_relaxed))
                atomic_store_explicit(&stack_rows.words[set][way], 0, memory_order_relaxed);
        }
    }
}
