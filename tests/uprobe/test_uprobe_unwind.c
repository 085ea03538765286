/* test_uprobe_unwind.c - our own stack, unwound from a copy: needs no right at all. And processes by hand-made records
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/uprobe/unwind.h"
#include "rounds.h"

#define NOINLINE __attribute__((noinline, no_sanitize("address", "undefined")))
#define HERE __asm__ volatile("" ::: "memory")

/* ---- ourselves as a process ---- */

static void map_ourselves(uprobe_spaces *spaces)
{
    char line[8192], path[4096], rights[8];
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    assert_non_null(uprobe_spaces_begin(spaces, 1));
    while (fgets(line, sizeof line, file)) {
        unsigned long start, end, offset, inode;
        unsigned major, minor;
        path[0] = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %4095s", &start, &end, rights, &offset, &major, &minor, &inode,
                   path) < 7)
            continue;
        uprobe_mapped mapped = {
            .pid = 1, .start = start, .bytes = end - start, .offset = offset, .inode = inode, .path = path};
        if (strchr(rights, 'x')) uprobe_spaces_map(spaces, &mapped);
    }
    fclose(file);
}

typedef struct caught {
    uprobe_frame frame;
    uint8_t stack[16384];
    uprobe_memory memory;
    uintptr_t returns[3]; /* of the functions below, innermost first */
} caught;

static caught *volatile here;

static void NOINLINE catch_registers(void)
{
    ucontext_t context;
    caught *c = here;
    getcontext(&context);
#if defined(__aarch64__)
    for (unsigned i = 0; i < 31; i++) c->frame.at[i] = context.uc_mcontext.regs[i];
    c->frame.at[UPROBE_STACK_POINTER] = context.uc_mcontext.sp;
    c->frame.pc = context.uc_mcontext.pc;
#else
    static const int places[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 16; i++) c->frame.at[i] = (uint64_t)context.uc_mcontext.gregs[places[i]];
    c->frame.pc = (uint64_t)context.uc_mcontext.gregs[REG_RIP];
#endif
    c->frame.known = (UINT64_C(1) << UPROBE_REGISTERS) - 1;
    const uint8_t *top = (const uint8_t *)(uintptr_t)c->frame.at[UPROBE_STACK_POINTER];
    for (size_t i = 0; i < sizeof c->stack; i++) c->stack[i] = top[i];
    c->memory = (uprobe_memory){c->stack, (uintptr_t)top, sizeof c->stack};
    c->returns[0] = (uintptr_t)__builtin_return_address(0);
    HERE;
}

static void NOINLINE inner(int size)
{
    volatile char room[size + 100]; /* its frame has no fixed size */
    room[size] = 1;
    catch_registers();
    here->returns[1] = (uintptr_t)__builtin_return_address(0) + (room[size] & 0);
    HERE;
}

static void NOINLINE outer(int size)
{
    inner(size);
    here->returns[2] = (uintptr_t)__builtin_return_address(0);
    HERE;
}

static uint64_t process_address(uprobe_process *process, const uprobe_stack_frame *frame)
{
    uint64_t offset;
    for (uint32_t i = 0; i < process->count; i++) {
        const uprobe_mapping *mapping = &process->mappings[i];
        if (mapping->module != frame->module || !frame->module) continue;
        if (!uprobe_elf_offset(&frame->module->elf, frame->address, &offset)) continue;
        if (offset >= mapping->offset && offset - mapping->offset < mapping->end - mapping->start)
            return mapping->start + offset - mapping->offset;
    }
    return frame->address;
}

static void catch_all(uprobe_spaces *spaces, caught *c)
{
    /* A test's stack is near its end: the copy needs so much above. */
    volatile char room[32768];
    room[0] = 1;
    here = c;
    outer(50 + (room[0] & 0));
    map_ourselves(spaces);
    HERE;
}

static void test_unwind__our_own_stack_has_the_callers_that_we_know(void **state)
{
    uprobe_spaces spaces = {0};
    static caught c;
    static uprobe_stack stack;
    (void)state;
    catch_all(&spaces, &c);
    uprobe_process *process = uprobe_spaces_process(&spaces, 1);
    uprobe_unwind(&stack, NULL, process, NULL, &c.frame, &c.memory);
    assert_true(stack.count >= 4);
    for (unsigned i = 0; i < 3; i++) assert_int_equal(process_address(process, &stack.frames[i + 1]), c.returns[i] - 1);
    uprobe_spaces_deinit(&spaces);
}

