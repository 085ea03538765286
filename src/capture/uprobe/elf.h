/* elf.h - data of an ELF file for uprobes: functions, build-id, unwind tables
 *
 * Files may be hostile: each offset is checked before it is used, and invalid parts are ignored. The file stays mapped;
 * truncating it meanwhile raises SIGBUS here, as it would in the program that runs it.
 */
#ifndef HD_CAPTURE_UPROBE_ELF_H
#define HD_CAPTURE_UPROBE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

enum { UPROBE_ELF_LOADS_MAX = 32, UPROBE_BUILD_ID_MAX = 64 };

typedef struct uprobe_load {
    uint64_t address, offset, size; /* in the file */
    bool executable;
} uprobe_load;

typedef struct uprobe_table {
    const uint8_t *symbols; /* of 24 bytes; may be unaligned */
    uint64_t count;
    const char *strings;
    uint64_t string_bytes;
} uprobe_table;

typedef struct uprobe_elf {
    const uint8_t *data;
    uint64_t size;
    void *map;
    uint64_t device, inode;
    uprobe_load loads[UPROBE_ELF_LOADS_MAX];
    uint32_t load_count;
    uprobe_table tables[2]; /* .dynsym, .symtab; empty where missing */
    uint8_t build_id[UPROBE_BUILD_ID_MAX];
    uint32_t build_id_bytes;
    uint64_t hdr_address;    /* .eh_frame_hdr; 0 bytes: none */
    uint64_t dynamic_offset; /* in the file */
    uint64_t hdr_bytes, dynamic_bytes;
} uprobe_elf;

/* Errors: IO; FORMAT, no ELF file of this machine's kind. Zero-initialised or failed ones may be closed. */
hd_status uprobe_elf_open(uprobe_elf *out, const char *path, hd_error *err);
/* The same for borrowed bytes; for tests and for code in memory. */
hd_status uprobe_elf_read(uprobe_elf *out, const uint8_t *data, uint64_t size, hd_error *err);
void uprobe_elf_close(uprobe_elf *elf);

/* The bytes of the file at an address of its own, and how many follow in the same segment; NULL: none. */
const uint8_t *uprobe_elf_at(const uprobe_elf *elf, uint64_t address, uint64_t *out_size);
/* Between an offset in the file and an address of its own, of executable segments; false: none. */
bool uprobe_elf_address(const uprobe_elf *elf, uint64_t offset, uint64_t *out_address);
bool uprobe_elf_offset(const uprobe_elf *elf, uint64_t address, uint64_t *out_offset);

/* A function that the file defines. The name ends at its terminator or at the '@' of a version: size bytes. */
typedef struct uprobe_symbol {
    uint64_t address, bytes;
    const char *name;
    size_t name_bytes;
} uprobe_symbol;

/* Iterates over the functions: *at begins at 0. false: no more. */
bool uprobe_elf_next(const uprobe_elf *elf, uint64_t *at, uprobe_symbol *out);

/* The texts of the dynamic section with this tag (DT_NEEDED, DT_RUNPATH …), likewise; NULL: no more. */
const char *uprobe_elf_dynamic(const uprobe_elf *elf, int64_t tag, uint64_t *at);

#endif
