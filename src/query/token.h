/* token.h - SQL as tokens, for what is looked at before SQLite sees it, and for hints */
#ifndef HD_QUERY_TOKEN_H
#define HD_QUERY_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum query_token_kind { QUERY_WORD, QUERY_QUOTED, QUERY_MARK } query_token_kind; /* MARK: one byte */

typedef struct query_token {
    query_token_kind kind;
    const char *text; /* with its quotes */
    size_t size;
} query_token;

/* The next token of *at … end, behind which *at is moved; false: only blanks and comments are left. */
bool query_token_next(query_token *out, const char **at, const char *end);
bool query_token_is(const query_token *token, const char *word); /* ASCII letters of any case */
/* Whether a name, quoted or not, is this one. */
bool query_token_names(const query_token *token, const char *name, size_t size);

#endif
