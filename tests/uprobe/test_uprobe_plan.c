/* test_uprobe_plan.c - from what the user names to functions in files; hostile files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/uprobe/cfi.h"
#include "capture/uprobe/plan.h"
#include "capture/uprobe/record.h"
#include "rounds.h"

static const char *library(void)
{
    return getenv("HEDDLE_UPROBE_LIBRARY");
}

static hd_uprobe_plan *plan_for(const char *const *command)
{
    hd_uprobe_plan *plan;
    hd_error err = {0};
    if (hd_uprobe_plan_new(&plan, command, &err) != HD_OK) fail_msg("%s", err.message);
    return plan;
}

static const char *const *own_command(void)
{
    static const char *command[2];
    command[0] = getenv("HEDDLE_UPROBE_PROGRAM");
    return command;
}

static void expect_error(const char *const *command, const char *spec, hd_status status, const char *part)
{
    hd_uprobe_plan *plan = plan_for(command);
    hd_error err = {0};
    assert_int_equal(hd_uprobe_plan_add(plan, spec, &err), status);
    if (!strstr(err.message, part)) fail_msg("\"%s\" has no \"%s\"", err.message, part);
    assert_int_equal(hd_uprobe_plan_count(plan), 0);
    hd_uprobe_plan_free(plan);
}

static void test_plan__a_library_is_found_as_the_dynamic_linker_finds_it(void **state)
{
    hd_uprobe_plan *plan = plan_for(own_command());
    char spec[512];
    (void)state;
    assert_int_equal(hd_uprobe_plan_add(plan, "libuprobe_library.so:launch_kernel", NULL), HD_OK);
    assert_int_equal(hd_uprobe_plan_count(plan), 1);
    hd_uprobe_target target = hd_uprobe_plan_at(plan, 0);
    assert_string_equal(target.symbol, "launch_kernel");
    assert_string_equal(strrchr(target.path, '/'), "/libuprobe_library.so");
    /* The same by its path is no second function, nor is it by a pattern. */
    snprintf(spec, sizeof spec, "%s:launch_kernel", library());
    assert_int_equal(hd_uprobe_plan_add(plan, spec, NULL), HD_OK);
    assert_int_equal(hd_uprobe_plan_count(plan), 1);
    assert_int_equal(hd_uprobe_plan_add(plan, "libuprobe_library.so:launch_*", NULL), HD_OK);
    assert_int_equal(hd_uprobe_plan_count(plan), 5);
    /* The command by its name, of which functions need not be exported; and the C library. */
    assert_int_equal(hd_uprobe_plan_add(plan, "uprobe_program:way_one", NULL), HD_OK);
    assert_int_equal(hd_uprobe_plan_add(plan, "libc.so:qsort", NULL), HD_OK);
    assert_int_equal(hd_uprobe_plan_count(plan), 7);
    hd_uprobe_plan_free(plan);
    /* Without a command what the system has. */
    plan = plan_for(NULL);
    assert_int_equal(hd_uprobe_plan_add(plan, "libc.so.6:qsort", NULL), HD_OK);
    hd_uprobe_plan_free(plan);
}

static void test_plan__what_is_missing_is_said_with_names_near_to_it(void **state)
{
    char spec[512];
    (void)state;
    expect_error(own_command(), "libuprobe_librari.so:launch_kernel", HD_ERR_ARGUMENT, "near: libuprobe_library.so");
    expect_error(own_command(), "libuprobe_library.so:launch_kernal", HD_ERR_ARGUMENT, "near: launch_kernel");
    expect_error(own_command(), "libuprobe_library.so:not_a_function", HD_ERR_ARGUMENT, "defines no function");
    expect_error(own_command(), "libuprobe_library.so:nothing_*", HD_ERR_ARGUMENT, "defines no function");
    expect_error(own_command(), "/nonexistent/lib.so:f", HD_ERR_ARGUMENT, "no such file");
    expect_error(own_command(), "coda", HD_ERR_ARGUMENT, "cuda and hip");
    expect_error(own_command(), "libc.so.6:", HD_ERR_ARGUMENT, "LIB:SYMBOL");
    expect_error(own_command(), ":f", HD_ERR_ARGUMENT, "LIB:SYMBOL");
    expect_error(NULL, "/proc/self/maps:f", HD_ERR_FORMAT, "no ELF file");
    expect_error(NULL, "libc.so.6:*", HD_ERR_LIMIT, "more than 256");
    snprintf(spec, sizeof spec, "%s/README.md:f", getenv("HEDDLE_SOURCE_ROOT"));
    expect_error(NULL, spec, HD_ERR_FORMAT, "no ELF file");
}

static void test_plan__presets_take_their_functions_wherever_they_are(void **state)
{
    hd_uprobe_plan *plan = plan_for(own_command());
    uint32_t found;
    (void)state;
    assert_int_equal(hd_uprobe_plan_add(plan, "cuda", NULL), HD_OK);
    uint32_t before = hd_uprobe_plan_count(plan);
    assert_int_equal(uprobe_plan_look(plan, library(), &found, NULL), HD_OK);
    assert_int_equal(found, 0);
    assert_int_equal(uprobe_plan_look(plan, getenv("HEDDLE_UPROBE_DOUBLE"), &found, NULL), HD_OK);
    assert_int_equal(found, 1);
    assert_string_equal(hd_uprobe_plan_at(plan, before).symbol, "cudaLaunchKernel");
    assert_int_equal(uprobe_plan_look(plan, getenv("HEDDLE_UPROBE_DOUBLE"), &found, NULL), HD_OK);
    assert_int_equal(found, 0);
    hd_uprobe_plan_free(plan);
}

