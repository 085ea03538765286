/* table.c - functions of a file by address, from its symbol table */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "symbolize/elf.h"

enum { STEPS_BACK = 64 };

/* ---- reading ---- */

/* Names that compilers and assemblers give to places within functions. */
static bool is_mark(const char *name)
{
    return name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

/* mprotect rather than __mprotect, although the former is weak: it is the name that programs call. */
static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info), binding = GELF_ST_BIND(symbol->st_info), underscores = 0;
    while (underscores < 3 && name[underscores] == '_') underscores++;
    return (uint8_t)((symbol->st_size > 0) << 6 | (type != STT_NOTYPE) << 5 | (binding != STB_LOCAL) << 4 |
                     (3 - underscores) << 2 | (binding == STB_GLOBAL) << 1);
}

/* The section of a function; false: it is none. */
static bool is_function(GElf_Shdr *out, Elf *elf, const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return false;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE) return false;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    if (!section || !gelf_getshdr(section, out)) return false;
    return out->sh_flags & SHF_EXECINSTR && symbol->st_value >= out->sh_addr &&
           symbol->st_value - out->sh_addr < out->sh_size;
}

static bool add_symbol(sym_table *table, Elf *elf, const GElf_Sym *symbol, size_t names)
{
    GElf_Shdr section;
    if (!is_function(&section, elf, symbol)) return true;
    const char *name = elf_strptr(elf, names, symbol->st_name);
    if (!name || !*name || is_mark(name)) return true;
    uint64_t left = section.sh_size - (symbol->st_value - section.sh_addr);
    uint64_t size = symbol->st_size && symbol->st_size < left ? symbol->st_size : left;
    if (!hd_grow((void **)&table->list, &table->capacity, table->count, sizeof *table->list)) return false;
    table->list[table->count++] = (sym_symbol){.start = symbol->st_value,
                                               .end = symbol->st_value + size,
                                               .name = name,
                                               .rank = rank_of(symbol, name),
                                               .is_sized = symbol->st_size > 0};
    return true;
}

static bool load_section(sym_table *table, Elf *elf, unsigned type)
{
    GElf_Shdr header;
    GElf_Sym symbol;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        if (!gelf_getshdr(section, &header) || header.sh_type != type || !header.sh_entsize) continue;
        Elf_Data *data = elf_getdata(section, NULL);
        size_t count = data ? data->d_size / header.sh_entsize : 0;
        for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
            if (!gelf_getsym(data, (int)i, &symbol)) break;
            if (!add_symbol(table, elf, &symbol, header.sh_link)) return false;
        }
    }
    return true;
}

/* ---- order ---- */

static int by_start(const void *a, const void *b)
{
    const sym_symbol *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return strcmp(y->name, x->name); /* so that it does not depend on the order of the file */
}

/* A symbol of unknown size ends where the next begins. */
static bool settle(sym_table *table)
{
    hd_sort(table->list, table->count, sizeof *table->list, by_start);
    table->reach = malloc((table->count + 1) * sizeof *table->reach);
    if (!table->reach) return false;
    uint64_t next = UINT64_MAX, reach = 0;
    for (size_t i = table->count; i-- > 0;) {
        sym_symbol *s = &table->list[i];
        if (i + 1 < table->count && s[1].start > s->start) next = s[1].start;
        if (!s->is_sized && next < s->end) s->end = next;
    }
    for (size_t i = 0; i < table->count; i++) {
        reach = table->list[i].end > reach ? table->list[i].end : reach;
        table->reach[i] = reach;
    }
    return true;
}

bool sym_table_load(sym_table *table, Elf *symbols, Elf *main)
{
    bool fine = !symbols || load_section(table, symbols, SHT_SYMTAB);
    if (!symbols && main) {
        fine = load_section(table, main, SHT_DYNSYM);
        if (fine && sym_mini_open(&table->mini, main)) fine = load_section(table, table->mini.elf, SHT_SYMTAB);
    }
    return fine && (table->count == 0 || settle(table));
}

void sym_table_deinit(sym_table *table)
{
    free(table->list);
    free(table->reach);
    sym_file_close(&table->mini);
    *table = (sym_table){0};
}

/* The last one that begins before the address and ends after it; those without a size only if there is no other: they
 * are labels in assembly functions. */
sym_symbol *sym_table_find(const sym_table *table, uint64_t address)
{
    size_t at = hd_sorted_up_to(address, table->list, table->count, sizeof *table->list);
    sym_symbol *unsized = NULL;
    for (size_t steps = 0; at-- > 0 && steps < STEPS_BACK && table->reach[at] > address; steps++) {
        sym_symbol *s = &table->list[at];
        if (s->end <= address) continue;
        if (s->is_sized) return s;
        if (!unsized) unsized = s;
    }
    return unsized;
}
