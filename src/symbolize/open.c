/* open.c - opens a file named in the trace, which may be a pipe or a device as well */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/elf.h"

void sym_file_close(sym_file *file)
{
    if (file->elf) elf_end(file->elf);
    if (file->elf && file->fd >= 0) close(file->fd);
    free(file->path);
    free(file->memory);
    *file = (sym_file){0};
}

/* Takes ownership of the descriptor, also when it fails. */
bool sym_file_take(sym_file *out, int fd, const char *path)
{
    *out = (sym_file){.fd = fd, .path = strdup(path)};
    out->elf = out->path ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    if (out->elf && elf_kind(out->elf) == ELF_K_ELF) return true;
    if (!out->elf) close(fd);
    sym_file_close(out);
    return false;
}

static bool refuse(hd_symbolize_result *out_result, char why[SYM_WHY_BYTES], hd_symbolize_result result,
                   const char *path, const char *what)
{
    size_t size = strlen(path), most = SYM_WHY_BYTES - 48; /* a long path keeps its tail */
    *out_result = result;
    snprintf(why, SYM_WHY_BYTES, "%s%s: %s", size > most ? "…" : "", size > most ? path + size - most : path, what);
    return false;
}

/* Opening a device or a pipe may have side effects, so the type is checked before. */
bool sym_file_open(sym_file *out, hd_symbolize_result *out_result, char why[SYM_WHY_BYTES], const char *path)
{
    struct stat st;
    *out = (sym_file){0};
    if (stat(path, &st) != 0) {
        bool absent = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
        return refuse(out_result, why, absent ? HD_SYMBOLIZE_NOT_FOUND : HD_SYMBOLIZE_UNREADABLE, path,
                      strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) return refuse(out_result, why, HD_SYMBOLIZE_UNREADABLE, path, "is no regular file");
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return refuse(out_result, why, HD_SYMBOLIZE_UNREADABLE, path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return refuse(out_result, why, HD_SYMBOLIZE_UNREADABLE, path, "is no regular file");
    }
    if (!sym_file_take(out, fd, path))
        return refuse(out_result, why, HD_SYMBOLIZE_UNREADABLE, path, "is not an ELF file");
    return true;
}

bool sym_file_is(Elf *elf, bool *out_has, const uint8_t *build_id, size_t size)
{
    const void *own;
    ssize_t own_size = dwelf_elf_gnu_build_id(elf, &own);
    *out_has = own_size > 0;
    return own_size > 0 && (size_t)own_size == size && memcmp(own, build_id, size) == 0;
}

/* ---- sections ---- */

bool sym_file_section(GElf_Shdr *out, Elf_Scn **out_section, Elf *elf, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        const char *own = gelf_getshdr(section, out) ? elf_strptr(elf, names, out->sh_name) : NULL;
        if (own && strcmp(own, name) == 0) {
            *out_section = section;
            return true;
        }
    }
    return false;
}

bool sym_file_has_symbols(Elf *elf)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB && header.sh_entsize &&
            header.sh_size / header.sh_entsize > 1)
            return true;
    }
    return false;
}

bool sym_file_has_lines(Elf *elf)
{
    GElf_Shdr header;
    Elf_Scn *section;
    return (sym_file_section(&header, &section, elf, ".debug_info") ||
            sym_file_section(&header, &section, elf, ".zdebug_info")) &&
           header.sh_type != SHT_NOBITS && header.sh_size > 0;
}

Dwarf *sym_file_dwarf(Elf *elf)
{
    static const char *const names[] = {".debug_str", ".debug_line_str", ".zdebug_str", ".zdebug_line_str"};
    GElf_Shdr header;
    Elf_Scn *section;
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL); /* which decompresses them */
    for (size_t i = 0; dwarf && i < sizeof names / sizeof *names; i++) {
        Elf_Data *data = sym_file_section(&header, &section, elf, names[i]) ? elf_rawdata(section, NULL) : NULL;
        if (data && data->d_buf && data->d_size) ((char *)data->d_buf)[data->d_size - 1] = '\0';
    }
    return dwarf;
}

/* ---- checksum of .gnu_debuglink ---- */

uint32_t sym_file_crc(int fd)
{
    static const uint32_t nibbles[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                         0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = UINT32_MAX;
    unsigned char bytes[16384];
    off_t at = 0;
    for (ssize_t size; (size = pread(fd, bytes, sizeof bytes, at)) > 0; at += size) {
        for (ssize_t i = 0; i < size; i++) {
            crc ^= bytes[i];
            crc = crc >> 4 ^ nibbles[crc & 15];
            crc = crc >> 4 ^ nibbles[crc & 15];
        }
    }
    return ~crc;
}
