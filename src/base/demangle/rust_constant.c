/* rust_constant.c - names of Rust's v0 mangling: values among generic arguments */
#include <string.h>

#include "base/demangle/rust.h"
#include "base/json/json.h"
#include "base/text/hex.h"

/* ---- constants ---- */

/* Hexadecimal digits up to "_". None after a failure. */
static dmr_identifier nibbles(dmr_reader *r)
{
    dmr_identifier out = {.text = r->name + r->at};
    while (!dmr_take(r, '_')) {
        char c = dmr_next(r);
        if (!dm_is_digit(c) && !(c >= 'a' && c <= 'f')) r->failed = true;
        if (r->failed) return (dmr_identifier){0};
        out.size++;
    }
    return out;
}

/* The digits of a number, without leading zeros. */
static dmr_identifier digits_of(dmr_reader *r)
{
    dmr_identifier out = nibbles(r);
    while (out.size && *out.text == '0') out = (dmr_identifier){out.text + 1, out.size - 1, false};
    return out;
}

static uint64_t value_of(const dmr_identifier *digits)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits->size && i < 16; i++) value = value << 4 | (unsigned)hd_hex_digit(digits->text[i]);
    return value;
}

static void number(dmr_reader *r)
{
    dmr_identifier digits = digits_of(r);
    if (r->failed) return;
    if (digits.size <= 16) {
        dmr_put_number(r, value_of(&digits));
    } else {
        dmr_put(r, "0x");
        dmr_put_bytes(r, digits.text, digits.size);
    }
}

static void truth_or_character(dmr_reader *r, bool is_truth)
{
    dmr_identifier digits = digits_of(r);
    uint64_t value = value_of(&digits);
    if (digits.size > 8 || (is_truth && value > 1) || value > 0x10ffff) r->failed = true;
    if (r->failed) return;
    if (is_truth) {
        dmr_put(r, value ? "true" : "false");
        return;
    }
    dmr_put(r, "'");
    dmr_put_code_point(r, (uint32_t)value, '\'');
    dmr_put(r, "'");
}

/* Bytes that are UTF-8. */
static void text(dmr_reader *r)
{
    dmr_identifier hex = nibbles(r);
    r->failed |= hex.size % 2 != 0;
    dmr_put(r, "\"");
    for (size_t i = 0; i < hex.size && !r->failed;) {
        char bytes[4];
        size_t count = 0, wanted = 1;
        for (; count < wanted && i < hex.size; i += 2) {
            unsigned byte = (unsigned)hd_hex_digit(hex.text[i]) << 4 | (unsigned)hd_hex_digit(hex.text[i + 1]);
            if (count == 0) wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0x80 ? 2 : 1;
            bytes[count++] = (char)byte;
        }
        r->failed |= !hd_utf8_valid(bytes, count, false);
        if (wanted == 1)
            dmr_put_code_point(r, (unsigned char)*bytes, '"');
        else
            dmr_put_bytes(r, bytes, count);
    }
    dmr_put(r, "\"");
}

static void constant_item(dmr_reader *r)
{
    dmr_constant(r, true);
}

static void field(dmr_reader *r)
{
    dmr_optional62(r, 's');
    dmr_identifier name = dmr_read_identifier(r);
    dmr_put_identifier(r, &name);
    dmr_put(r, ": ");
    dmr_constant(r, true);
}

static void variant(dmr_reader *r)
{
    dmr_path(r, true);
    if (dmr_take(r, 'T')) {
        dmr_put(r, "(");
        dmr_list(r, constant_item, ", ");
        dmr_put(r, ")");
    } else if (dmr_take(r, 'S')) {
        dmr_put(r, " { ");
        dmr_list(r, field, ", ");
        dmr_put(r, " }");
    } else if (!dmr_take(r, 'U')) {
        r->failed = true;
    }
}

/* Constants other than literals are in braces when they occur among types. */
static void compound(dmr_reader *r, char kind)
{
    switch (kind) {
    case 'e':
        dmr_put(r, "*");
        text(r);
        break;
    case 'R':
    case 'Q':
        dmr_put(r, kind == 'R' ? "&" : "&mut ");
        dmr_constant(r, true);
        break;
    case 'A':
        dmr_put(r, "[");
        dmr_list(r, constant_item, ", ");
        dmr_put(r, "]");
        break;
    case 'T': dmr_tuple(r, constant_item); break;
    case 'V': variant(r); break;
    default: r->failed = true;
    }
}

void dmr_constant(dmr_reader *r, bool in_value)
{
    if (!dmr_enter(r)) return;
    char kind = dmr_next(r);
    size_t after;
    if (kind == 'p') {
        dmr_put(r, "_");
    } else if (kind && strchr("hmtyojalsxni", kind)) {
        if (strchr("alsxni", kind) && dmr_take(r, 'n')) dmr_put(r, "-");
        number(r);
    } else if (kind == 'b' || kind == 'c') {
        truth_or_character(r, kind == 'b');
    } else if (kind == 'B') {
        if (dmr_go_back(r, &after)) {
            dmr_constant(r, in_value);
            r->at = after;
        }
    } else if (kind == 'R' && dmr_take(r, 'e')) {
        text(r);
    } else {
        if (!in_value) dmr_put(r, "{");
        compound(r, kind);
        if (!in_value) dmr_put(r, "}");
    }
    r->depth--;
}
