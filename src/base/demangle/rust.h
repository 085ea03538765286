/* rust.h - the reader of names of Rust's v0 mangling; for rust*.c only */
#ifndef HD_BASE_DEMANGLE_RUST_H
#define HD_BASE_DEMANGLE_RUST_H

#include "base/demangle/impl.h"

typedef struct dmr_reader {
    const char *name; /* after "_R": the origin of positions */
    size_t size, at;
    char *out;
    size_t capacity, made; /* made: bytes of text so far; the first `capacity` of them are in `out` */
    unsigned steps, depth, silent;
    uint64_t lifetimes; /* bound around here */
    bool failed;
} dmr_reader;

typedef struct dmr_identifier {
    const char *text;
    size_t size;
    bool is_punycode;
} dmr_identifier;

/* ---- rust_text.c ---- */

static inline char dmr_peek(const dmr_reader *r)
{
    return r->at < r->size ? r->name[r->at] : '\0';
}

bool dmr_take(dmr_reader *r, char c);
char dmr_next(dmr_reader *r); /* fails at the end */
/* Down a level, within the limits. */
bool dmr_enter(dmr_reader *r);
uint64_t dmr_base62(dmr_reader *r);
/* The number after a letter, plus one; 0: the letter is not next. */
uint64_t dmr_optional62(dmr_reader *r, char letter);
dmr_identifier dmr_read_identifier(dmr_reader *r);
/* Called after "B". Returns the position to read at; false: output is off, so it need not be read. `*after`: where to
 * return to. */
bool dmr_go_back(dmr_reader *r, size_t *after);

void dmr_put_bytes(dmr_reader *r, const char *text, size_t size);
void dmr_put(dmr_reader *r, const char *text);
void dmr_put_number(dmr_reader *r, uint64_t value);
/* Escaped as in a literal with such quotes. */
void dmr_put_code_point(dmr_reader *r, uint32_t c, char quote);
void dmr_put_identifier(dmr_reader *r, const dmr_identifier *name);

/* ---- rust.c ---- */

void dmr_path(dmr_reader *r, bool in_value);
/* "A, B" until "E". How many. */
size_t dmr_list(dmr_reader *r, void (*item)(dmr_reader *), const char *separator);
void dmr_tuple(dmr_reader *r, void (*item)(dmr_reader *));

/* ---- rust_constant.c ---- */

void dmr_constant(dmr_reader *r, bool in_value);

#endif