/* ---- hostile files ---- */

static uint8_t *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *out_size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*out_size);
    assert_int_equal(fread(data, 1, *out_size, file), *out_size);
    fclose(file);
    return data;
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 17;
}

/* Everything that is ever asked of a file. Returns how many functions it has. */
static uint64_t use_file(const uint8_t *data, size_t size, uint64_t seed)
{
    uprobe_elf elf;
    uprobe_symbol symbol;
    uint64_t at = 0, count = 0, offset, bytes;
    uint8_t stack[512];
    if (uprobe_elf_read(&elf, data, size, NULL) != HD_OK) return 0;
    for (size_t i = 0; i < sizeof stack; i++) stack[i] = (uint8_t)random_next(&seed);
    for (at = 0; uprobe_elf_next(&elf, &at, &symbol) && count < 200; count++) {
        assert_true(symbol.name_bytes == strnlen(symbol.name, symbol.name_bytes));
        if (uprobe_elf_offset(&elf, symbol.address, &offset)) assert_true(offset < size);
        uprobe_memory memory = {stack, 0x7fff0000, sizeof stack};
        uprobe_frame frame = {.known = UINT64_MAX, .is_interrupted = true};
        for (unsigned i = 0; i < UPROBE_REGISTERS; i++) frame.at[i] = 0x7fff0000 + 8 * i;
        uprobe_cfi_step(NULL, &elf, symbol.address + random_next(&seed) % 32, &frame, &memory);
    }
    for (at = 0; uprobe_elf_dynamic(&elf, 1, &at);) {}
    uprobe_elf_at(&elf, random_next(&seed), &bytes);
    return count;
}

static void test_elf__damaged_files_are_read_as_far_as_they_make_sense(void **state)
{
    size_t size;
    uint8_t *data = read_file(library(), &size), *copy = malloc(size);
    uint64_t seed = hd_test_seed(42);
    (void)state;
    assert_true(use_file(data, size, 1) >= 5);
    for (int round = 0; round < 3000; round++) {
        memcpy(copy, data, size);
        size_t left = round % 3 ? size : random_next(&seed) % size;
        unsigned changes = 1 + (unsigned)(random_next(&seed) % 8);
        for (unsigned i = 0; i < changes; i++) {
            /* Mostly where the tables are. */
            size_t place = random_next(&seed) % (random_next(&seed) % 2 ? size : 1024);
            uint8_t wild[] = {0, 0xff, 0x7f, 0x80, (uint8_t)random_next(&seed)};
            copy[place] = wild[random_next(&seed) % 5];
        }
        uint8_t *exact = malloc(left ? left : 1); /* so that a read beyond is seen */
        memcpy(exact, copy, left);
        use_file(exact, left, seed);
        free(exact);
    }
    free(copy);
    free(data);
}

/* The bytes of .eh_frame changed, with the rest whole: instructions and expressions of every kind. */
static void test_elf__damaged_unwind_tables_lead_nowhere_and_end(void **state)
{
    size_t size;
    uint8_t *data = read_file(library(), &size), *copy = malloc(size);
    uprobe_elf elf;
    uint64_t seed = hd_test_seed(7), bytes;
    (void)state;
    assert_int_equal(uprobe_elf_read(&elf, data, size, NULL), HD_OK);
    assert_true(elf.hdr_bytes > 0);
    const uint8_t *hdr = uprobe_elf_at(&elf, elf.hdr_address, &bytes);
    assert_non_null(hdr);
    for (int round = 0; round < 5000; round++) {
        memcpy(copy, data, size);
        for (int i = 0; i < 6; i++)
            copy[(size_t)(hdr - data) + random_next(&seed) % bytes] = (uint8_t)random_next(&seed);
        use_file(copy, size, seed);
    }
    free(copy);
    free(data);
}

static void test_record__nothing_is_read_beyond_a_records_size(void **state)
{
    uint64_t seed = hd_test_seed(3);
    uint64_t type = UPROBE_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint16_t size = (uint16_t)(sizeof(struct perf_event_header) + random_next(&seed) % 400);
        uint8_t *record = malloc(size);
        uprobe_hit hit;
        uprobe_mapped mapped;
        for (uint16_t i = 0; i < size; i++) record[i] = random_next(&seed) % 3 ? 0 : (uint8_t)random_next(&seed);
        struct perf_event_header header = {round % 2 ? PERF_RECORD_SAMPLE : PERF_RECORD_MMAP2, 0, size};
        memcpy(record, &header, sizeof header);
        uprobe_record_time(record);
        if (uprobe_record_hit(&hit, record, round % 4 ? type : type | PERF_SAMPLE_CALLCHAIN, uprobe_record_registers()))
            assert_true(hit.stack.size <= size && hit.chain_count <= size / 8);
        if (uprobe_record_mapped(&mapped, record)) assert_true(strlen(mapped.path) < size);
        free(record);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan__a_library_is_found_as_the_dynamic_linker_finds_it),
        cmocka_unit_test(test_plan__what_is_missing_is_said_with_names_near_to_it),
        cmocka_unit_test(test_plan__presets_take_their_functions_wherever_they_are),
        cmocka_unit_test(test_elf__damaged_files_are_read_as_far_as_they_make_sense),
        cmocka_unit_test(test_elf__damaged_unwind_tables_lead_nowhere_and_end),
        cmocka_unit_test(test_record__nothing_is_read_beyond_a_records_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
