/* mini.c - the symbol table in stripped files of Fedora and others: .gnu_debugdata, an ELF file in xz
 *
 * It is decoded into our own buffer, so that its size is bounded.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/elf.h"

#ifdef HD_HAS_LZMA
#include <lzma.h>

static const size_t OUTPUT_LIMIT = (size_t)256 << 20;
static const uint64_t DECODER_LIMIT = UINT64_C(128) << 20;

/* Grows the output: false: too large, or no memory. */
static bool grow(uint8_t **out, size_t *room)
{
    size_t wanted = *room * 4;
    uint8_t *grown = wanted <= OUTPUT_LIMIT ? realloc(*out, wanted) : NULL;
    if (!grown) return false;
    *out = grown;
    *room = wanted;
    return true;
}

/* NULL: it is not xz, or cut, or too large, or there is no memory. */
static void *decode(size_t *out_size, const uint8_t *data, size_t size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    size_t room = size * 2 + 16384; /* with the first grow() as much as symbol tables mostly need */
    uint8_t *out = NULL;
    lzma_ret result = lzma_stream_decoder(&stream, DECODER_LIMIT, 0);
    stream.next_in = data;
    stream.avail_in = size;
    while (result == LZMA_OK && stream.avail_out == 0 && grow(&out, &room)) {
        stream.next_out = out + stream.total_out;
        stream.avail_out = room - (size_t)stream.total_out;
        result = lzma_code(&stream, LZMA_FINISH);
    }
    *out_size = (size_t)stream.total_out;
    lzma_end(&stream);
    if (result == LZMA_STREAM_END) return out;
    free(out);
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
