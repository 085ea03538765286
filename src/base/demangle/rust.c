/* rust.c - names of Rust's v0 mangling: paths and types
 *
 * Source   Rust RFC 2603 and "v0 Symbol Format" of the rustc book
 * Spelling that of rustc-demangle in its short form: no hashes of crates, no types of constants
 * Limits   those of impl.h; pattern types are not supported
 *
 * Text is written while it is read. Parts that only make a name unique (the place of an impl, the crate of an instance)
 * are read without output, and their back references are not followed.
 */
#include <string.h>

#include "base/demangle/rust.h"

enum { LIFETIMES_MAX = 1024 };

static void type(dmr_reader *r);

/* ---- lifetimes ---- */

/* 1: the innermost that is bound. */
static void put_lifetime(dmr_reader *r, uint64_t index)
{
    uint64_t number = r->lifetimes - index;
    char letter = (char)('a' + number % 26);
    if (index > r->lifetimes) r->failed = true;
    dmr_put(r, index && number < 26 ? "'" : "'_");
    if (index && number < 26)
        dmr_put_bytes(r, &letter, 1);
    else if (index)
        dmr_put_number(r, number);
}

/* "for<'a, 'b> ": the lifetimes are bound until the caller restores the count. */
static void binder(dmr_reader *r)
{
    uint64_t count = dmr_optional62(r, 'G');
    if (count > LIFETIMES_MAX || r->lifetimes + count > LIFETIMES_MAX) r->failed = true;
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        dmr_put(r, i ? ", " : "for<");
        r->lifetimes++;
        put_lifetime(r, 1);
    }
    if (count) dmr_put(r, "> ");
}

/* ---- paths ---- */

static void generic_argument(dmr_reader *r)
{
    if (dmr_take(r, 'L'))
        put_lifetime(r, dmr_base62(r));
    else if (dmr_take(r, 'K'))
        dmr_constant(r, false);
    else
        type(r);
}

/* "A, B" until "E". How many. */
size_t dmr_list(dmr_reader *r, void (*item)(dmr_reader *), const char *separator)
{
    size_t count = 0;
    while (!dmr_take(r, 'E') && !r->failed) {
        if (count++) dmr_put(r, separator);
        item(r);
    }
    return count;
}

static void nested(dmr_reader *r, bool in_value)
{
    char space = dmr_next(r);
    if (!((space >= 'a' && space <= 'z') || (space >= 'A' && space <= 'Z'))) r->failed = true;
    dmr_path(r, in_value);
    uint64_t number = dmr_optional62(r, 's');
    dmr_identifier name = dmr_read_identifier(r);
    if (space >= 'a') {
        if (name.size) dmr_put(r, "::");
        dmr_put_identifier(r, &name);
        return;
    }
    dmr_put(r, "::{");
    if (space == 'C' || space == 'S')
        dmr_put(r, space == 'C' ? "closure" : "shim");
    else
        dmr_put_bytes(r, &space, 1);
    if (name.size) dmr_put(r, ":");
    dmr_put_identifier(r, &name);
    dmr_put(r, "#");
    dmr_put_number(r, number);
    dmr_put(r, "}");
}

/* "<Type>", "<Type as Trait>" */
static void of_type(dmr_reader *r, char kind)
{
    if (kind != 'Y') { /* the place of the impl */
        r->silent++;
        dmr_optional62(r, 's');
        dmr_path(r, false);
        r->silent--;
    }
    dmr_put(r, "<");
    type(r);
    if (kind != 'M') {
        dmr_put(r, " as ");
        dmr_path(r, false);
    }
    dmr_put(r, ">");
}

void dmr_path(dmr_reader *r, bool in_value)
{
    if (!dmr_enter(r)) return;
    char kind = dmr_next(r);
    size_t after;
    if (kind == 'C') {
        dmr_optional62(r, 's');
        dmr_identifier name = dmr_read_identifier(r);
        dmr_put_identifier(r, &name);
    } else if (kind == 'N') {
        nested(r, in_value);
    } else if (kind == 'M' || kind == 'X' || kind == 'Y') {
        of_type(r, kind);
    } else if (kind == 'I') {
        dmr_path(r, in_value);
        dmr_put(r, in_value ? "::<" : "<");
        dmr_list(r, generic_argument, ", ");
        dmr_put(r, ">");
    } else if (kind != 'B') {
        r->failed = true;
    } else if (dmr_go_back(r, &after)) {
        dmr_path(r, in_value);
        r->at = after;
    }
    r->depth--;
}

/* ---- types ---- */

static void function(dmr_reader *r)
{
    uint64_t bound = r->lifetimes;
    binder(r);
    if (dmr_take(r, 'U')) dmr_put(r, "unsafe ");
    if (dmr_take(r, 'K')) {
        dmr_identifier abi = {.text = "C", .size = 1};
        if (!dmr_take(r, 'C')) abi = dmr_read_identifier(r);
        dmr_put(r, "extern \"");
        for (size_t i = 0; i < abi.size; i++) dmr_put_bytes(r, abi.text[i] == '_' ? "-" : abi.text + i, 1);
        dmr_put(r, "\" ");
    }
    dmr_put(r, "fn(");
    dmr_list(r, type, ", ");
    dmr_put(r, ")");
    if (!dmr_take(r, 'u')) {
        dmr_put(r, " -> ");
        type(r);
    }
    r->lifetimes = bound;
}

