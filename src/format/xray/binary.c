/* binary.c - the names of functions by number, from the program's section xray_instr_map and its symbols
 *
 * A sled (a place that XRay patches) names its function by address. Functions are numbered from 1 in the order of the
 * sleds, as the runtime does. ELF of 64 bits, little endian.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/demangle/demangle.h"
#include "base/error.h"
#include "format/xray/xray.h"

enum { SLED_BYTES = 32, SLED_VERSION = 18 };

typedef struct section {
    Elf64_Shdr header;
    uint8_t *data;
} section;

typedef struct program {
    hd_pieces pieces;
    Elf64_Ehdr header;
    section names, map, symbols, strings;
    hd_map by_address; /* of symbols, + 1 */
} program;

static hd_status refuse(hd_error *err, const char *path, const char *why)
{
    return hd_error_set(err, HD_ERR_FORMAT, path, HD_OFFSET_NONE, "%s", why);
}

/* ---- sections ---- */

static bool find_section(section *out, const program *p, uint64_t index)
{
    uint64_t size = sizeof out->header, count = p->header.e_shnum, at = p->header.e_shoff;
    if (p->header.e_shentsize != size || index >= count || at > p->pieces.size || count * size > p->pieces.size - at)
        return false;
    return hd_pieces_read(&p->pieces, &out->header, at + index * size, size, NULL) == HD_OK;
}

static bool load_section(section *s, const program *p)
{
    uint64_t at = s->header.sh_offset, size = s->header.sh_size;
    if (s->header.sh_type == SHT_NOBITS || at > p->pieces.size || size > p->pieces.size - at) return false;
    free(s->data);
    s->data = malloc(size + 1);
    if (!s->data || hd_pieces_read(&p->pieces, s->data, at, size, NULL) != HD_OK) return false;
    s->data[size] = 0; /* a last text without an end */
    return true;
}

static const char *text_at(const section *strings, uint64_t at)
{
    return at < strings->header.sh_size ? (const char *)strings->data + at : "";
}

static bool load_sections(program *p)
{
    section found = {0};
    if (!find_section(&p->names, p, p->header.e_shstrndx) || !load_section(&p->names, p)) return false;
    for (uint64_t i = 0; i < p->header.e_shnum && find_section(&found, p, i); i++) {
        const char *name = text_at(&p->names, found.header.sh_name);
        bool is_table = found.header.sh_type == SHT_SYMTAB || (found.header.sh_type == SHT_DYNSYM && !p->symbols.data);
        if (strcmp(name, "xray_instr_map") == 0) {
            p->map.header = found.header;
            if (!load_section(&p->map, p)) return false;
        } else if (is_table && found.header.sh_entsize == sizeof(Elf64_Sym)) {
            p->symbols.header = found.header;
            if (!load_section(&p->symbols, p) || !find_section(&p->strings, p, found.header.sh_link) ||
                !load_section(&p->strings, p))
                return false;
        }
    }
    return p->map.data && p->map.header.sh_size >= SLED_BYTES;
}

/* ---- symbols ---- */

/* Of several at one address, the first one that other files can see. */
static bool index_symbols(program *p)
{
    uint64_t count = p->symbols.data && p->strings.data ? p->symbols.header.sh_size / sizeof(Elf64_Sym) : 0;
    for (uint64_t i = 0; i < count && i < UINT32_MAX; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, p->symbols.data + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
        hd_map_entry *known = hd_map_at(&p->by_address, symbol.st_value, 0);
        if (!known) return false;
        if (!known->value || ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL) known->value = (uint32_t)i + 1;
    }
    return true;
}

static uint32_t name_at(xray_reader *r, const program *p, uint64_t address)
{
    char plain[1 << 16];
    uint32_t index;
    bool cut;
    Elf64_Sym symbol;
    if (!hd_map_get(&index, &p->by_address, address, 0)) {
        snprintf(plain, sizeof plain, "@(%llx)", (unsigned long long)address);
        return hd_builder_intern_text(r->builder, plain);
    }
    memcpy(&symbol, p->symbols.data + (uint64_t)(index - 1) * sizeof symbol, sizeof symbol);
    const char *name = text_at(&p->strings, symbol.st_name);
    size_t size = hd_demangle(plain, sizeof plain, &cut, name, strlen(name));
    return size ? hd_builder_intern(r->builder, plain, size) : hd_builder_intern_text(r->builder, name);
}

/* ---- functions ---- */

static hd_status name_functions(xray_reader *r, const program *p)
{
    uint64_t last = 0, count = p->map.header.sh_size / SLED_BYTES;
    uint32_t number = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *sled = p->map.data + i * SLED_BYTES;
        uint64_t function = hd_le_get(sled + 8, 8);
        if (sled[SLED_VERSION] >= 2) function += p->map.header.sh_addr + i * SLED_BYTES + 8; /* relative to itself */
        if (number && function == last) continue;
        last = function;
        number++;
        uint32_t name = name_at(r, p, function);
        if (number < XRAY_DENSE_NAMES)
            r->names[number] = name;
        else if (!hd_map_set(&r->more_names, number, 0, name))
            return HD_NOMEM(r->err);
    }
    return HD_OK;
}

static hd_status read_program(xray_reader *r, program *p, const char *path, hd_error *err)
{
    Elf64_Ehdr *h = &p->header;
    if (p->pieces.size < sizeof *h) return refuse(err, path, "no ELF file, as programs are");
    HD_TRY(hd_pieces_read(&p->pieces, h, 0, sizeof *h, err));
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0) return refuse(err, path, "no ELF file, as programs are");
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return refuse(err, path, "an ELF file that is not of 64 bits and little endian");
    if (!load_sections(p))
        return refuse(err, path,
                      "has no section xray_instr_map: it was not compiled with -fxray-instrument, or is cut");
    if (!index_symbols(p)) return HD_NOMEM(err);
    return name_functions(r, p);
}

static hd_status load_program(xray_reader *r, const char *path, hd_error *err)
{
    program p = {0};
    hd_input *input;
    HD_TRY(hd_input_open(&input, path, NULL, err));
    hd_status status = hd_pieces_open(&p.pieces, input, err);
    hd_input_close(input);
    if (status == HD_OK) status = read_program(r, &p, path, err);
    hd_pieces_close(&p.pieces);
    hd_map_deinit(&p.by_address);
    section *const all[] = {&p.names, &p.map, &p.symbols, &p.strings};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->data);
    return status;
}

/* The runtime calls a log PREFIX PROGRAM.XXXXXX, and the prefix usually ends with a point. */
static bool load_beside(xray_reader *r, const char *log)
{
    const char *slash = strrchr(log, '/'), *name = slash ? slash + 1 : log, *end = strrchr(name, '.');
    char path[4096];
    for (const char *at = name; end && at && at < end; at = strchr(at, '.'), at += at != NULL) {
        int size = snprintf(path, sizeof path, "%.*s%.*s", (int)(name - log), log, (int)(end - at), at);
        if (size <= 0 || (size_t)size >= sizeof path) continue;
        if (load_program(r, path, NULL) == HD_OK) return true;
    }
    return false;
}

hd_status xray_find_names(xray_reader *r, const hd_input *input)
{
    uint64_t base;
    if (r->options->binary) return load_program(r, r->options->binary, r->err);
    if (hd_input_descriptor(input, &base) >= 0) load_beside(r, hd_input_path(input));
    return HD_OK;
}
