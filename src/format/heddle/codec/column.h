/* column.h - one column, predicted from its past or from other columns of the block, or plain; store files only */
#ifndef HD_FORMAT_HEDDLE_CODEC_COLUMN_H
#define HD_FORMAT_HEDDLE_CODEC_COLUMN_H

#include "format/heddle/codec/ints.h"

enum { STORE_NO_REF = 255, STORE_BASE_REFS = HD_COL_SOURCE_SIZE + 1 };

/* The numbers of unstored columns are reused for derived values (nest.h) or for values that replace others. */
enum { STORE_REF_BEFORE = HD_COL_ARGS_ROW, STORE_REF_BOUND = HD_COL_SOURCE, STORE_REF_CHILD = HD_COL_SOURCE_SIZE };

/* Columns known before this one: 0 … STORE_BASE_REFS-1 of the rows, then keys of the group. */
typedef struct store_refs {
    const int64_t *columns[STORE_BASE_REFS + STORE_KEY_REFS]; /* NULL: not known */
    /* For groups: base columns are gathered at first use. NULL: they are in columns. */
    const int64_t *base;
    int64_t *gathered;
    uint32_t stride; /* between columns of both */
    const uint32_t *rows;
    uint32_t row_count;
    uint32_t known; /* bits: base columns that may be used */
    unsigned key_count;
} store_refs;

/* NULL: there is none. */
const int64_t *store_ref(store_refs *refs, unsigned index);

/* The kind of values; a hint for choosing encodings. */
typedef enum store_content { STORE_NUMBER, STORE_TIME, STORE_SYMBOL, STORE_DECIMAL } store_content;

void store_put_column(store_encoder *encoder, store_sink *sink, const int64_t *values, uint32_t count, store_refs *refs,
                      store_content content);
bool store_take_column(store_source *source, store_decoder *decoder, int64_t *out, uint32_t count, store_refs *refs);

#endif
