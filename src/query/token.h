/* token.h - SQL as tokens, for statements that are inspected before SQLite sees them, and for hints */
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

/* The next token of *at … end; moves *at after it. false: only blanks and comments are left. */
bool query_token_next(query_token *out, const char **at, const char *end);
bool query_token_is(const query_token *token, const char *word); /* ASCII letters of any case */
/* Whether a token is this name, quoted or not. */
bool query_token_names(const query_token *token, const char *name, size_t size);

#endif