static void test_unwind__a_copy_that_is_too_short_cuts_the_stack(void **state)
{
    uprobe_spaces spaces = {0};
    static caught c;
    static uprobe_stack stack;
    uint32_t before = 0;
    (void)state;
    catch_all(&spaces, &c);
    uprobe_process *process = uprobe_spaces_process(&spaces, 1);
    for (uint64_t size = 0; size <= sizeof c.stack; size += 512) {
        uprobe_frame frame = c.frame;
        uprobe_memory memory = {c.stack, c.memory.address, size};
        uprobe_unwind(&stack, NULL, process, NULL, &frame, &memory);
        if (size < 1024) assert_int_equal(stack.end, UPROBE_END_CUT);
        assert_true(stack.count >= before);
        before = stack.count;
    }
    assert_true(before >= 4);
    uprobe_spaces_deinit(&spaces);
}

static void test_unwind__wild_registers_and_stacks_end(void **state)
{
    uprobe_spaces spaces = {0};
    static caught c;
    static uprobe_stack stack;
    uint64_t seed = hd_test_seed(5);
    (void)state;
    catch_all(&spaces, &c);
    uprobe_process *process = uprobe_spaces_process(&spaces, 1);
    for (int round = 0; round < 2000; round++) {
        uprobe_frame frame = c.frame;
        uprobe_memory memory = c.memory;
        for (int i = 0; i < 40; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            c.stack[(seed >> 20) % sizeof c.stack] = (uint8_t)(seed >> 50);
        }
        frame.at[(seed >> 30) % UPROBE_REGISTERS] ^= seed >> 40;
        frame.pc = process->mappings[(seed >> 13) % process->count].start + ((seed >> 33) & 0xfff);
        uprobe_unwind(&stack, NULL, process, NULL, &frame, &memory);
        assert_true(stack.count >= 1 && stack.count <= UPROBE_FRAMES_MAX);
    }
    uprobe_spaces_deinit(&spaces);
}

#if defined(__x86_64__)
typedef void trampoline(void (*function)(void));

static void NOINLINE through(void)
{
    inner(50);
    HERE;
}

static void NOINLINE above(trampoline *code)
{
    code(through);
    here->returns[2] = (uintptr_t)__builtin_return_address(0);
    HERE;
}

static void NOINLINE far_above(trampoline *code)
{
    volatile char room[32768];
    room[0] = 1;
    above(code);
    room[1] = room[0];
}

/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret, and with push and pop of %rbp: as CPython's. */
static void test_unwind__pythons_trampolines_have_callers(void **state)
{
    static const uint8_t codes[2][16] = {
        {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3},
        {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3},
    };
    static caught c;
    static uprobe_stack stack;
    (void)state;
    for (int i = 0; i < 2; i++) {
        uprobe_spaces spaces = {0};
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) skip();
        memcpy(page, codes[i], sizeof codes[i]);
        here = &c;
        far_above((trampoline *)(uintptr_t)page);
        map_ourselves(&spaces);
        uprobe_process *process = uprobe_spaces_process(&spaces, 1);
        process->pid = (uint32_t)getpid(); /* whose code is read */
        uprobe_unwind(&stack, NULL, process, NULL, &c.frame, &c.memory);
        assert_true(stack.count >= 6);
        assert_int_equal(stack.frames[3].address, (uintptr_t)page + 5);
        assert_int_equal(process_address(process, &stack.frames[5]), c.returns[2] - 1);
        uprobe_spaces_deinit(&spaces);
        munmap(page, 4096);
    }
}
#endif

/* ---- processes ---- */

static void map_at(uprobe_spaces *spaces, uint32_t pid, uint64_t start, uint64_t bytes, const char *path)
{
    uprobe_mapped mapped = {.pid = pid, .start = start, .bytes = bytes, .offset = start, .path = path};
    uprobe_spaces_map(spaces, &mapped);
}

static void expect_at(const uprobe_spaces *spaces, uint32_t pid, uint64_t address, const char *path)
{
    const uprobe_mapping *mapping = uprobe_process_at(uprobe_spaces_process(spaces, pid), address);
    if (!path) {
        assert_null(mapping);
        return;
    }
    assert_non_null(mapping);
    assert_string_equal(mapping->module->path, path);
    assert_int_equal(mapping->offset - mapping->start, 0); /* so the offset moved with the start */
}

