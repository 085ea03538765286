/* cfi.c - unwind tables: search, entries, and the instructions that make the rules of an address */
#include "base/unwind/cfi.h"
#include "base/sorted.h"

/* ---- numbers ---- */

/* Encoding of addresses: the low four bits are the size, the next three the base. */
enum {
    AS_8_BYTES,
    AS_LEB,
    AS_2_BYTES,
    AS_4_BYTES,
    AS_8_BYTES_TOO,
    AS_SIZE = 7,
    AS_SIGNED = 8,
    TO_ITSELF = 0x10,
    TO_ANY = 0xf0,
    AS_TABLE = 0x3b, /* 4 bytes, signed, relative to the header */
    OMITTED = 0xff,
};

/* `address` is that of the reader's data. Addresses relative to any other base occur only in fields that are
 * skipped. */
static uint64_t read_pointer(hd_byte_reader *r, uint8_t encoding, uint64_t address)
{
    uint64_t value, place = address + r->at;
    bool is_signed = encoding & AS_SIGNED;
    if (encoding == OMITTED) return 0;
    switch (encoding & AS_SIZE) {
    case AS_8_BYTES:
    case AS_8_BYTES_TOO: value = hd_byte_reader_le(r, 8); break;
    case AS_LEB: value = is_signed ? (uint64_t)hd_byte_reader_sleb(r) : hd_byte_reader_varint(r); break;
    case AS_2_BYTES:
        value = hd_byte_reader_le(r, 2);
        if (is_signed) value = (uint64_t)(int16_t)value;
        break;
    case AS_4_BYTES:
        value = hd_byte_reader_le(r, 4);
        if (is_signed) value = (uint64_t)(int32_t)value;
        break;
    default: r->failed = true; return 0;
    }
    return value && (encoding & TO_ANY) == TO_ITSELF ? value + place : value;
}

bool hd_cfi_constant(uint64_t *out, uint8_t operation, hd_byte_reader *reader)
{
    if (operation >= HD_CFI_OP_LIT0 && operation <= HD_CFI_OP_LIT31) {
        *out = (uint64_t)operation - HD_CFI_OP_LIT0;
    } else if (operation >= HD_CFI_OP_CONST1U && operation <= HD_CFI_OP_CONST8S) {
        unsigned kind = operation - HD_CFI_OP_CONST1U, width = 1u << kind / 2;
        *out = hd_byte_reader_le(reader, width);
        if (kind & 1) *out = (uint64_t)((int64_t)(*out << (64 - 8 * width)) >> (64 - 8 * width));
    } else if (operation == HD_CFI_OP_CONSTU) {
        *out = hd_byte_reader_varint(reader);
    } else if (operation == HD_CFI_OP_CONSTS) {
        *out = (uint64_t)hd_byte_reader_sleb(reader);
    } else {
        return false;
    }
    return true;
}

/* ---- search ---- */

static inline hd_byte_reader reader_at(const hd_cfi_memory *memory, uint64_t address)
{
    uint64_t at = address - memory->address;
    if (address < memory->address || at > memory->size) return (hd_byte_reader){.failed = true};
    return (hd_byte_reader){.data = memory->data, .size = memory->size, .at = at};
}

static int64_t table_value(const uint8_t *table, uint64_t row, unsigned column)
{
    int32_t value;
    memcpy(&value, table + row * 8 + column * 4, sizeof value);
    return value;
}

bool hd_cfi_search(uint64_t *out, const hd_cfi_memory *memory, uint64_t header, uint64_t pc)
{
    hd_byte_reader r = reader_at(memory, header);
    const uint8_t *how = hd_byte_reader_take(&r, 4); /* version; the encodings of .eh_frame, the count, the table */
    if (!how || how[0] != 1 || how[3] != AS_TABLE) return false;
    read_pointer(&r, how[1], memory->address);
    uint64_t count = read_pointer(&r, how[2], memory->address);
    if (r.failed || count > hd_byte_reader_left(&r) / 8) return false;
    const uint8_t *table = r.data + r.at;
    int64_t wanted = (int64_t)(pc - header);
    uint64_t low = 0, high = count;
    HD_PARTITION_POINT(low, high, at, table_value(table, at, 0) <= wanted); /* the first row after pc */
    if (!low) return false;
    *out = header + (uint64_t)table_value(table, low - 1, 1);
    return true;
}

