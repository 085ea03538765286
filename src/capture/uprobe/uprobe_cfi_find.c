/* uprobe_cfi_find.c - which entry of .eh_frame tells of an address */
#include <string.h>

#include "capture/uprobe/uprobe_cfi_impl.h"

/* How addresses are written: the low four bits are the size, the next three what they are relative to. */
enum {
    AS_ABSOLUTE = 0,
    AS_UDATA2 = 2,
    AS_UDATA4 = 3,
    AS_UDATA8 = 4,
    AS_ULEB = 1,
    AS_SLEB = 9,
    AS_SDATA2 = 10,
    AS_SDATA4 = 11,
    AS_SDATA8 = 12,
    RELATIVE_TO = 0x70,
    TO_ITSELF = 0x10,
    TO_DATA = 0x30,
    INDIRECT = 0x80,
    AS_TABLE = TO_DATA | AS_SDATA4,
    OMITTED = 0xff,
};

bool cfi_pointer(hd_byte_reader *reader, uint8_t encoding, uint64_t address, uint64_t data_base, uint64_t *out)
{
    uint64_t value;
    *out = 0;
    if (encoding == OMITTED) return true;
    switch (encoding & 15) {
    case AS_ULEB: value = hd_byte_reader_varint(reader); break;
    case AS_SLEB: value = (uint64_t)cfi_signed(reader); break;
    case AS_UDATA2: value = hd_byte_reader_le(reader, 2); break;
    case AS_SDATA2: value = (uint64_t)(int64_t)(int16_t)hd_byte_reader_le(reader, 2); break;
    case AS_UDATA4: value = hd_byte_reader_le(reader, 4); break;
    case AS_SDATA4: value = (uint64_t)(int64_t)(int32_t)hd_byte_reader_le(reader, 4); break;
    case AS_ABSOLUTE:
    case AS_UDATA8:
    case AS_SDATA8: value = hd_byte_reader_le(reader, 8); break;
    default: return false;
    }
    switch (encoding & RELATIVE_TO) {
    case 0: break;
    case TO_ITSELF: value += address; break;
    case TO_DATA: value += data_base; break;
    default: return false;
    }
    *out = value;
    return !reader->failed;
}

/* ---- the sorted table of .eh_frame_hdr ------------------------------------------------------------------- */

static int32_t table_value(const uint8_t *table, uint64_t row, unsigned column)
{
    int32_t value;
    memcpy(&value, table + row * 8 + column * 4, sizeof value);
    return value;
}

