/* elf_maker.h - small ELF files for tests of what reads symbols: sections that are looked at, and no code */
#ifndef HD_TESTS_ELF_MAKER_H
#define HD_TESTS_ELF_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_TEXT = 0x1000, ELF_TEXT_BYTES = 0x10000 }; /* where its code would be */

typedef struct elf_symbol {
    const char *name; /* NULL ends a list */
    uint64_t start, size;
    bool weak, local, data;
} elf_symbol;

typedef struct elf_file {
    const uint8_t *build_id; /* NULL: none */
    size_t build_id_bytes;
    const elf_symbol *symbols; /* .symtab; NULL: none */
    const elf_symbol *dynamic; /* .dynsym; NULL: none */
    const char *link;          /* .gnu_debuglink; NULL: none */
    uint32_t link_crc;
    const void *mini; /* .gnu_debugdata; NULL: none */
    size_t mini_bytes;
} elf_file;

/* The bytes, which the caller frees. */
uint8_t *elf_make(size_t *out_size, const elf_file *file);
/* The same into a file; fails the test if it cannot be written. */
void elf_write(const char *path, const elf_file *file);
void bytes_write(const char *path, const void *data, size_t size);

#endif
