/* Files of symbols that are cut or damaged anywhere: names or none, and nothing else. */
#include "symbolize/symbolize_text.h"

#include <elf.h>
#include <unistd.h>

#include "symbolize/elf_maker.h"

static char path[64];

static void ask(const void *data, size_t size)
{
    static char json[4096];
    unlink(path); /* ext4 writes a file to the disk at once that was cut to nothing and filled again */
    bytes_write(path, data, size);
    snprintf(json, sizeof json,
             "{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(2, "2") "," SAMPLE(
                 3, "3") "],\"modules\":[{\"name\":\"m\",\"path\":"
                         "\"%s\"}],\"stackFrames\":{" FRAME(1, "m+0x1004") "," FRAME(2, "m+0x1124") "," FRAME(
                             3, "m+0xffffffffffffffff") "}}",
             path);
    hd_trace *out = named(trace_of(json), NULL, &(hd_symbolize_options){.lines = true, .threads = 1});
    hd_trace_free(out);
}

static void damage(const uint8_t *data, size_t size, size_t step, unsigned seed)
{
    static const uint8_t values[] = {0x00, 0xff, 0x7f, 0x80};
    uint8_t *copy = malloc(size);
    for (size_t at = 0; at < size; at += step) ask(data, at);
    for (size_t at = 0; at < size; at += 1 + (size_t)rand_r(&seed) % step) {
        memcpy(copy, data, size);
        copy[at] = values[(size_t)rand_r(&seed) % sizeof values];
        if (rand_r(&seed) % 2 && at + 8 < size) memset(copy + at, 0xff, 8);
        ask(copy, size);
    }
    free(copy);
}

static void test_symbolize_hostile__tables_of_symbols(NO_STATE)
{
    static const uint8_t id[] = {1, 2, 3, 4};
    static const elf_symbol symbols[] = {{.name = "first", .start = 0x1000, .size = 0x20},
                                         {.name = "_ZN2ns5outerEi", .start = 0x1120, .size = 0x20},
                                         {0}};
    const elf_file file = {.build_id = id, .build_id_bytes = 4, .symbols = symbols, .dynamic = symbols, .link = "x"};
    size_t size;
    uint8_t *data = elf_make(&size, &file);
    damage(data, size, 3, 1);
    free(data);
}

/* A library of the compiler's. */
static size_t read_sample(uint8_t *data, size_t capacity)
{
    FILE *file = fopen(SAMPLE_PATH, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, capacity, file);
    fclose(file);
    assert_true(size > 1000 && size < capacity);
    return size;
}

/* Headers and DWARF are hit most. */
static void test_symbolize_hostile__dwarf(NO_STATE)
{
    static uint8_t data[1 << 20];
    size_t size = read_sample(data, sizeof data);
    damage(data, size, size / 250, 2);
}

/* Texts that go on behind the end of their section: each section's last byte is another one. */
static void test_symbolize_hostile__ends_of_sections(NO_STATE)
{
    static uint8_t data[1 << 20];
    size_t size = read_sample(data, sizeof data);
    Elf64_Ehdr head;
    memcpy(&head, data, sizeof head);
    assert_true(head.e_shnum > 20);
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, data + head.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_NOBITS || !section.sh_size) continue;
        uint8_t *last = data + section.sh_offset + section.sh_size - 1, old = *last;
        *last = 'x';
        ask(data, size);
        *last = old;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbolize_hostile__tables_of_symbols),
        cmocka_unit_test(test_symbolize_hostile__dwarf),
        cmocka_unit_test(test_symbolize_hostile__ends_of_sections),
    };
    snprintf(path, sizeof path, "/tmp/heddle-hostile-%ld", (long)getpid());
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return result;
}
