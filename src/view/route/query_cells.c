/* query_cells.c - columns and cells of results of SQL as JSON */
#include <math.h>
#include <string.h>

#include "base/text/double.h"
#include "view/route/routes_query.h"

enum { TEXT_BYTES = 64 << 10, BLOB_BYTES = 64 };

/* The shortest text that reads as the same number; a real number of SQL has a point or an exponent. JSON has no
 * infinity, but has numbers that are read as one. */
static void put_real(hd_json_out *json, double value)
{
    char text[40];
    if (isinf(value)) {
        hd_json_put_text(json, value < 0 ? "-1e999" : "1e999");
        return;
    }
    hd_double_text(text, value);
    hd_json_put_text(json, isnan(value) ? "null" : text);
    if (!isnan(value) && !strpbrk(text, ".e")) hd_json_put_text(json, ".0");
}

/* Cut between characters. */
static bool put_text(hd_json_out *json, const char *text, size_t size)
{
    size_t cut = TEXT_BYTES;
    if (size <= TEXT_BYTES) {
        hd_json_put_string(json, text, size);
        return false;
    }
    while (cut > TEXT_BYTES - 4 && ((unsigned char)text[cut] & 0xc0) == 0x80) cut--;
    hd_json_put_string(json, text, cut);
    if (json->failed) return true;
    json->size--; /* its quote */
    hd_json_put_text(json, "\xe2\x80\xa6\"");
    return true;
}

static bool put_blob(hd_json_out *json, const char *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * BLOB_BYTES];
    size_t shown = size < BLOB_BYTES ? size : BLOB_BYTES;
    for (size_t i = 0; i < shown; i++) {
        hex[2 * i] = digits[(unsigned char)data[i] >> 4];
        hex[2 * i + 1] = digits[(unsigned char)data[i] & 15];
    }
    hd_json_put_text(json, "{");
    view_json_text(json, "hex", (hd_string){hex, 2 * shown});
    view_json_int(json, "bytes", (int64_t)size);
    hd_json_put_text(json, "}");
    return shown < size;
}

bool view_json_cell(hd_json_out *json, hd_query_value value)
{
    switch (value.type) {
    case HD_QUERY_INT: hd_json_put_int(json, value.integer); return false;
    case HD_QUERY_REAL: put_real(json, value.real); return false;
    case HD_QUERY_TEXT: return put_text(json, value.data, value.size);
    case HD_QUERY_BLOB: return put_blob(json, value.data, value.size);
    default: hd_json_put_text(json, "null"); return false;
    }
}

void view_json_columns(hd_json_out *json, const hd_statement *statement)
{
    static const char *const roles[] = {"", "slice", "time", "duration", "track"};
    view_json_key(json, "columns");
    hd_json_put_text(json, "[");
    for (size_t c = 0; c < hd_statement_column_count(statement); c++) {
        const char *name = hd_statement_column_name(statement, c),
                   *role = roles[hd_statement_column_role(statement, c)];
        hd_json_put_text(json, c ? ",{" : "{");
        view_json_text(json, "name", (hd_string){name, strlen(name)});
        if (*role) view_json_text(json, "role", (hd_string){role, strlen(role)});
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
}
