/* stream.c - tables of a trace as Arrow streams */
#include "base/error.h"
#include "heddle/arrow.h"

const hd_arrow_table *hd_arrow_table_at(size_t index)
{
    (void)index;
    return NULL;
}

const hd_arrow_table *hd_arrow_table_find(const char *name)
{
    (void)name;
    return NULL;
}

hd_status hd_trace_arrow_stream(struct ArrowArrayStream *out, const hd_trace *trace, const char *table,
                                const hd_arrow_options *options, hd_error *err)
{
    (void)trace;
    (void)options;
    *out = (struct ArrowArrayStream){0};
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no table %s", table);
}

hd_status hd_table_arrow_stream(struct ArrowArrayStream *out, const hd_table *table, hd_error *err)
{
    (void)table;
    *out = (struct ArrowArrayStream){0};
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "not yet");
}
