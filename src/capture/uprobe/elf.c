/* elf.c - ELF files, 64 bits, little endian, of this machine */
#include "capture/uprobe/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE };
#endif

/* `size` bytes at `offset`, or NULL. */
static const uint8_t *part(const uprobe_elf *elf, uint64_t offset, uint64_t size)
{
    return offset <= elf->size && size <= elf->size - offset ? elf->data + offset : NULL;
}

/* A text of a table, with its end in the table; NULL: none. */
static const char *text_at(const char *strings, uint64_t bytes, uint64_t at)
{
    if (!strings || at >= bytes) return NULL;
    return memchr(strings + at, 0, bytes - at) ? strings + at : NULL;
}

/* ---- segments ---- */

static uint64_t round_up(uint64_t value)
{
    return (value + 3) & ~UINT64_C(3);
}

static void read_notes(uprobe_elf *elf, uint64_t offset, uint64_t size)
{
    const uint8_t *notes = part(elf, offset, size);
    uint64_t at = 0;
    while (notes && !elf->build_id_bytes && size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        uint64_t name = round_up(note.n_namesz), text = round_up(note.n_descsz);
        if (name > size - at || text > size - at - name) return;
        bool is_gnu = note.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0;
        if (is_gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz && note.n_descsz <= UPROBE_BUILD_ID_MAX) {
            memcpy(elf->build_id, notes + at + name, note.n_descsz);
            elf->build_id_bytes = note.n_descsz;
        }
        at += name + text;
    }
}

static void add_load(uprobe_elf *elf, const Elf64_Phdr *header)
{
    uint64_t left = header->p_offset <= elf->size ? elf->size - header->p_offset : 0;
    uint64_t size = header->p_filesz < left ? header->p_filesz : left;
    if (elf->load_count == UPROBE_ELF_LOADS_MAX || !size || header->p_vaddr > UINT64_MAX - size) return;
    elf->loads[elf->load_count++] =
        (uprobe_load){header->p_vaddr, header->p_offset, size, (header->p_flags & PF_X) != 0};
}

static void read_segments(uprobe_elf *elf, const Elf64_Ehdr *file)
{
    for (unsigned i = 0; i < file->e_phnum && file->e_phentsize == sizeof(Elf64_Phdr); i++) {
        uint64_t step = (uint64_t)i * sizeof(Elf64_Phdr);
        const uint8_t *at = file->e_phoff <= elf->size ? part(elf, file->e_phoff + step, sizeof(Elf64_Phdr)) : NULL;
        Elf64_Phdr header;
        if (!at) return;
        memcpy(&header, at, sizeof header);
        switch (header.p_type) {
        case PT_LOAD: add_load(elf, &header); break;
        case PT_NOTE: read_notes(elf, header.p_offset, header.p_filesz); break;
        case PT_GNU_EH_FRAME:
            elf->hdr_address = header.p_vaddr;
            elf->hdr_bytes = header.p_memsz;
            break;
        case PT_DYNAMIC:
            elf->dynamic_offset = header.p_offset;
            elf->dynamic_bytes = part(elf, header.p_offset, header.p_filesz) ? header.p_filesz : 0;
            break;
        default: break;
        }
    }
}

/* ---- symbols ---- */

static bool section_at(const uprobe_elf *elf, const Elf64_Ehdr *file, uint64_t index, Elf64_Shdr *out)
{
    if (index >= file->e_shnum || file->e_shentsize != sizeof *out || file->e_shoff > elf->size) return false;
    const uint8_t *at = part(elf, file->e_shoff + index * sizeof *out, sizeof *out);
    if (!at) return false;
    memcpy(out, at, sizeof *out);
    return true;
}

static void read_symbols(uprobe_elf *elf, const Elf64_Ehdr *file)
{
    Elf64_Shdr section, strings;
    for (unsigned i = 0; section_at(elf, file, i, &section); i++) {
        if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
        uprobe_table *table = &elf->tables[section.sh_type == SHT_SYMTAB];
        if (!section_at(elf, file, section.sh_link, &strings) || strings.sh_type != SHT_STRTAB) continue;
        const uint8_t *symbols = part(elf, section.sh_offset, section.sh_size);
        const uint8_t *texts = part(elf, strings.sh_offset, strings.sh_size);
        if (!symbols || !texts) continue;
        *table = (uprobe_table){symbols, section.sh_size / sizeof(Elf64_Sym), (const char *)texts, strings.sh_size};
    }
}

