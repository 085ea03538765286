/* test_cfi.c - unwind tables made byte by byte, whole and damaged
 *
 * A table stands in memory of exactly its size, which a sanitizer guards, and counts as if it were at TABLE.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/unwind/cfi.h"

/* Where the table and the function are said to be; CIE and FDE behind the header of one row. */
enum { TABLE = 0x10000, CODE = 0x8000, CODE_BYTES = 0x100, HEADER_BYTES = 20, ROWS = 4 };
enum { FP = 6, SP = 7, RA = 16, WIDTH = 3 };
#define WANTED (UINT64_C(1) << FP | UINT64_C(1) << RA)

typedef struct parts {
    const char *letters; /* of the augmentation, with its end; NULL: zR */
    size_t letter_bytes;
    const void *data; /* of the augmentation; NULL: pcrel, 4 bytes, signed */
    size_t data_bytes;
    const void *code_step;
    size_t code_step_bytes;
    const void *own; /* instructions of the function */
    size_t own_bytes;
    uint64_t begin, size;
    bool wide; /* addresses of 8 bytes */
    uint8_t version;
} parts;

typedef struct table {
    hd_bytes bytes;
    hd_cfi_memory memory;
    size_t cie, fde;
} table;

static void put_le(hd_bytes *out, size_t at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) out->data[at + i] = (uint8_t)(value >> 8 * i);
}

static void end_record(hd_bytes *out, size_t at)
{
    while (out->size % 4) hd_bytes_put_u8(out, 0);
    put_le(out, at, out->size - at - 4, 4);
}

/* The CFA is the stack pointer + 8, the return address below it. */
static void put_common(table *t, const parts *p)
{
    hd_bytes *out = &t->bytes;
    uint8_t encoding = p->wide ? 0x00 : 0x1b;
    t->cie = out->size;
    hd_bytes_put_le(out, 0, 8);
    hd_bytes_put_u8(out, p->version ? p->version : 1);
    hd_bytes_put(out, p->letters ? p->letters : "zR", p->letters ? p->letter_bytes : 3);
    hd_bytes_put(out, p->code_step ? p->code_step : "\1", p->code_step ? p->code_step_bytes : 1);
    hd_bytes_put_u8(out, 0x78); /* -8 */
    hd_bytes_put_u8(out, RA);
    hd_bytes_put_varint(out, p->data ? p->data_bytes : 1);
    hd_bytes_put(out, p->data ? p->data : &encoding, p->data ? p->data_bytes : 1);
    hd_bytes_put(out, "\x0c\x07\x08\x90\x01", 5);
    end_record(out, t->cie);
}

static void put_function(table *t, const parts *p)
{
    hd_bytes *out = &t->bytes;
    unsigned width = p->wide ? 8 : 4;
    t->fde = out->size;
    hd_bytes_put_le(out, 0, 4);
    hd_bytes_put_le(out, out->size - t->cie, 4);
    uint64_t begin = p->begin ? p->begin : CODE;
    hd_bytes_put_le(out, p->wide ? begin : begin - (TABLE + out->size), width);
    hd_bytes_put_le(out, p->size ? p->size : CODE_BYTES, width);
    hd_bytes_put_varint(out, 0);
    hd_bytes_put(out, p->own, p->own_bytes);
    end_record(out, t->fde);
}

static void make(table *t, const parts *p)
{
    static const uint8_t header[HEADER_BYTES] = {1, 0x1b, 0x03, 0x3b};
    *t = (table){0};
    hd_bytes_put(&t->bytes, header, sizeof header);
    put_common(t, p);
    put_function(t, p);
    put_le(&t->bytes, 8, 1, 4);
    put_le(&t->bytes, 12, (uint64_t)CODE - TABLE, 4);
    put_le(&t->bytes, 16, t->fde, 4);
    assert_false(t->bytes.failed);
    t->memory.size = t->bytes.size;
    t->memory.address = TABLE;
    uint8_t *exact = malloc(t->bytes.size);
    memcpy(exact, t->bytes.data, t->bytes.size);
    t->memory.data = exact;
}