/* ---- entries ---- */

/* A reader of a record: a length and that many bytes. */
static inline hd_byte_reader record_at(const hd_cfi_memory *memory, uint64_t address)
{
    hd_byte_reader r = reader_at(memory, address);
    uint64_t length = hd_byte_reader_le(&r, 4);
    if (r.failed || length > hd_byte_reader_left(&r)) return (hd_byte_reader){.failed = true};
    r.size = r.at + length;
    return r;
}

/* A reader of a block, which is consumed: a length and that many bytes. */
static inline hd_byte_reader take_block(hd_byte_reader *r)
{
    uint64_t length = hd_byte_reader_varint(r);
    hd_byte_reader block = *r;
    if (!hd_byte_reader_take(r, length)) return (hd_byte_reader){.failed = true};
    block.size = r->at;
    return block;
}

/* The letters that list the further fields of the entry. */
static bool read_augmentation(hd_cfi_entry *out, const char *letters, hd_byte_reader *r)
{
    if (!*letters) return true;
    if (*letters != 'z') return false;
    out->has_sizes = true;
    hd_byte_reader data = take_block(r);
    for (letters++; *letters; letters++) {
        if (*letters == 'R')
            out->encoding = hd_byte_reader_u8(&data);
        else if (*letters == 'L')
            hd_byte_reader_u8(&data);
        else if (*letters == 'P')
            read_pointer(&data, hd_byte_reader_u8(&data), out->address);
        else if (*letters == 'S')
            out->is_signal = true;
        else if (*letters != 'B' && *letters != 'G') /* aarch64: signed with the B key, tagged */
            break;                                   /* the augmentation size says where it ends */
    }
    /* Code addresses are absolute, or relative to their own position. */
    return !data.failed && !(out->encoding & TO_ANY & ~TO_ITSELF);
}

static bool read_common(hd_cfi_entry *out, const hd_cfi_memory *memory, uint64_t address)
{
    hd_byte_reader r = record_at(memory, address);
    uint64_t id = hd_byte_reader_le(&r, 4);
    uint8_t version = hd_byte_reader_u8(&r);
    if (r.failed || id != 0 || (version != 1 && version != 3)) return false;
    const char *letters = (const char *)r.data + r.at;
    const char *end = memchr(letters, 0, hd_byte_reader_left(&r));
    if (!end) return false;
    r.at += (size_t)(end - letters) + 1;
    out->data = memory->data;
    out->address = memory->address;
    out->is_signal = out->has_sizes = false;
    out->encoding = 0;
    out->code_step = hd_byte_reader_varint(&r);
    out->data_step = hd_byte_reader_sleb(&r);
    out->return_register = version == 1 ? hd_byte_reader_u8(&r) : hd_byte_reader_varint(&r);
    if (!read_augmentation(out, letters, &r)) return false;
    out->common[0] = r.at;
    out->common[1] = r.size;
    return !r.failed;
}

bool hd_cfi_entry_read(hd_cfi_entry *out, const hd_cfi_memory *memory, uint64_t address, uint64_t pc)
{
    hd_byte_reader r = record_at(memory, address);
    uint64_t field = memory->address + r.at, back = hd_byte_reader_le(&r, 4);
    if (r.failed || !read_common(out, memory, field - back)) return false;
    out->begin = read_pointer(&r, out->encoding, memory->address);
    out->end = out->begin + read_pointer(&r, out->encoding & ~TO_ANY, memory->address);
    if (out->has_sizes) take_block(&r);
    out->own[0] = r.at;
    out->own[1] = r.size;
    return !r.failed && pc >= out->begin && pc < out->end;
}

/* ---- instructions ---- */