static bool look_up(const uprobe_elf *elf, uint64_t pc, uint64_t *out_entry)
{
    uint64_t size, frames, count;
    const uint8_t *hdr = elf->hdr_bytes ? uprobe_elf_at(elf, elf->hdr_address, &size) : NULL;
    if (!hdr || size < 8) return false;
    if (size > elf->hdr_bytes) size = elf->hdr_bytes;
    hd_byte_reader reader = hd_byte_reader_of(hdr, size);
    const uint8_t *how = hd_byte_reader_take(&reader, 4);
    if (!how || how[0] != 1 || how[3] != AS_TABLE) return false;
    if (!cfi_pointer(&reader, how[1], elf->hdr_address + reader.at, elf->hdr_address, &frames) ||
        !cfi_pointer(&reader, how[2], elf->hdr_address + reader.at, elf->hdr_address, &count))
        return false;
    const uint8_t *table = hdr + reader.at;
    uint64_t low = 0, high = hd_byte_reader_left(&reader) / 8;
    if (high > count) high = count;
    int64_t wanted = (int64_t)(pc - elf->hdr_address);
    while (low < high) { /* the first row behind pc */
        uint64_t middle = low + (high - low) / 2;
        if (table_value(table, middle, 0) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return false;
    *out_entry = elf->hdr_address + (uint64_t)(int64_t)table_value(table, low - 1, 1);
    return true;
}

/* ---- entries --------------------------------------------------------------------------------------------- */

/* A length and so many bytes; *out_address: of the first of them. */
static bool record_at(const uprobe_elf *elf, uint64_t address, hd_byte_reader *out, uint64_t *out_address)
{
    uint64_t size;
    const uint8_t *data = uprobe_elf_at(elf, address, &size);
    if (!data || size < 8) return false;
    uint64_t length = hd_byte_reader_le(&(hd_byte_reader){.data = data, .size = 4}, 4);
    if (length < 4 || length >= 0xfffffff0 || length > size - 4) return false;
    *out = hd_byte_reader_of(data + 4, length);
    *out_address = address + 4;
    return true;
}

/* The augmentation: letters that say what else stands in the entry. */
static bool read_augmentation(cfi_entry *out, const char *letters, hd_byte_reader *reader, uint64_t address)
{
    uint64_t ignored, size;
    if (!*letters) return true;
    if (*letters != 'z') return false;
    out->has_sizes = true;
    size = hd_byte_reader_varint(reader);
    if (reader->failed || size > hd_byte_reader_left(reader)) return false;
    size_t end = reader->at + size;
    for (letters++; *letters; letters++) {
        uint8_t encoding;
        if (*letters == 'R') {
            out->encoding = hd_byte_reader_u8(reader);
        } else if (*letters == 'L') {
            hd_byte_reader_u8(reader);
        } else if (*letters == 'P') {
            encoding = hd_byte_reader_u8(reader);
            if (!cfi_pointer(reader, encoding, address + reader->at, 0, &ignored)) return false;
        } else if (*letters == 'S') {
            out->is_signal = true;
        } else if (*letters != 'B' && *letters != 'G') {
            break; /* the size tells where it ends */
        }
    }
    if (reader->failed) return false;
    reader->at = end;
    return true;
}

static bool read_common(const uprobe_elf *elf, uint64_t address, cfi_entry *out)
{
    hd_byte_reader reader;
    uint64_t at;
    if (!record_at(elf, address, &reader, &at) || hd_byte_reader_le(&reader, 4) != 0) return false;
    uint8_t version = hd_byte_reader_u8(&reader);
    const char *letters = (const char *)reader.data + reader.at;
    if ((version != 1 && version != 3) || !memchr(letters, 0, hd_byte_reader_left(&reader))) return false;
    reader.at += strlen(letters) + 1;
    out->code_step = hd_byte_reader_varint(&reader);
    out->data_step = cfi_signed(&reader);
    out->return_register = version == 1 ? hd_byte_reader_u8(&reader) : hd_byte_reader_varint(&reader);
    if (reader.failed || !read_augmentation(out, letters, &reader, at)) return false;
    out->common = hd_byte_reader_of(reader.data + reader.at, hd_byte_reader_left(&reader));
    return out->return_register < UPROBE_REGISTERS;
}

bool cfi_find(const uprobe_elf *elf, uint64_t pc, cfi_entry *out)
{
    hd_byte_reader reader;
    uint64_t entry, at, bytes;
    *out = (cfi_entry){0};
    if (!look_up(elf, pc, &entry) || !record_at(elf, entry, &reader, &at)) return false;
    uint64_t back = hd_byte_reader_le(&reader, 4);
    if (!back || !read_common(elf, at - back, out)) return false;
    if (!cfi_pointer(&reader, out->encoding & (uint8_t)~INDIRECT, at + reader.at, elf->hdr_address, &out->begin) ||
        !cfi_pointer(&reader, out->encoding & 15, 0, 0, &bytes))
        return false;
    out->end = out->begin + bytes;
    if (pc < out->begin || pc >= out->end) return false;
    if (out->has_sizes) {
        uint64_t size = hd_byte_reader_varint(&reader);
        if (!hd_byte_reader_take(&reader, size)) return false;
    }
    out->own = hd_byte_reader_of(reader.data + reader.at, hd_byte_reader_left(&reader));
    return !reader.failed;
}