static uint8_t *bytes_of(const table *t)
{
    return (uint8_t *)(uintptr_t)t->memory.data;
}

static void drop(table *t)
{
    free(bytes_of(t));
    hd_bytes_deinit(&t->bytes);
}

static bool look_at(hd_cfi_rule *rows, const hd_cfi_memory *memory, uint64_t pc)
{
    hd_cfi_entry entry;
    uint64_t address;
    return hd_cfi_search(&address, memory, TABLE, pc) && hd_cfi_entry_read(&entry, memory, address, pc) &&
           hd_cfi_rules(rows, ROWS, WANTED, &entry, pc);
}

/* Whether the table of these parts has rules for `pc`. */
static bool look(hd_cfi_rule *rows, const parts *p, uint64_t pc)
{
    table t;
    make(&t, p);
    bool found = look_at(rows, &t.memory, pc);
    drop(&t);
    return found;
}

static bool runs(const void *own, size_t bytes)
{
    hd_cfi_rule rows[ROWS * WIDTH];
    return look(rows, &(parts){.own = own, .own_bytes = bytes}, CODE + CODE_BYTES - 1);
}

/* ---- what tables say ---- */

static void test_cfi__rules_are_those_of_the_address(void **state)
{
    /* advance 1; CFA offset 16; FP at CFA - 16; advance 4; remember; CFA is FP + 16; advance 8; restored */
    static const uint8_t own[] = {0x41, 0x0e, 16, 0x86, 2, 0x44, 0x0a, 0x0d, FP, 0x48, 0x0b};
    const parts p = {.own = own, .own_bytes = sizeof own};
    hd_cfi_rule rows[ROWS * WIDTH];
    (void)state;
    assert_true(look(rows, &p, CODE));
    assert_true(rows[0].how == HD_CFI_IS && rows[0].base == SP && rows[0].number == 8);
    assert_true(rows[1].how == HD_CFI_SAME);
    assert_true(rows[2].how == HD_CFI_AT && rows[2].number == -8);
    assert_true(look(rows, &p, CODE + 1));
    assert_true(rows[0].base == SP && rows[0].number == 16);
    assert_true(rows[1].how == HD_CFI_AT && rows[1].number == -16);
    assert_true(look(rows, &p, CODE + 5));
    assert_true(rows[0].base == FP && rows[0].number == 16);
    assert_true(look(rows, &p, CODE + 13));
    assert_true(rows[0].base == SP && rows[0].number == 16);
    assert_false(look(rows, &p, CODE - 1));
    assert_false(look(rows, &p, CODE + CODE_BYTES));
}

static void test_cfi__every_instruction_takes_its_operands(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        hd_cfi_rule cfa, fp;
    } cases[] = {
        {"\x05\x06\x03", 3, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_AT, 0, -24, NULL}},
        {"\x11\x06\x7d", 3, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_AT, 0, 24, NULL}},
        {"\x2f\x06\x03", 3, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_AT, 0, 24, NULL}},
        {"\x14\x06\x03", 3, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_IS, 0, -24, NULL}},
        {"\x15\x06\x7d", 3, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_IS, 0, 24, NULL}},
        {"\x07\x06", 2, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_UNDEFINED, 0, 0, NULL}},
        {"\x86\x02\x08\x06", 4, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_SAME, 0, 0, NULL}},
        {"\x86\x02\x06\x06", 4, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_SAME, 0, 0, NULL}},
        {"\x86\x02\xc6", 3, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_SAME, 0, 0, NULL}},
        {"\x09\x06\x0c", 3, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_REGISTER, 0, 12, NULL}},
        {"\x0c\x03\x20", 3, {HD_CFI_IS, 3, 32, NULL}, {HD_CFI_SAME, 0, 0, NULL}},
        {"\x12\x03\x7e", 3, {HD_CFI_IS, 3, 16, NULL}, {HD_CFI_SAME, 0, 0, NULL}},
        {"\x13\x7e", 2, {HD_CFI_IS, SP, 16, NULL}, {HD_CFI_SAME, 0, 0, NULL}},
        {"\x2e\x80\x01\x2d\x05\x48\x03", 7, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_SAME, 0, 0, NULL}},
        {"\x02\x04\x03\x04\x00\x04\x04\x00\x00\x00\x86\x01", 12, {HD_CFI_IS, SP, 8, NULL}, {HD_CFI_AT, 0, -8, NULL}},
    };
    hd_cfi_rule rows[ROWS * WIDTH];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const parts p = {.own = cases[i].bytes, .own_bytes = cases[i].count};
        assert_true(look(rows, &p, CODE + 12));
        assert_true(rows[0].how == cases[i].cfa.how && rows[0].base == cases[i].cfa.base);
        assert_true(rows[0].number == cases[i].cfa.number);
        assert_true(rows[1].how == cases[i].fp.how && rows[1].number == cases[i].fp.number);
    }
}

