/* table_members.c - one row of a table as members of a JSON object, for JSON that nests tables */
#include <string.h>

#include "base/error.h"
#include "heddle/report.h"

/* Passes on what hd_table_write prints, but for the brackets around the one object. */
typedef struct inner {
    hd_sink sink;
    int depth;    /* of open brackets that are not passed on */
    bool in_string, escaped, done;
} inner;

static hd_status write_inner(void *user, const char *data, size_t size)
{
    inner *in = user;
    size_t from = 0, i = 0;
    for (; i < size && !in->done; i++) {
        char c = data[i];
        if (in->depth < 2) {
            in->depth += c == '[' || c == '{';
            from = i + 1;
        } else if (in->in_string) {
            if (!in->escaped && c == '"') in->in_string = false;
            in->escaped = !in->escaped && c == '\\';
        } else if (c == '"') {
            in->in_string = true;
        } else if (c == '}') {
            in->done = true;
            break;
        }
    }
    return i > from ? in->sink.write(in->sink.user, data + from, i - from) : HD_OK;
}

/* A table with the columns of `table` and one of its rows. */
static hd_status copy_row(hd_table **out, const hd_table *table, size_t row, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(hd_table_builder_new(&builder, hd_table_name(table), err));
    size_t columns = hd_table_column_count(table);
    for (size_t i = 0; i < columns; i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        hd_table_add_column(builder, column->name, column->type);
        hd_table_set_decimals(builder, column->decimals);
    }
    for (size_t i = 0; i < columns; i++) {
        size_t size;
        const char *text;
        if (hd_table_is_null(table, row, i)) {
            hd_table_add_null(builder);
            continue;
        }
        switch (hd_table_get_column(table, i)->type) {
        case HD_VALUE_STRING:
            text = hd_table_get_string(&size, table, row, i);
            hd_table_add_string(builder, text, size);
            break;
        case HD_VALUE_INT:
        case HD_VALUE_DURATION:
        case HD_VALUE_TIME: hd_table_add_int(builder, hd_table_get_int(table, row, i)); break;
        case HD_VALUE_COUNT:
        case HD_VALUE_BYTES: hd_table_add_count(builder, hd_table_get_count(table, row, i)); break;
        case HD_VALUE_DECIMAL: hd_table_add_decimal(builder, hd_table_get_decimal(table, row, i)); break;
        case HD_VALUE_BOOL: hd_table_add_bool(builder, hd_table_get_bool(table, row, i)); break;
        }
    }
    return hd_table_finish(out, builder, err);
}

hd_status hd_table_write_members(const hd_table *table, size_t row, hd_sink sink, hd_error *err)
{
    hd_table *one;
    inner in = {.sink = sink};
    const hd_table_style style = {.format = HD_TABLE_JSON};
    HD_TRY(copy_row(&one, table, row, err));
    hd_status status = hd_table_write(one, (hd_sink){write_inner, &in}, &style, err);
    hd_table_free(one);
    return status;
}
