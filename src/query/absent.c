/* absent.c - the query functions of a build without SQLite: they fail with a message */
#include "base/error.h"
#include "heddle/query.h"

static hd_status absent(hd_error *err)
{
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "this heddle was built without SQLite");
}

hd_status hd_query_new(hd_query **out, const hd_query_input *inputs, size_t count, const hd_query_options *options,
                       hd_error *err)
{
    (void)inputs, (void)count, (void)options;
    *out = NULL;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "this heddle was built without SQLite: install it (Debian: libsqlite3-dev) and build again");
}

void hd_query_free(hd_query *query)
{
    (void)query;
}

bool hd_query_shift(int64_t *out, const hd_query *query, size_t input)
{
    (void)query, (void)input;
    *out = 0;
    return false;
}

void hd_query_interrupt(hd_query *query)
{
    (void)query;
}

hd_status hd_query_prepare(hd_statement **out, const char **rest, hd_query *query, const char *sql, size_t size,
                           hd_error *err)
{
    (void)rest, (void)query, (void)sql, (void)size;
    *out = NULL;
    return absent(err);
}

void hd_statement_free(hd_statement *statement)
{
    (void)statement;
}

bool hd_query_is_complete(const char *sql)
{
    (void)sql;
    return true;
}

size_t hd_statement_parameter_count(const hd_statement *statement)
{
    (void)statement;
    return 0;
}

const char *hd_statement_parameter_name(const hd_statement *statement, size_t index)
{
    (void)statement, (void)index;
    return NULL;
}

hd_status hd_statement_set(hd_statement *statement, const char *name, hd_query_value value, hd_error *err)
{
    (void)statement, (void)name, (void)value;
    return absent(err);
}

size_t hd_statement_column_count(const hd_statement *statement)
{
    (void)statement;
    return 0;
}

const char *hd_statement_column_name(const hd_statement *statement, size_t column)
{
    (void)statement, (void)column;
    return "";
}

hd_query_role hd_statement_column_role(const hd_statement *statement, size_t column)
{
    (void)statement, (void)column;
    return HD_QUERY_PLAIN;
}

hd_status hd_statement_next(hd_statement *statement, hd_error *err)
{
    (void)statement;
    return absent(err);
}

hd_query_value hd_statement_at(const hd_statement *statement, size_t column)
{
    (void)statement, (void)column;
    return (hd_query_value){0};
}

hd_status hd_statement_arrow_stream(struct ArrowArrayStream *out, hd_statement *statement, hd_error *err)
{
    (void)statement;
    *out = (struct ArrowArrayStream){0};
    return absent(err);
}

const hd_query_table_about *hd_query_table_at(const hd_query *query, size_t index)
{
    (void)query, (void)index;
    return NULL;
}
