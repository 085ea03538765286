/* elf_maker.c - small ELF files for tests of what reads symbols */
#include "symbolize/elf_maker.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum { SECTIONS = 12 };

typedef struct maker {
    hd_bytes out, names; /* of sections */
    Elf64_Shdr headers[SECTIONS];
    size_t count;
} maker;

static Elf64_Shdr *section(maker *m, const char *name, uint32_t type, const void *data, size_t size)
{
    Elf64_Shdr *h = &m->headers[m->count++];
    while (m->out.size % 8) hd_bytes_put_u8(&m->out, 0);
    *h = (Elf64_Shdr){.sh_name = (Elf64_Word)m->names.size, .sh_type = type, .sh_offset = m->out.size, .sh_size = size};
    h->sh_addralign = 8;
    hd_bytes_put(&m->names, name, strlen(name) + 1);
    if (data) hd_bytes_put(&m->out, data, size);
    return h;
}

static void add_symbols(maker *m, const elf_symbol *list, bool dynamic)
{
    hd_bytes table = {0}, names = {0};
    Elf64_Sym symbol = {0};
    if (!list) return;
    hd_bytes_put(&table, &symbol, sizeof symbol);
    hd_bytes_put_u8(&names, 0);
    for (; list->name; list++) {
        unsigned binding = list->local ? STB_LOCAL : list->weak ? STB_WEAK : STB_GLOBAL;
        symbol = (Elf64_Sym){.st_name = (Elf64_Word)names.size,
                             .st_info = (unsigned char)ELF64_ST_INFO(binding, list->data ? STT_OBJECT : STT_FUNC),
                             .st_shndx = 1,
                             .st_value = list->start,
                             .st_size = list->size};
        hd_bytes_put(&table, &symbol, sizeof symbol);
        hd_bytes_put(&names, list->name, strlen(list->name) + 1);
    }
    section(m, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, names.data, names.size);
    Elf64_Word strings = (Elf64_Word)m->count - 1;
    Elf64_Shdr *h =
        section(m, dynamic ? ".dynsym" : ".symtab", dynamic ? SHT_DYNSYM : SHT_SYMTAB, table.data, table.size);
    h->sh_link = strings;
    h->sh_entsize = sizeof symbol;
    h->sh_info = 1;
    hd_bytes_deinit(&table);
    hd_bytes_deinit(&names);
}

static void add_build_id(maker *m, const elf_file *file)
{
    hd_bytes note = {0};
    if (!file->build_id) return;
    hd_bytes_put_le(&note, 4, 4);
    hd_bytes_put_le(&note, file->build_id_bytes, 4);
    hd_bytes_put_le(&note, NT_GNU_BUILD_ID, 4);
    hd_bytes_put(&note, "GNU", 4);
    hd_bytes_put(&note, file->build_id, file->build_id_bytes);
    while (note.size % 4) hd_bytes_put_u8(&note, 0);
    Elf64_Shdr *h = section(m, ".note.gnu.build-id", SHT_NOTE, note.data, note.size);
    h->sh_flags = SHF_ALLOC;
    h->sh_addralign = 4;
    hd_bytes_deinit(&note);
}

static void add_link(maker *m, const elf_file *file)
{
    hd_bytes link = {0};
    if (!file->link) return;
    hd_bytes_put(&link, file->link, strlen(file->link) + 1);
    while (link.size % 4) hd_bytes_put_u8(&link, 0);
    hd_bytes_put_le(&link, file->link_crc, 4);
    section(m, ".gnu_debuglink", SHT_PROGBITS, link.data, link.size)->sh_addralign = 4;
    hd_bytes_deinit(&link);
}

uint8_t *elf_make(size_t *out_size, const elf_file *file)
{
    maker m = {.count = 1};
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr)};
    hd_bytes_put(&m.out, &header, sizeof header);
    hd_bytes_put_u8(&m.names, 0);
    Elf64_Shdr *text = section(&m, ".text", SHT_NOBITS, NULL, ELF_TEXT_BYTES);
    text->sh_addr = ELF_TEXT;
    text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    add_build_id(&m, file);
    add_symbols(&m, file->symbols, false);
    add_symbols(&m, file->dynamic, true);
    add_link(&m, file);
    if (file->mini) section(&m, ".gnu_debugdata", SHT_PROGBITS, file->mini, file->mini_bytes);
    Elf64_Shdr *names = section(&m, ".shstrtab", SHT_STRTAB, NULL, 0);
    names->sh_size = m.names.size;
    hd_bytes_put(&m.out, m.names.data, m.names.size);
    while (m.out.size % 8) hd_bytes_put_u8(&m.out, 0);
    header.e_shoff = m.out.size;
    header.e_shnum = (Elf64_Half)m.count;
    header.e_shstrndx = (Elf64_Half)(m.count - 1);
    hd_bytes_put(&m.out, m.headers, m.count * sizeof *m.headers);
    memcpy(m.out.data, &header, sizeof header);
    hd_bytes_deinit(&m.names);
    *out_size = m.out.size;
    return m.out.data;
}

void bytes_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        abort();
    }
}

void elf_write(const char *path, const elf_file *file)
{
    size_t size;
    uint8_t *data = elf_make(&size, file);
    bytes_write(path, data, size);
    free(data);
}
