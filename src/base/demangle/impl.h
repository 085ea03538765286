/* impl.h - shared by the files of the demangler */
#ifndef HD_BASE_DEMANGLE_IMPL_H
#define HD_BASE_DEMANGLE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/demangle/demangle.h"
#include "base/memory/arena.h"

enum {
    DM_ARENA_BYTES = 4 << 20,  /* all texts of a name */
    DM_PIECE_BYTES = 16 << 10, /* size of an arena block, enough for most names */
    DM_TEXT_LIMIT = 1 << 16,   /* one text */
    DM_STEP_LIMIT = 200000,
    DM_DEPTH_LIMIT = 256,
    DM_SUBSTITUTIONS = 4096,
};

typedef struct dm_string {
    const char *data;
    size_t size;
} dm_string;

/* The kind of a type, which decides where '*' or "const" go. */
typedef enum dm_kind {
    DM_PLAIN,
    DM_FUNCTION, /* left "void", right "(int)": a pointer goes between them as " (*" and ")" */
    DM_ARRAY,    /* left "int", right " [3]" */
    DM_WRAPPED,  /* a pointer to one of these: "void (*" and ")(int)" */
} dm_kind;

/* A declarator has a hole for names and '*': left, hole, right. */
typedef struct dm_text {
    dm_string left, right;
    dm_string base; /* of a class: its last component, which a constructor repeats */
    dm_kind kind;
    bool is_simple; /* an expression that needs no parentheses */
    dm_string name; /* of an encoding with parameters: the name alone */
} dm_text;

typedef struct dm_arg {
    dm_text text;
    struct dm_arg *next;
} dm_arg;

/* The value of a T_: an argument, or all arguments of a pack. */
typedef struct dm_param {
    dm_arg *args;
    size_t count;
    bool is_pack;
    struct dm_param *next;
} dm_param;

/* The value of an S_; in a pack expansion it has a text per element. If it contains a T_, it is read again where T_ has
 * another value: after a lambda among the arguments, whose function has its own arguments. */
typedef struct dm_sub {
    dm_text text;
    const char *begin, *end;
    const void *scope;     /* dm_reader.params to which its T_ belongs, or dm_autos; NULL: it contains none */
    const dm_text *others; /* the texts of elements 1, 2 …, `stride` apart */
    size_t count, stride;
} dm_sub;

typedef struct dm_reader {
    const char *at, *end;
    hd_arena arena;
    size_t used;
    uint32_t steps, depth;
    bool failed;
    const dm_param *params; /* of the encoding that is read */
    uint32_t params_read;   /* T_s so far */
    bool keeps_params;      /* the next template arguments are those of the encoding */
    bool in_lambda;         /* T_ is one of the lambda's `auto`s */
    int64_t pack_index;     /* element of packs while their expansion is read, or -1 */
    size_t pack_size;       /* of the pack met then */
    bool pack_met;
    bool rereads; /* an S_, which ends at `end`, and adds none */
    dm_sub *subs;
    size_t sub_count, sub_capacity; /* at most DM_SUBSTITUTIONS */
} dm_reader;

/* What a name implies about its function. */
typedef struct dm_traits {
    bool has_template_args; /* it ends with template arguments, so a return type follows */
    bool has_no_return;     /* constructors, destructors, conversions */
    dm_string qualifiers;   /* " const &" */
} dm_traits;

/* ---- demangle.c: memory, texts ---- */

void *dm_new(dm_reader *r, size_t size);
dm_string dm_lit(const char *text);
/* Joins all pieces up to one with NULL data. */
dm_string dm_cat(dm_reader *r, const dm_string *pieces);
#define DM_CAT(r, ...) dm_cat(r, (const dm_string[]){__VA_ARGS__, {NULL, 0}})
dm_text dm_plain(dm_string s);
dm_string dm_flat(dm_reader *r, const dm_text *text);
dm_string dm_join(dm_reader *r, const dm_arg *args);
bool dm_ends(dm_string s, const char *text);

static inline char dm_peek(const dm_reader *r, size_t ahead)
{
    return (size_t)(r->end - r->at) > ahead ? r->at[ahead] : '\0';
}
static inline bool dm_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
bool dm_take(dm_reader *r, const char *text);
dm_text dm_fail(dm_reader *r);
/* Enter and leave a level; false: too deep. */
bool dm_enter(dm_reader *r);
dm_string dm_decimal(dm_reader *r, uint64_t value);
/* Digits; fails without. */
uint64_t dm_number(dm_reader *r);
/* "_" is 0, "0_" is 1 and so on. */
uint64_t dm_index(dm_reader *r);
extern const char dm_autos[1]; /* a marker for the params of a lambda */
/* A position to return to: the start of a construct, and the number of T_s read before it. */
typedef struct dm_mark {
    const char *begin;
    uint32_t params_read;
} dm_mark;
static inline dm_mark dm_mark_here(const dm_reader *r, size_t back)
{
    return (dm_mark){r->at - back, r->params_read};
}
/* Adds the text read since the mark, a type or the beginning of a nested name, as a substitution. */
void dm_add_sub(dm_reader *r, dm_text text, dm_mark since);

/* ---- name.c ---- */

dm_text dm_encoding(dm_reader *r, bool is_outer);
dm_text dm_name(dm_reader *r, dm_traits *traits);
dm_text dm_unqualified(dm_reader *r, dm_string base, dm_traits *traits);
dm_string dm_source_name(dm_reader *r);
/* "<int, float>"; the reader is at 'I'. */
dm_string dm_template_args(dm_reader *r, dm_string before);
dm_text dm_with_args(dm_reader *r, dm_text text);

/* ---- type.c ---- */

dm_text dm_type(dm_reader *r);
/* Types up to 'E', the end or a '.', packs expanded. */
dm_arg *dm_types(dm_reader *r);
/* Appends one type, or those of a pack expansion, at *tail. */
void dm_type_item(dm_reader *r, dm_arg ***tail);
void dm_push(dm_reader *r, dm_arg ***tail, dm_text text);
/* Calls `read` once for each element of the pack in it. */
void dm_expand(dm_reader *r, dm_arg ***tail, dm_text (*read)(dm_reader *));
dm_text dm_template_param(dm_reader *r);
dm_text dm_substitution(dm_reader *r, bool before_constructor);

/* ---- expression.c ---- */

dm_text dm_expression(dm_reader *r);
dm_text dm_literal(dm_reader *r);
/* The operator with the two letters at r->at, or NULL. */
typedef struct dm_operator {
    char code[3];
    uint8_t arity;
    const char *text;
} dm_operator;
const dm_operator *dm_find_operator(const dm_reader *r);

/* ---- rust.c ---- */

/* A name that begins with "_R", as hd_demangle. */
size_t dm_rust(char *out, size_t capacity, bool *out_cut, const char *name, size_t size);

#endif