static void test_cfi__expressions_are_borrowed_with_their_size(void **state)
{
    static const uint8_t own[] = {0x0f, 2, 0x76, 0x08, 0x10, FP, 3, 1, 2, 3};
    hd_cfi_rule rows[ROWS * WIDTH];
    table t;
    (void)state;
    make(&t, &(parts){.own = own, .own_bytes = sizeof own});
    assert_true(look_at(rows, &t.memory, CODE));
    assert_true(rows[0].how == HD_CFI_IS_EXPRESSION && rows[0].number == 2);
    assert_memory_equal(rows[0].expression, own + 2, 2);
    assert_true(rows[1].how == HD_CFI_AT_EXPRESSION && rows[1].number == 3);
    assert_memory_equal(rows[1].expression, own + 7, 3);
    drop(&t);
}

static void test_cfi__constants_of_expressions_have_their_width_and_sign(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        int64_t value;
    } cases[] = {
        {"\x30", 1, 0},
        {"\x4f", 1, 31},
        {"\x08\xff", 2, 255},
        {"\x09\xff", 2, -1},
        {"\x0a\xfe\xff", 3, 65534},
        {"\x0b\xfe\xff", 3, -2},
        {"\x0c\xff\xff\xff\xff", 5, UINT32_MAX},
        {"\x0d\xff\xff\xff\xff", 5, -1},
        {"\x0f\1\0\0\0\0\0\0\x80", 9, INT64_MIN + 1},
        {"\x10\x80\x01", 3, 128},
        {"\x11\x80\x7f", 3, -128},
    };
    uint64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_byte_reader r = hd_byte_reader_of(cases[i].bytes, cases[i].count);
        assert_true(hd_cfi_constant(&value, hd_byte_reader_u8(&r), &r));
        assert_true((int64_t)value == cases[i].value && !r.failed && hd_byte_reader_left(&r) == 0);
    }
    hd_byte_reader none = hd_byte_reader_of("", 0);
    assert_false(hd_cfi_constant(&value, HD_CFI_OP_PLUS, &none));
    assert_false(hd_cfi_constant(&value, HD_CFI_OP_BREG0, &none));
}

static void test_cfi__the_last_function_that_begins_before_is_found(void **state)
{
    uint8_t header[12 + 4 * 8] = {1, 0xff, 0x03, 0x3b, 4};
    const hd_cfi_memory memory = {header, TABLE, sizeof header};
    uint64_t address;
    (void)state;
    hd_bytes out = {.data = header, .size = sizeof header, .capacity = sizeof header};
    for (unsigned i = 0; i < 4; i++) {
        put_le(&out, 8 + i * 8, (uint64_t)CODE + 0x100 * (uint64_t)i - TABLE, 4);
        put_le(&out, 12 + i * 8, 1000 + i, 4);
    }
    assert_false(hd_cfi_search(&address, &memory, TABLE, CODE - 1));
    for (unsigned i = 0; i < 4 * 0x100; i += 0x55) {
        assert_true(hd_cfi_search(&address, &memory, TABLE, CODE + i));
        assert_int_equal(address, TABLE + 1000 + i / 0x100);
    }
    assert_false(hd_cfi_search(&address, &memory, TABLE - 1, CODE));
    assert_false(hd_cfi_search(&address, &memory, TABLE + sizeof header - 3, CODE));
    assert_false(hd_cfi_search(&address, &memory, UINT64_MAX, CODE));
    header[4] = 5; /* a row more than there is */
    assert_false(hd_cfi_search(&address, &memory, TABLE, CODE));
    header[4] = 0;
    assert_false(hd_cfi_search(&address, &memory, TABLE, CODE));
}

