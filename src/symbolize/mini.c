/* mini.c - the symbol table that Fedora and others put into stripped files: .gnu_debugdata, an ELF file in xz
 *
 * It decodes into a buffer of ours, so that there is a bound to it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/elf.h"

#ifdef HD_HAS_LZMA
#include <lzma.h>

static const size_t OUTPUT_LIMIT = (size_t)256 << 20;
static const uint64_t DECODER_LIMIT = UINT64_C(128) << 20;

/* NULL: it is no xz, too large, or there is no memory. */
static void *decode(size_t *out_size, const uint8_t *data, size_t size)
{
    for (size_t room = size * 8 + 65536; room <= OUTPUT_LIMIT; room *= 4) {
        uint64_t limit = DECODER_LIMIT;
        size_t at = 0;
        uint8_t *out = malloc(room);
        *out_size = 0;
        lzma_ret result =
            out ? lzma_stream_buffer_decode(&limit, 0, NULL, data, &at, size, out, out_size, room) : LZMA_MEM_ERROR;
        if (result == LZMA_OK) return out;
        free(out);
        if (result != LZMA_BUF_ERROR) return NULL;
    }
    return NULL;
}

bool sym_mini_open(sym_file *out, Elf *elf)
{
    GElf_Shdr header;
    Elf_Scn *section;
    size_t size;
    *out = (sym_file){.fd = -1};
    if (!sym_file_section(&header, &section, elf, ".gnu_debugdata") || header.sh_type == SHT_NOBITS) return false;
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size > OUTPUT_LIMIT / 8) return false;
    out->memory = decode(&size, data->d_buf, data->d_size);
    out->elf = out->memory ? elf_memory(out->memory, size) : NULL;
    if (out->elf && elf_kind(out->elf) == ELF_K_ELF) return true;
    sym_file_close(out);
    return false;
}
#else
bool sym_mini_open(sym_file *out, Elf *elf)
{
    (void)elf;
    *out = (sym_file){.fd = -1};
    return false;
}
#endif
