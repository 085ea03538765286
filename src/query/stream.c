/* stream.c - the rows of a statement as an Arrow stream */
#include "base/error.h"
#include "query/impl.h"

hd_status hd_statement_arrow_stream(struct ArrowArrayStream *out, hd_statement *statement, hd_error *err)
{
    *out = (struct ArrowArrayStream){0};
    hd_statement_free(statement);
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "not yet");
}