/* A trait path left open so that generic arguments can be added; returns whether it already has some. */
static bool open_path(dmr_reader *r)
{
    size_t after;
    bool is_open = false;
    if (!dmr_enter(r)) return false;
    if (dmr_take(r, 'B')) {
        if (dmr_go_back(r, &after)) {
            is_open = open_path(r);
            r->at = after;
        }
    } else if (dmr_take(r, 'I')) {
        is_open = true;
        dmr_path(r, false);
        dmr_put(r, "<");
        dmr_list(r, generic_argument, ", ");
    } else {
        dmr_path(r, false);
    }
    r->depth--;
    return is_open;
}

static void bound_trait(dmr_reader *r)
{
    bool is_open = open_path(r);
    while (dmr_take(r, 'p')) {
        dmr_put(r, is_open ? ", " : "<");
        is_open = true;
        dmr_identifier name = dmr_read_identifier(r);
        dmr_put_identifier(r, &name);
        dmr_put(r, " = ");
        type(r);
    }
    if (is_open) dmr_put(r, ">");
}

static void dynamic(dmr_reader *r)
{
    uint64_t bound = r->lifetimes;
    dmr_put(r, "dyn ");
    binder(r);
    dmr_list(r, bound_trait, " + ");
    r->lifetimes = bound;
    if (!dmr_take(r, 'L')) r->failed = true;
    uint64_t index = dmr_base62(r);
    if (!index) return;
    dmr_put(r, " + ");
    put_lifetime(r, index);
}

static void reference(dmr_reader *r, bool is_mutable)
{
    uint64_t index = dmr_take(r, 'L') ? dmr_base62(r) : 0;
    dmr_put(r, "&");
    if (index) {
        put_lifetime(r, index);
        dmr_put(r, " ");
    }
    if (is_mutable) dmr_put(r, "mut ");
    type(r);
}

void dmr_tuple(dmr_reader *r, void (*item)(dmr_reader *))
{
    dmr_put(r, "(");
    dmr_put(r, dmr_list(r, item, ", ") == 1 ? ",)" : ")");
}

static void array(dmr_reader *r, bool has_length)
{
    dmr_put(r, "[");
    type(r);
    if (has_length) {
        dmr_put(r, "; ");
        dmr_constant(r, true);
    }
    dmr_put(r, "]");
}

static const char *basic_type(char c)
{
    static const char *const names[] = {"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
                                        "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
                                        "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void type(dmr_reader *r)
{
    if (!dmr_enter(r)) return;
    char kind = dmr_next(r);
    size_t after;
    switch (kind) {
    case 'R':
    case 'Q': reference(r, kind == 'Q'); break;
    case 'P':
    case 'O':
        dmr_put(r, kind == 'P' ? "*const " : "*mut ");
        type(r);
        break;
    case 'A':
    case 'S': array(r, kind == 'A'); break;
    case 'T': dmr_tuple(r, type); break;
    case 'F': function(r); break;
    case 'D': dynamic(r); break;
    case 'B':
        if (dmr_go_back(r, &after)) {
            type(r);
            r->at = after;
        }
        break;
    default:
        if (basic_type(kind)) {
            dmr_put(r, basic_type(kind));
        } else if (!r->failed) {
            r->at--;
            dmr_path(r, false);
        }
    }
    r->depth--;
}

/* ---- all of it ---- */

/* ".cold" -> " [clone .cold]". Suffixes by which LLVM distinguishes modules are dropped. */
static void suffix(dmr_reader *r)
{
    const char *rest = r->name + r->at;
    size_t size = r->size - r->at;
    if (size == 0 || (size > 6 && memcmp(rest, ".llvm.", 6) == 0)) return;
    if (*rest != '.' && *rest != '$') r->failed = true;
    dmr_put(r, " [clone ");
    dmr_put_bytes(r, rest, size);
    dmr_put(r, "]");
}

size_t dm_rust(char *out, size_t capacity, bool *out_cut, const char *name, size_t size)
{
    dmr_reader r = {.name = name + 2, .size = size - 2, .out = out, .capacity = capacity};
    for (size_t i = 0; i < r.size; i++) {
        if ((unsigned char)r.name[i] >= 0x80) return 0;
    }
    dmr_path(&r, true);
    if (dmr_peek(&r) >= 'A' && dmr_peek(&r) <= 'Z') { /* the crate that this instance was made in */
        r.silent++;
        dmr_path(&r, false);
        r.silent--;
    }
    suffix(&r);
    if (r.failed || r.made > DM_TEXT_LIMIT) return 0;
    *out_cut = r.made > capacity;
    return *out_cut ? capacity : r.made;
}