bool uprobe_elf_next(const uprobe_elf *elf, uint64_t *at, uprobe_symbol *out)
{
    for (;; ++*at) {
        bool is_second = *at >= elf->tables[0].count;
        const uprobe_table *table = &elf->tables[is_second];
        uint64_t index = is_second ? *at - elf->tables[0].count : *at;
        Elf64_Sym symbol;
        if (is_second && index >= table->count) return false;
        memcpy(&symbol, table->symbols + index * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || !symbol.st_value) continue;
        const char *name = text_at(table->strings, table->string_bytes, symbol.st_name);
        if (!name || !*name) continue;
        *out = (uprobe_symbol){symbol.st_value, symbol.st_size, name, strcspn(name, "@")};
        ++*at;
        return true;
    }
}

/* ---- addresses ---- */

const uint8_t *uprobe_elf_at(const uprobe_elf *elf, uint64_t address, uint64_t *out_size)
{
    for (uint32_t i = 0; i < elf->load_count; i++) {
        const uprobe_load *load = &elf->loads[i];
        if (address < load->address || address - load->address >= load->size) continue;
        *out_size = load->size - (address - load->address);
        return elf->data + load->offset + (address - load->address);
    }
    return NULL;
}

bool uprobe_elf_address(const uprobe_elf *elf, uint64_t offset, uint64_t *out_address)
{
    for (uint32_t i = 0; i < elf->load_count; i++) {
        const uprobe_load *load = &elf->loads[i];
        if (!load->executable || offset < load->offset || offset - load->offset >= load->size) continue;
        *out_address = load->address + (offset - load->offset);
        return true;
    }
    return false;
}

bool uprobe_elf_offset(const uprobe_elf *elf, uint64_t address, uint64_t *out_offset)
{
    for (uint32_t i = 0; i < elf->load_count; i++) {
        const uprobe_load *load = &elf->loads[i];
        if (!load->executable || address < load->address || address - load->address >= load->size) continue;
        *out_offset = load->offset + (address - load->address);
        return true;
    }
    return false;
}

/* ---- the dynamic section ---- */

static bool dynamic_at(const uprobe_elf *elf, uint64_t index, Elf64_Dyn *out)
{
    if (index >= elf->dynamic_bytes / sizeof *out) return false;
    memcpy(out, elf->data + elf->dynamic_offset + index * sizeof *out, sizeof *out);
    return out->d_tag != DT_NULL;
}

const char *uprobe_elf_dynamic(const uprobe_elf *elf, int64_t tag, uint64_t *at)
{
    Elf64_Dyn entry;
    uint64_t strings = 0, bytes = 0;
    for (uint64_t i = 0; dynamic_at(elf, i, &entry); i++) {
        if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    }
    const uint8_t *table = uprobe_elf_at(elf, strings, &bytes);
    for (; dynamic_at(elf, *at, &entry); ++*at) {
        const char *text = entry.d_tag == tag ? text_at((const char *)table, bytes, entry.d_un.d_val) : NULL;
        if (!text) continue;
        ++*at;
        return text;
    }
    return NULL;
}

/* ---- files ---- */

hd_status uprobe_elf_read(uprobe_elf *out, const uint8_t *data, uint64_t size, hd_error *err)
{
    Elf64_Ehdr file;
    *out = (uprobe_elf){.data = data, .size = size};
    if (size < sizeof file || memcmp(data, ELFMAG, SELFMAG) != 0)
        return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "no ELF file, as programs and libraries are");
    memcpy(&file, data, sizeof file);
    if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_ident[EI_DATA] != ELFDATA2LSB || file.e_machine != MACHINE)
        return hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "an ELF file of another kind of machine");
    read_segments(out, &file);
    read_symbols(out, &file);
    return HD_OK;
}

hd_status uprobe_elf_open(uprobe_elf *out, const char *path, hd_error *err)
{
    struct stat info;
    *out = (uprobe_elf){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &info)) {
        int why = errno;
        if (fd >= 0) close(fd);
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot open: %s", strerror(why));
    }
    bool is_file = S_ISREG(info.st_mode) && info.st_size > 0;
    void *map = is_file ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED)
        return hd_error_set(err, is_file ? HD_ERR_IO : HD_ERR_FORMAT, path, HD_OFFSET_NONE,
                            is_file ? "cannot be mapped" : "no ELF file, as programs and libraries are");
    hd_status status = uprobe_elf_read(out, map, (uint64_t)info.st_size, err);
    out->map = map;
    out->device = info.st_dev;
    out->inode = info.st_ino;
    if (status == HD_OK) return HD_OK;
    hd_error_set_path(err, path);
    uprobe_elf_close(out);
    return status;
}

void uprobe_elf_close(uprobe_elf *elf)
{
    if (elf->map) munmap(elf->map, elf->size);
    *elf = (uprobe_elf){0};
}