/* ---- hostile tables ---- */

static void test_cfi__a_table_cut_anywhere_says_nothing(void **state)
{
    static const uint8_t own[] = {0x41, 0x0e, 16, 0x86, 2, 0x44, 0x0d, FP};
    hd_cfi_rule rows[ROWS * WIDTH];
    table t;
    (void)state;
    make(&t, &(parts){.own = own, .own_bytes = sizeof own});
    for (size_t size = 0; size < t.bytes.size; size++) {
        uint8_t *cut = malloc(size ? size : 1);
        memcpy(cut, t.bytes.data, size);
        assert_false(look_at(rows, &(hd_cfi_memory){cut, TABLE, size}, CODE));
        free(cut);
    }
    drop(&t);
}

static void test_cfi__lengths_past_the_end_are_refused(void **state)
{
    hd_cfi_rule rows[ROWS * WIDTH];
    const uint32_t lengths[] = {0, 3, 1000, 0x7fffffff, 0xfffffff0, 0xffffffff};
    table t;
    (void)state;
    make(&t, &(parts){.own = "", .own_bytes = 0});
    assert_true(look_at(rows, &t.memory, CODE));
    hd_bytes whole = {.data = bytes_of(&t)};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int which = 0; which < 2; which++) {
            size_t at = which ? t.fde : t.cie;
            put_le(&whole, at, lengths[i], 4);
            assert_false(look_at(rows, &t.memory, CODE));
            memcpy(whole.data + at, t.bytes.data + at, 4);
        }
    }
    /* The CIE before the memory, and the entry outside of it. */
    put_le(&whole, t.fde + 4, t.fde + 5, 4);
    assert_false(look_at(rows, &t.memory, CODE));
    put_le(&whole, t.fde + 4, 0, 4);
    assert_false(look_at(rows, &t.memory, CODE));
    memcpy(whole.data + t.fde, t.bytes.data + t.fde, 8);
    put_le(&whole, 16, 0x7fffffff, 4);
    assert_false(look_at(rows, &t.memory, CODE));
    put_le(&whole, 16, (uint64_t)-4, 4);
    assert_false(look_at(rows, &t.memory, CODE));
    drop(&t);
    assert_false(runs("\x16\x06\x7f", 3));
    assert_false(runs("\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11));
}

static void test_cfi__numbers_of_more_than_64_bits_are_refused(void **state)
{
    hd_cfi_rule rows[ROWS * WIDTH];
    (void)state;
    assert_true(runs("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11));
    assert_false(runs("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11));
    assert_true(runs("\x13\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 11));
    assert_false(runs("\x13\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11));
    assert_false(runs("\x13\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 13));
    const parts p = {.code_step = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", .code_step_bytes = 10};
    assert_false(look(rows, &p, CODE));
}

static void test_cfi__functions_that_wrap_around_hold_no_address(void **state)
{
    const uint64_t last = UINT64_MAX - 0x7fff; /* below it the table's distances end */
    hd_cfi_rule rows[ROWS * WIDTH];
    hd_cfi_entry entry;
    table t;
    (void)state;
    make(&t, &(parts){.wide = true, .begin = last, .size = 0x7fff});
    assert_true(hd_cfi_entry_read(&entry, &t.memory, TABLE + t.fde, UINT64_MAX - 1));
    assert_false(hd_cfi_entry_read(&entry, &t.memory, TABLE + t.fde, UINT64_MAX));
    drop(&t);
    make(&t, &(parts){.wide = true, .begin = last, .size = 0x10000});
    assert_false(hd_cfi_entry_read(&entry, &t.memory, TABLE + t.fde, last));
    assert_false(hd_cfi_entry_read(&entry, &t.memory, TABLE + t.fde, 0));
    drop(&t);
    assert_false(look(rows, &(parts){.wide = true, .size = UINT64_MAX}, CODE));
}

static void test_cfi__augmentations_are_read_as_far_as_they_are_known(void **state)
{
    hd_cfi_rule rows[ROWS * WIDTH];
    hd_cfi_entry entry;
    table t;
    (void)state;
    /* A personality, which is skipped, addresses, a signal frame; one letter that is not known, and its bytes. */
    make(&t, &(parts){"zPRS?", 6, "\x9b\1\2\3\4\x1b\7\7", 8, .own = ""});
    assert_true(hd_cfi_entry_read(&entry, &t.memory, TABLE + t.fde, CODE));
    assert_true(entry.is_signal && entry.return_register == RA && entry.data_step == -8);
    assert_true(look_at(rows, &t.memory, CODE));
    drop(&t);
    const parts bad[] = {
        {.letters = "eh", .letter_bytes = 3},
        {"zRP", 4, "\x1b\x9b\1\2\3", 5, .own = ""}, /* a personality past the augmentation's end */
        {"zRP", 4, "\x1b\x05", 2, .own = ""},       /* of no such size */
        {"zR", 3, "", 0, .wide = true},             /* no encoding */
        {"zR", 3, "\x30", 1, .wide = true},         /* relative to what only the header has */
        {"zR", 3, "\x80", 1, .wide = true},         /* where code is, stands elsewhere */
        {"zR", 3, "\xff", 1, .wide = true},         /* left out */
        {.version = 2},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(look(rows, &bad[i], CODE));
    /* Text without an end, up to the end of the record. */
    make(&t, &(parts){.own = ""});
    memset(bytes_of(&t) + t.cie + 9, 'R', t.fde - t.cie - 9);
    assert_false(look_at(rows, &t.memory, CODE));
    drop(&t);
}

static void test_cfi__instructions_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    assert_true(runs("\x0a\x0a\x0b\x0b", 4)); /* two states are what there is room for */
    assert_false(runs("\x0a\x0a\x0a", 3));
    assert_false(runs("\x0b", 1));
    assert_false(runs("\x17\x06", 2)); /* there is no such instruction */
    assert_false(runs("\x3f", 1));
    assert_false(runs("\x0f\1\x30\x0d\6", 5)); /* a part of a CFA that has none */
    assert_false(runs("\x0f\1\x30\x0e\x08", 5));
    assert_true(runs("\x05\x80\x80\x04\x01", 5)); /* registers that nobody asked for */
    assert_true(runs("\x05\x3f\x01\x06\x3f", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cfi__rules_are_those_of_the_address),
        cmocka_unit_test(test_cfi__every_instruction_takes_its_operands),
        cmocka_unit_test(test_cfi__expressions_are_borrowed_with_their_size),
        cmocka_unit_test(test_cfi__constants_of_expressions_have_their_width_and_sign),
        cmocka_unit_test(test_cfi__the_last_function_that_begins_before_is_found),
        cmocka_unit_test(test_cfi__a_table_cut_anywhere_says_nothing),
        cmocka_unit_test(test_cfi__lengths_past_the_end_are_refused),
        cmocka_unit_test(test_cfi__numbers_of_more_than_64_bits_are_refused),
        cmocka_unit_test(test_cfi__functions_that_wrap_around_hold_no_address),
        cmocka_unit_test(test_cfi__augmentations_are_read_as_far_as_they_are_known),
        cmocka_unit_test(test_cfi__instructions_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