enum {
    CFA_NOP,
    CFA_SET_LOC,
    CFA_ADVANCE1,
    CFA_ADVANCE2,
    CFA_ADVANCE4,
    CFA_OFFSET_EXTENDED,
    CFA_RESTORE_EXTENDED,
    CFA_UNDEFINED,
    CFA_SAME_VALUE,
    CFA_REGISTER,
    CFA_REMEMBER,
    CFA_RESTORE_STATE,
    CFA_DEF_CFA,
    CFA_DEF_CFA_REGISTER,
    CFA_DEF_CFA_OFFSET,
    CFA_DEF_CFA_EXPRESSION,
    CFA_EXPRESSION,
    CFA_OFFSET_EXTENDED_SF,
    CFA_DEF_CFA_SF,
    CFA_DEF_CFA_OFFSET_SF,
    CFA_VAL_OFFSET,
    CFA_VAL_OFFSET_SF,
    CFA_VAL_EXPRESSION,
    CFA_NEGATE_RA_STATE = 0x2d, /* aarch64: the return address is signed; the signature is cut off anyway */
    CFA_GNU_ARGS_SIZE,
    CFA_GNU_NEGATIVE_OFFSET,
    CFA_ADVANCE = 0x40, /* the low six bits of these three are an operand */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_SHORT = 0xc0,
};

typedef struct program {
    const hd_cfi_entry *entry;
    hd_byte_reader reader;
    uint64_t location;
    hd_cfi_rule *rows;
    unsigned width, kept, row_count;
    uint8_t slots[64]; /* indices of registers in a row; 0: not wanted */
    hd_cfi_rule unwanted;
} program;

static void copy_row(program *p, unsigned to, unsigned from)
{
    if (to >= p->row_count)
        p->reader.failed = true;
    else
        memcpy(p->rows + to * p->width, p->rows + from * p->width, p->width * sizeof *p->rows);
}

static inline hd_cfi_rule *rule_of(program *p, uint64_t number)
{
    unsigned slot = number < sizeof p->slots ? p->slots[number] : 0;
    return slot ? &p->rows[slot] : &p->unwanted;
}

static inline void set(hd_cfi_rule *rule, hd_cfi_how how, int64_t number)
{
    *rule = (hd_cfi_rule){.how = how, .number = number};
}

static void set_expression(program *p, hd_cfi_rule *rule, hd_cfi_how how)
{
    uint64_t size = hd_byte_reader_varint(&p->reader);
    *rule = (hd_cfi_rule){how, 0, (int64_t)size, hd_byte_reader_take(&p->reader, size)};
}

static void restore(program *p, hd_cfi_rule *rule)
{
    p->reader.failed |= p->kept < 2; /* the CIE has not been run yet */
    if (p->kept >= 2 && rule != &p->unwanted) *rule = rule[p->width];
}

static void set_cfa(program *p, uint64_t base, int64_t number)
{
    p->rows[0] = (hd_cfi_rule){HD_CFI_IS, base < UINT32_MAX ? (uint32_t)base : UINT32_MAX, number, NULL};
}

/* A number in units of the entry. */
static int64_t scaled(program *p, bool is_signed)
{
    uint64_t number =
        is_signed ? (uint64_t)hd_byte_reader_sleb(&p->reader) : (uint64_t)hd_byte_reader_varint(&p->reader);
    return (int64_t)(number * (uint64_t)p->entry->data_step);
}

/* Instructions whose first operand is a register. */
static void run_register(program *p, uint8_t code)
{
    hd_byte_reader *r = &p->reader;
    uint64_t number = hd_byte_reader_varint(r);
    hd_cfi_rule *rule = rule_of(p, number);
    switch (code) {
    case CFA_OFFSET_EXTENDED: set(rule, HD_CFI_AT, scaled(p, false)); break;
    case CFA_OFFSET_EXTENDED_SF: set(rule, HD_CFI_AT, scaled(p, true)); break;
    case CFA_GNU_NEGATIVE_OFFSET: set(rule, HD_CFI_AT, (int64_t)(0 - (uint64_t)scaled(p, false))); break;
    case CFA_VAL_OFFSET: set(rule, HD_CFI_IS, scaled(p, false)); break;
    case CFA_VAL_OFFSET_SF: set(rule, HD_CFI_IS, scaled(p, true)); break;
    case CFA_RESTORE_EXTENDED: restore(p, rule); break;
    case CFA_UNDEFINED: set(rule, HD_CFI_UNDEFINED, 0); break;
    case CFA_SAME_VALUE: set(rule, HD_CFI_SAME, 0); break;
    case CFA_REGISTER: set(rule, HD_CFI_REGISTER, (int64_t)hd_byte_reader_varint(r)); break;
    case CFA_EXPRESSION: set_expression(p, rule, HD_CFI_AT_EXPRESSION); break;
    case CFA_VAL_EXPRESSION: set_expression(p, rule, HD_CFI_IS_EXPRESSION); break;
    case CFA_DEF_CFA: set_cfa(p, number, (int64_t)hd_byte_reader_varint(r)); break;
    case CFA_DEF_CFA_SF: set_cfa(p, number, scaled(p, true)); break;
    case CFA_DEF_CFA_REGISTER:
        r->failed |= p->rows->how != HD_CFI_IS; /* there is none to change */
        set_cfa(p, number, p->rows->number);
        break;
    default: r->failed = true;
    }
}