static void test_spaces__a_new_mapping_covers_what_was_there(void **state)
{
    uprobe_spaces spaces = {0};
    (void)state;
    uprobe_spaces_begin(&spaces, 7);
    map_at(&spaces, 7, 0x1000, 0x9000, "a");
    map_at(&spaces, 7, 0x3000, 0x1000, "b");
    expect_at(&spaces, 7, 0x1000, "a");
    expect_at(&spaces, 7, 0x2fff, "a");
    expect_at(&spaces, 7, 0x3000, "b");
    expect_at(&spaces, 7, 0x4000, "a");
    expect_at(&spaces, 7, 0x9fff, "a");
    expect_at(&spaces, 7, 0xa000, NULL);
    map_at(&spaces, 7, 0x2000, 0x7000, "c");
    expect_at(&spaces, 7, 0x1fff, "a");
    expect_at(&spaces, 7, 0x3500, "c");
    expect_at(&spaces, 7, 0x9000, "a");
    expect_at(&spaces, 7, 0xfff, NULL);
    assert_int_equal(uprobe_spaces_process(&spaces, 7)->count, 3);
    assert_int_equal(spaces.module_count, 3);
    uprobe_spaces_deinit(&spaces);
}

static void test_spaces__a_child_has_its_parents_mappings_and_execve_clears_them(void **state)
{
    uprobe_spaces spaces = {0};
    (void)state;
    uprobe_spaces_begin(&spaces, 7);
    map_at(&spaces, 7, 0x1000, 0x1000, "a");
    uprobe_spaces_fork(&spaces, 8, 8, 7, 7);
    expect_at(&spaces, 8, 0x1000, "a");
    map_at(&spaces, 8, 0x1000, 0x1000, "b");
    expect_at(&spaces, 7, 0x1000, "a");
    expect_at(&spaces, 8, 0x1000, "b");
    uprobe_spaces_name(&spaces, 7, 7, "new", true);
    expect_at(&spaces, 7, 0x1000, NULL);
    assert_string_equal(uprobe_spaces_process(&spaces, 7)->name, "new");
    /* A process goes with its last thread, and those of others are not followed. */
    uprobe_spaces_fork(&spaces, 8, 9, 8, 8);
    uprobe_spaces_exit(&spaces, 8, 8);
    assert_non_null(uprobe_spaces_process(&spaces, 8));
    uprobe_spaces_exit(&spaces, 8, 9);
    assert_null(uprobe_spaces_process(&spaces, 8));
    uprobe_spaces_fork(&spaces, 20, 20, 19, 19);
    assert_null(uprobe_spaces_process(&spaces, 20));
    assert_int_equal(spaces.process_count, 2);
    uprobe_spaces_deinit(&spaces);
}

static void test_spaces__a_file_that_is_another_by_now_is_not_used(void **state)
{
    uprobe_spaces spaces = {0};
    struct stat info;
    const char *path = getenv("HEDDLE_UPROBE_LIBRARY");
    uint8_t other[20] = {1, 2, 3};
    (void)state;
    assert_int_equal(stat(path, &info), 0);
    uprobe_spaces_begin(&spaces, 7);
    uprobe_mapped mapped = {.pid = 7, .start = 0x1000, .bytes = 0x1000, .inode = info.st_ino, .path = path};
    assert_non_null(uprobe_module_elf(uprobe_spaces_map(&spaces, &mapped), 7));
    mapped.inode++;
    assert_null(uprobe_module_elf(uprobe_spaces_map(&spaces, &mapped), 7));
    mapped.build_id = other;
    mapped.build_id_bytes = sizeof other;
    assert_null(uprobe_module_elf(uprobe_spaces_map(&spaces, &mapped), 7));
    uprobe_spaces_deinit(&spaces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unwind__our_own_stack_has_the_callers_that_we_know),
        cmocka_unit_test(test_unwind__a_copy_that_is_too_short_cuts_the_stack),
        cmocka_unit_test(test_unwind__wild_registers_and_stacks_end),
#if defined(__x86_64__)
        cmocka_unit_test(test_unwind__pythons_trampolines_have_callers),
#endif
        cmocka_unit_test(test_spaces__a_new_mapping_covers_what_was_there),
        cmocka_unit_test(test_spaces__a_child_has_its_parents_mappings_and_execve_clears_them),
        cmocka_unit_test(test_spaces__a_file_that_is_another_by_now_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