static void set_cfa_offset(program *p, int64_t number)
{
    p->reader.failed |= p->rows->how != HD_CFI_IS;
    p->rows->number = number;
}

static void run_other(program *p, uint8_t code)
{
    hd_byte_reader *r = &p->reader;
    uint64_t step = p->entry->code_step;
    switch (code) {
    case CFA_NOP:
    case CFA_NEGATE_RA_STATE: break;
    case CFA_SET_LOC: p->location = read_pointer(r, p->entry->encoding, p->entry->address); break;
    case CFA_ADVANCE1: p->location += hd_byte_reader_u8(r) * step; break;
    case CFA_ADVANCE2: p->location += hd_byte_reader_le(r, 2) * step; break;
    case CFA_ADVANCE4: p->location += hd_byte_reader_le(r, 4) * step; break;
    case CFA_REMEMBER:
        r->failed |= p->kept < 2;
        if (!r->failed) copy_row(p, p->kept++, 0);
        break;
    case CFA_RESTORE_STATE:
        r->failed |= p->kept <= 2;
        if (!r->failed) copy_row(p, 0, --p->kept);
        break;
    case CFA_DEF_CFA_OFFSET: set_cfa_offset(p, (int64_t)hd_byte_reader_varint(r)); break;
    case CFA_DEF_CFA_OFFSET_SF: set_cfa_offset(p, scaled(p, true)); break;
    case CFA_DEF_CFA_EXPRESSION: set_expression(p, p->rows, HD_CFI_IS_EXPRESSION); break;
    case CFA_GNU_ARGS_SIZE: hd_byte_reader_varint(r); break;
    default: run_register(p, code);
    }
}

/* Runs instructions up to one that is after pc. */
static bool run_instructions(program *p, const size_t instructions[2], uint64_t pc)
{
    p->reader.data = p->entry->data;
    p->reader.at = instructions[0];
    p->reader.size = instructions[1];
    p->reader.failed = false;
    p->location = p->entry->begin;
    while (hd_byte_reader_left(&p->reader) && !p->reader.failed && p->location <= pc) {
        uint8_t code = hd_byte_reader_u8(&p->reader), operand = code & 0x3f;
        switch (code & CFA_SHORT) {
        case CFA_ADVANCE: p->location += operand * p->entry->code_step; break;
        case CFA_OFFSET: set(rule_of(p, operand), HD_CFI_AT, scaled(p, false)); break;
        case CFA_RESTORE: restore(p, rule_of(p, operand)); break;
        default: run_other(p, code);
        }
    }
    return !p->reader.failed;
}

bool hd_cfi_rules(hd_cfi_rule *rows, unsigned row_count, uint64_t wanted, const hd_cfi_entry *entry, uint64_t pc)
{
    program p;
    p.entry = entry;
    p.rows = rows;
    p.row_count = row_count;
    p.width = 1;
    p.kept = 0;
    memset(p.slots, 0, sizeof p.slots);
    rows[0] = (hd_cfi_rule){.how = HD_CFI_SAME};
    for (; wanted; wanted &= wanted - 1) {
        rows[p.width] = rows[0];
        p.slots[__builtin_ctzll(wanted)] = (uint8_t)p.width++;
    }
    if (!run_instructions(&p, entry->common, UINT64_MAX)) return false;
    p.kept = 1;
    copy_row(&p, p.kept++, 0);
    return run_instructions(&p, entry->own, pc);
}
